//! macOS has no mount namespaces.

use std::io;

use crate::{Fence, Obstacle};

pub fn erect(_fence: &Fence) -> io::Result<bool> {
    Err(io::ErrorKind::Unsupported.into())
}

pub fn obstacle() -> Option<Obstacle> {
    Some(Obstacle { why: "macOS has no mount namespaces", todo: "run the agents on Linux, or in a virtual machine", is_lasting: true })
}
