//! Which events there are to tell, and how far each has come.
//!
//! | file | idea |
//! |---|---|
//! | `facts` | what the mailbox says about a round |
//! | `wanted` | which events follow from that |
//! | `record` | how far each event of a round and a target has come |
//! | `ledger` | the records on disk |

pub(in crate::news) mod facts;
pub(in crate::news) mod ledger;
pub(in crate::news) mod record;
pub(in crate::news) mod wanted;
