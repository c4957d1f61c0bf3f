//! Requests that reach the supervisor while its agent is alive and waits for the reply.
//!
//! | file | content |
//! |---|---|
//! | `elicitations` | what other MCP servers ask |

mod elicitations;
