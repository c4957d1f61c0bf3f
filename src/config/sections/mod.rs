//! The sections of the configuration. Each key is described once, in the doc comment of its field.
//!
//! | file | idea |
//! |---|---|
//! | `relaunching` | what is launched, and how often again |
//! | `runners` | the programs that run agents, by name |
//! | `answers` | which answers count |
//! | `approvals` | which calls of tools become questions |
//! | `limits` | what a run, a chain and a day may use |
//! | `notify` | who is told of what, by which means |
//! | `event`, `quiet_hours` | values of `notify`: what happened, and when nobody is told |
//! | `peers` | the mailboxes on other machines |
//! | `sync` | the database that stands between machines |
//! | `upkeep` | history, log, metrics, and the MCP server |
//! | `web` | the page |

pub(in crate::config) mod answers;
pub(in crate::config) mod approvals;
pub(in crate::config) mod event;
pub(in crate::config) mod limits;
pub(in crate::config) mod notify;
pub(in crate::config) mod peers;
pub(in crate::config) mod quiet_hours;
pub(in crate::config) mod relaunching;
pub(in crate::config) mod runners;
pub(in crate::config) mod sync;
pub(in crate::config) mod upkeep;
pub(in crate::config) mod web;
