//! Parents and children among workflows.
//!
//! | file | idea |
//! |---|---|
//! | `lineage` | the parents of a workflow, up to the root |
//! | `awaits` | workflows that wait for others |

pub mod awaits;
pub mod lineage;
