//! The files of the mailbox: who writes them, who reads them, in which order they reach the disk, and which are removed.

mod attachments;
mod audit_texts;
mod brought_back;
mod checkpoint_proof;
mod clocks;
mod conformance;
mod gc;
mod held_rounds;
mod large_mailbox;
mod links;
mod names;
mod newer_versions;
mod offers;
mod older_versions;
mod other_rounds;
mod races;
mod sizes;
mod strangers;
mod strangers_files;
mod threads;
mod time;
mod undo;
mod vectors;
mod who_decides;
mod write_order;
