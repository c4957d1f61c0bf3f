//! All workflows as the trees that their parents form, for display. Every workflow is shown exactly once, even if damaged files say
//! that it is its own ancestor. The work is linear in the number of workflows.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::Serialize;

use crate::chain::outcome;
use crate::error::{Error, Result};
use crate::id::{RoundId, WorkflowId};
use crate::mailbox::documents::awaited::End;
use crate::mailbox::lineage::{self, Kin};
use crate::mailbox::{Folder, Mailbox, list, round};
use crate::run::money::costs;
use crate::run::view::status::{self, Status};

/// One workflow in its tree. In a list of nodes, parents come before their children, and siblings in the order of their creation.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Node {
    /// The workflow's status, as in `relaunch status --json`.
    #[serde(flatten)]
    pub status: Status,
    /// The workflow's parent, even if the parent is not shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<WorkflowId>,
    /// The number of its ancestors that are shown above it.
    pub depth: usize,
    /// The files say that the workflow is its own ancestor. The ring is cut here.
    pub in_ring: bool,
    /// How the workflow ended, if it has: the word that its parent is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<End>,
    /// The cost of all its runs that ended, in US dollars.
    pub workflow_cost_usd: f64,
    /// The cost of the workflow and everything shown below it, in US dollars.
    pub tree_cost_usd: f64,
}

/// Which trees to show.
#[derive(Debug, Clone, Copy)]
pub enum Which<'a> {
    /// Every tree in which a workflow is open.
    Open,
    /// Every tree.
    All,
    /// A workflow and everything below it.
    Below(&'a WorkflowId),
}

/// Reads trees: every workflow's record, and the runs of the workflows that are shown.
pub fn look(mailbox: &Mailbox, which: Which<'_>) -> Result<Vec<Node>> {
    let mut known = lineage::known(mailbox)?;
    // A parent of which nothing but its id is known still keeps its children together.
    let named: BTreeSet<_> = known.values().filter_map(|kin| kin.parent.clone()).filter(|p| !known.contains_key(p)).collect();
    known.extend(named.into_iter().map(|parent| (parent, Kin::default())));
    if let Which::Below(root) = which
        && !known.contains_key(root)
    {
        if round::latest(mailbox, root).is_none() {
            return Err(Error::not_found(format!("nothing is known of {root}"), "list the workflows: askbox tree --all"));
        }
        known.insert(root.clone(), Kin::default());
    }
    let places = match which {
        Which::Below(root) => plant(&known, Some(root)),
        Which::All => plant(&known, None),
        Which::Open => trees(plant(&known, None)).into_iter().filter(|t| t.iter().any(|p| known[p.workflow].open)).flatten().collect(),
    };
    let mut closed: HashMap<WorkflowId, Vec<RoundId>> = HashMap::new();
    for round in list::round_names(mailbox, Folder::Closed) {
        closed.entry(round.workflow.clone()).or_default().push(round);
    }
    let mut nodes = Vec::with_capacity(places.len());
    for place in places {
        let kin = &known[place.workflow];
        let rounds = closed.get(place.workflow).map_or(&[][..], Vec::as_slice);
        let (status, outcome) = if kin.open {
            (status::at_a_glance(mailbox, place.workflow), None)
        } else {
            (status::of_closed(mailbox, place.workflow, rounds), outcome::end(mailbox, place.workflow, rounds).ok().flatten())
        };
        let cost = costs::of_workflow(mailbox, place.workflow).unwrap_or_default();
        nodes.push(Node {
            status,
            parent: kin.parent.clone(),
            depth: place.depth,
            in_ring: place.in_ring,
            outcome,
            workflow_cost_usd: cost,
            tree_cost_usd: cost,
        });
    }
    add_up(&mut nodes);
    Ok(nodes)
}

/// A workflow's position in its tree.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place<'a> {
    workflow: &'a WorkflowId,
    depth: usize,
    in_ring: bool,
}

/// Every workflow under its parent: the tree below `root`, or all trees. A ring becomes a tree whose root is its oldest workflow.
fn plant<'a>(known: &'a BTreeMap<WorkflowId, Kin>, root: Option<&'a WorkflowId>) -> Vec<Place<'a>> {
    let born = |id: &&WorkflowId| (known.get(*id).and_then(|kin| kin.born), (*id).clone());
    let mut children: HashMap<&WorkflowId, Vec<&WorkflowId>> = lineage::children(known).into_iter().collect();
    children.values_mut().for_each(|below| below.sort_by_cached_key(born));
    let mut places = Vec::new();
    let mut seen = BTreeSet::new();
    let mut grow = |root: &'a WorkflowId, in_ring: bool, seen: &mut BTreeSet<&'a WorkflowId>| {
        let mut next = vec![Place { workflow: root, depth: 0, in_ring }];
        while let Some(place) = next.pop() {
            if !seen.insert(place.workflow) {
                continue;
            }
            let below = children.get(place.workflow).into_iter().flatten().rev();
            next.extend(below.map(|child| Place { workflow: child, depth: place.depth + 1, in_ring: false }));
            places.push(place);
        }
    };
    if let Some(root) = root {
        grow(root, ring(known, root).contains(&root), &mut seen);
        return places;
    }
    let mut all: Vec<&WorkflowId> = known.keys().collect();
    all.sort_by_cached_key(born);
    for root in all.iter().filter(|id| known[**id].parent.is_none()) {
        grow(root, false, &mut seen);
    }
    // Every workflow that is left has a ring among its ancestors.
    for id in all {
        if !seen.contains(id)
            && let Some(oldest) = ring(known, id).into_iter().min_by_key(born)
        {
            grow(oldest, true, &mut seen);
        }
    }
    places
}

/// The ring that a workflow's line of ancestors leads into; empty if the line ends at a root.
fn ring<'a>(known: &'a BTreeMap<WorkflowId, Kin>, from: &'a WorkflowId) -> Vec<&'a WorkflowId> {
    let (mut line, mut seen, mut at) = (Vec::new(), HashMap::new(), Some(from));
    while let Some(id) = at {
        if let Some(begin) = seen.insert(id, line.len()) {
            return line.split_off(begin);
        }
        line.push(id);
        at = known.get(id).and_then(|kin| kin.parent.as_ref());
    }
    Vec::new()
}

/// Splits the places into trees.
fn trees(places: Vec<Place<'_>>) -> Vec<Vec<Place<'_>>> {
    let mut trees: Vec<Vec<_>> = Vec::new();
    for place in places {
        match trees.last_mut() {
            Some(tree) if place.depth > 0 => tree.push(place),
            _ => trees.push(vec![place]),
        }
    }
    trees
}

/// Adds each node's cost to all its ancestors.
fn add_up(nodes: &mut [Node]) {
    let mut below: Vec<f64> = Vec::new();
    for node in nodes.iter_mut().rev() {
        // Entries deeper than this node are the sums of its children.
        if below.len() > node.depth + 1 {
            node.tree_cost_usd += below.drain(node.depth + 1..).sum::<f64>();
        }
        below.resize(node.depth + 1, 0.0);
        below[node.depth] += node.tree_cost_usd;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Time;

    fn id(name: &str) -> WorkflowId {
        name.parse().unwrap()
    }

    /// `child<parent`, in the order of their beginnings.
    fn known(lines: &str) -> BTreeMap<WorkflowId, Kin> {
        let kin = |(n, line): (usize, &str)| {
            let (child, parent) = line.split_once('<').unwrap_or((line, ""));
            let born = Time::from_timestamp(1_700_000_000 + i64::try_from(n).unwrap(), 0);
            (id(child), Kin { parent: (!parent.is_empty()).then(|| id(parent)), born, open: false })
        };
        lines.split(' ').enumerate().map(kin).collect()
    }

    fn planted(lines: &str, root: Option<&str>) -> String {
        let known = known(lines);
        let root = root.map(id);
        let places = plant(&known, root.as_ref());
        let show = |p: &Place<'_>| format!("{}{}{}", "-".repeat(p.depth), p.workflow, if p.in_ring { "*" } else { "" });
        places.iter().map(show).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn every_workflow_stands_once_under_its_parent_in_the_order_of_their_beginnings() {
        assert_eq!(planted("z a<z c<z d<a b y", None), "z -a --d -c b y");
        assert_eq!(planted("z a<z c<z d<a b y", Some("a")), "a -d");
    }

    #[test]
    fn a_ring_is_cut_once_and_what_hangs_on_it_is_shown_below() {
        assert_eq!(planted("leaf<b b<a a<b self<self", None), "b* -leaf -a self*");
        assert_eq!(planted("leaf<b b<a a<b", Some("a")), "a* -b --leaf");
        assert_eq!(planted("leaf<b b<a a<b", Some("leaf")), "leaf");
    }

    #[test]
    fn a_line_of_twenty_thousand_is_planted_at_once() {
        let mut lines: String = (1..20_000).map(|n| format!("w{n}<w{} ", n - 1)).collect();
        lines.push_str("w0<w19999");
        let known = known(&lines);
        let begun = std::time::Instant::now();
        let places = plant(&known, None);
        assert_eq!((places.len(), places.last().map(|p| p.depth)), (20_000, Some(19_999)));
        assert!(begun.elapsed() < std::time::Duration::from_secs(10), "{:?}", begun.elapsed());
    }
}
