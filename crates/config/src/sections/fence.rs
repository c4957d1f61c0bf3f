//! `[fence]`: what a run cannot touch.

use serde::{Deserialize, Serialize};

use crate::section::section;
use crate::workflow_pattern::WorkflowPattern;

/// When a run stands behind a fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FenceMode {
    /// Never.
    Off,
    /// Where this system can hold one.
    #[default]
    Auto,
    /// Always. A system that cannot hold a fence starts no run.
    On,
}

section! {
    /// `[fence]`: the mailbox, this file, the key and the programs, which a run's agent cannot touch.
    "fence" Fence {
        /// `"auto"`: each agent works behind a fence where this system can hold one. `"on"`: no agent works without. `"off"`: none has
        /// one. `sudo` does not work behind it.
        mode: FenceMode = FenceMode::default(),
        /// The workflows whose agents work without a fence, such as those that need `sudo`. Example: `["deploy-*"]`.
        except: Vec<WorkflowPattern> = Vec::new(),
    }
}
