//! What is known of the daemon's sessions whose requests are sent to this client.

use std::collections::HashMap;
use std::path::PathBuf;

use crate::codex::wire::{FileChange, Item, Thread, ThreadId};
use askbox_mailbox::documents::fields::tool_call::Subagent;
use askbox_mailbox::text;
use askbox_run::asking::posted::LONGEST_NAME;

/// The sessions, by their ids.
#[derive(Debug, Default)]
pub(super) struct Threads(HashMap<ThreadId, Known>);

/// A session.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) cwd: PathBuf,
    title: Option<String>,
    /// The session that started this one as its subagent.
    parent: Option<ThreadId>,
    /// The name of the subagent's definition, or its nickname.
    agent: Option<String>,
    /// The changes of files that have begun, by the ids of their items.
    changes: HashMap<String, Vec<FileChange>>,
}

impl Threads {
    /// Adds a session, with the items of its newest turn.
    pub(super) fn add(&mut self, thread: Thread, newest: Vec<Item>) {
        let title = thread.title().map(str::to_owned);
        let Thread { id, cwd, parent_thread_id: parent, agent_nickname, agent_role, turns, .. } = thread;
        let agent = [agent_role, agent_nickname].into_iter().flatten().map(|name| text::excerpt(&name, LONGEST_NAME));
        let agent = agent.into_iter().find(|name| !name.is_empty());
        let known = Known { cwd, title, parent, agent, changes: HashMap::new() };
        self.0.insert(id.clone(), known);
        turns.into_iter().flat_map(|turn| turn.items).chain(newest).for_each(|item| self.begin(&id, item));
    }

    /// Notes the changes of an item that has begun.
    pub(super) fn begin(&mut self, thread: &ThreadId, item: Item) {
        if let (Some(known), Item { id, changes: Some(changes), .. }) = (self.0.get_mut(thread), item) {
            known.changes.insert(id, changes);
        }
    }

    /// Forgets the changes of an item that has ended.
    pub(super) fn end(&mut self, thread: &ThreadId, item: &Item) {
        if let Some(known) = self.0.get_mut(thread) {
            known.changes.remove(&item.id);
        }
    }

    /// Forgets a session. Returns true if it was known.
    pub(super) fn remove(&mut self, thread: &ThreadId) -> bool {
        self.0.remove(thread).is_some()
    }

    /// Returns a session.
    pub(super) fn get(&self, thread: &ThreadId) -> Option<&Known> {
        self.0.get(thread)
    }
}

impl Known {
    /// The session that a person sees: the one that started this one, if this is a subagent.
    pub(super) fn session<'a>(&'a self, id: &'a ThreadId) -> &'a ThreadId {
        self.parent.as_ref().unwrap_or(id)
    }

    /// The title of the session, unless it is a subagent: a person sees the session that started it.
    pub(super) fn title(&self) -> Option<String> {
        self.title.clone().filter(|_| self.parent.is_none())
    }

    /// The subagent, if this session is one.
    pub(super) fn subagent(&self, id: &ThreadId) -> Option<Subagent> {
        self.parent.as_ref()?;
        Some(Subagent { id: text::excerpt(id, LONGEST_NAME), kind: self.agent.clone(), task: None })
    }

    /// The changes that an item is about to make.
    pub(super) fn changes(&self, item: &str) -> Option<&[FileChange]> {
        self.changes.get(item).map(Vec::as_slice).filter(|changes| !changes.is_empty())
    }
}
