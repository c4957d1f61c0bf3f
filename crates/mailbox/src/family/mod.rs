//! Parents and children among workflows.
//!
//! | file | idea |
//! |---|---|
//! | `lineage` | the parents of a workflow, up to the root |
//! | `children` | the names by which a parent's children are found |
//! | `awaits` | workflows that wait for others |

pub mod awaits;
pub mod children;
pub mod lineage;
