//! Listens for connections, and decides which of them stay, and for how long.
//!
//! | file | idea |
//! |---|---|
//! | `socket` | the address, or the socket of this user alone |
//! | `places` | the places of connections. Strangers make room for one another, and never take the place of a person |
//! | `connection` | one connection, which ends when it is silent for too long, or when its place is taken |

mod connection;
mod places;
mod socket;

pub use places::Caller;
pub use socket::Connections;
