//! What people touch. These rooms only call the ones below.
