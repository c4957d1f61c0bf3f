//! Answered workflows in the order of their answers. Each is in the queue once.

use std::collections::{BTreeSet, HashSet};

use crate::id::WorkflowId;
use crate::time::Time;

#[derive(Debug, Default)]
pub(in crate::watch) struct Queue {
    order: BTreeSet<(Time, WorkflowId)>,
    known: HashSet<WorkflowId>,
}

impl Queue {
    pub(in crate::watch) fn contains(&self, workflow: &WorkflowId) -> bool {
        self.known.contains(workflow)
    }

    /// Adds a workflow. One that is in the queue already keeps its place.
    pub(in crate::watch) fn push(&mut self, answered_at: Time, workflow: WorkflowId) {
        if self.known.insert(workflow.clone()) {
            self.order.insert((answered_at, workflow));
        }
    }

    pub(in crate::watch) fn pop(&mut self) -> Option<WorkflowId> {
        let (_, workflow) = self.order.pop_first()?;
        self.known.remove(&workflow);
        Some(workflow)
    }

    pub(in crate::watch) fn len(&self) -> usize {
        self.order.len()
    }

    pub(in crate::watch) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_workflow_is_in_the_queue_once_and_the_earliest_answer_is_popped_first() {
        let mut queue = Queue::default();
        let at = |seconds| Time::from_timestamp(seconds, 0).unwrap();
        for (seconds, workflow) in [(30, "c"), (10, "a"), (20, "b"), (5, "c")] {
            queue.push(at(seconds), workflow.parse().unwrap());
        }
        assert_eq!(queue.len(), 3);
        let order: Vec<String> = std::iter::from_fn(|| queue.pop()).map(|w| w.to_string()).collect();
        assert_eq!((order.join(" "), queue.is_empty()), ("a b c".into(), true));
        queue.push(at(1), "c".parse().unwrap());
        assert!(queue.contains(&"c".parse().unwrap()), "a workflow that was popped may come again");
    }
}
