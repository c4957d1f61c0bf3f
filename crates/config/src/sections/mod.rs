//! The sections of the configuration. Each key is described once, in the doc comment of its field.
//!
//! | file | idea |
//! |---|---|
//! | `relaunching` | the launches of agents, how often they are repeated, and the operator's own first message |
//! | `runners` | the programs that run agents, by name |
//! | `runner_keys` | the keys of such a program that have an effect |
//! | `answers` | which answers count |
//! | `approvals` | which calls of tools become questions |
//! | `fence` | what a run cannot touch |
//! | `limits` | the money and time for a run, a chain and a day |
//! | `live` | the dialogs of attended sessions |
//! | `notify` | the events, the targets, and the means to reach them |
//! | `peers` | the mailboxes on other machines, and the database between machines |
//! | `traces` | the spans of rounds for a collector |
//! | `upkeep` | history, log, metrics, and the MCP server |
//! | `web` | the page |

pub(crate) mod answers;
pub(crate) mod approvals;
pub(crate) mod fence;
pub(crate) mod limits;
pub(crate) mod live;
pub(crate) mod notify;
pub(crate) mod peers;
pub(crate) mod relaunching;
pub(crate) mod runner_keys;
pub(crate) mod runners;
pub(crate) mod traces;
pub(crate) mod upkeep;
pub(crate) mod web;
