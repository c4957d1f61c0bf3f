//! The words that each program prints, accepts and refuses, and the pages and files that are made from the programs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failed expectation fails the test")]

extern crate askbox_testkit as support;

mod ag_ui;
mod agent_files;
mod all_workflows;
mod at_a_terminal;
mod bad_input;
mod beside;
mod beside_copilot;
mod beside_dialogs;
mod beside_opencode;
mod beside_qwen;
mod damaged;
mod demo;
mod dependencies;
mod doctor;
mod edit_call;
mod for_people;
mod handed_over;
mod help_texts;
mod history;
mod in_the_background;
mod inbox;
mod init;
mod long_workflow;

mod hook_answers;
mod kept_answer;
mod machines;
#[cfg(feature = "mcp")]
mod mcp;
mod named_files;
mod near_misses;
mod news_hooks;
mod next_steps;
mod notify_test;
mod one_decision;
mod other_folders;
mod pages;
mod platform_room;
mod questions;
mod schema_is_current;
mod service;
mod session_news;
mod sessions_of_others;
mod setup;
mod setup_killed;
mod setup_live;
mod silent_hook;
mod small_programs;
mod ssh_signatures;
mod standing;
mod told_as_data;
mod traced;
mod tree;
mod trusted;
mod umask;
mod versions_agree;
mod waits;
mod who_answered;
mod who_signs;
mod wrong_words;
