//! The environment variables of libpq, by which people tell every program where a database is.

/// A variable of the environment that is not empty.
pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
