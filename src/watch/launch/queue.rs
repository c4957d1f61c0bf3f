//! Answered workflows: those that may be claimed, in the order of their answers, and those that wait for the end of a run. Each is in the
//! queue once.

use std::collections::{BTreeSet, HashSet};

use crate::id::{RoundId, WorkflowId};
use crate::time::Time;

#[derive(Debug, Default)]
pub(super) struct Queue {
    order: BTreeSet<(Time, WorkflowId)>,
    known: HashSet<WorkflowId>,
    /// Answered workflows that wait for the end of another workflow's run.
    waiting_for_run: Vec<(RoundId, WorkflowId)>,
}

impl Queue {
    pub(super) fn contains(&self, workflow: &WorkflowId) -> bool {
        self.known.contains(workflow)
    }

    /// Adds a workflow. One that is in the queue already keeps its place.
    pub(super) fn push(&mut self, answered_at: Time, workflow: WorkflowId) {
        if self.known.insert(workflow.clone()) {
            self.order.insert((answered_at, workflow));
        }
    }

    pub(super) fn pop(&mut self) -> Option<WorkflowId> {
        let (_, workflow) = self.order.pop_first()?;
        self.known.remove(&workflow);
        Some(workflow)
    }

    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// A workflow waits for the end of a round's run, unless it waits for one already.
    pub(super) fn wait_for_run(&mut self, round: RoundId, workflow: WorkflowId) {
        if !self.waiting_for_run.iter().any(|(_, w)| *w == workflow) {
            self.waiting_for_run.push((round, workflow));
        }
    }

    /// Takes the workflows that wait for the end of this round's run.
    pub(super) fn take_waiting_for(&mut self, round: &RoundId) -> Vec<WorkflowId> {
        let waiting = std::mem::take(&mut self.waiting_for_run);
        let (released, rest): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|(run, _)| run == round);
        self.waiting_for_run = rest;
        released.into_iter().map(|(_, workflow)| workflow).collect()
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
