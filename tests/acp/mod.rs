//! Real agents that speak ACP, against a scripted model API on loopback.

mod at_terminal;
mod attended_codex;
mod attended_copilot;
mod attended_opencode;
mod changed_call;
mod codex;
mod kimi;
mod listed;
mod moments;
mod more;
mod scene;
