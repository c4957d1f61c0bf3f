//! Output on a terminal.
//!
//! | file | idea |
//! |---|---|
//! | `columns` | tables and lines that align, measured in terminal columns |
//! | `fitted` | breaks text at its words to fit a terminal |
//! | `screen` | the terminal's size, and its alternate screen |

pub mod columns;
pub mod fitted;
pub mod screen;
