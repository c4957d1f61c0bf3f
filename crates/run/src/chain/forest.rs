//! Workflows as the trees that their parents form, for display. Every workflow is shown exactly once, even if damaged files say that it
//! is its own ancestor. The work is linear in the number of workflows that are shown, and only one tree at a time is in memory.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use serde::Serialize;

use crate::money::used;
use crate::story::{OpenWorkflows, Story, Teller};
use askbox_mailbox::family::lineage::{Family, Kin, Links};
use askbox_mailbox::{
    Error, Folder, Mailbox, Result, Time, WorkflowId, awaits, disk, lineage, list, quarantined_round, read_question, round,
};

/// One workflow in its tree. In a list of nodes, parents come before their children, and siblings in the order of their creation.
#[derive(Debug, Clone, Serialize, schemars::JsonSchema)]
pub struct Node {
    /// The workflow's status, as in `relaunch status --json`.
    #[serde(flatten)]
    pub status: Story,
    /// The workflow's parent, even if the parent is not shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<WorkflowId>,
    /// The number of its ancestors that are shown above it.
    pub depth: usize,
    /// True if the files say that the workflow is its own ancestor. The ring is cut here.
    pub in_ring: bool,
    /// The cost of all its runs that ended, in US dollars.
    pub workflow_cost_usd: f64,
    /// The cost of the workflow and everything shown below it, in US dollars.
    pub tree_cost_usd: f64,
}

/// Which trees to show.
#[derive(Debug, Clone, Copy)]
pub enum Which<'a> {
    /// Every tree with an open workflow.
    Open,
    /// Every tree.
    All,
    /// A workflow and everything below it.
    Below(&'a WorkflowId),
}

/// Reads trees and gives them to `show`, one by one: the oldest first, or with [`Which::All`] in the order of their roots' ids.
pub fn look(teller: &Teller<'_>, which: Which<'_>, show: impl FnMut(Vec<Node>) -> Result<()>) -> Result<()> {
    look_knowing(teller, which, &|_| None, show)
}

/// [`look`] for a caller that may know what [`lineage::kin`] says of a workflow with a pending question. Such a question is read only if it
/// is shown.
pub fn look_knowing(
    teller: &Teller<'_>,
    which: Which<'_>,
    asking: &dyn Fn(&WorkflowId) -> Option<Kin>,
    mut show: impl FnMut(Vec<Node>) -> Result<()>,
) -> Result<()> {
    let forest = Forest::read(teller, which, asking)?;
    match which {
        Which::Below(root) => {
            let line = forest.line(root);
            show(forest.nodes(forest.plant(root, line.ring.contains(root))?))
        }
        Which::Open => forest.open(show),
        Which::All => forest.all(&mut show),
    }
}

/// Checks that the mailbox knows a workflow.
pub fn check_known(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<()> {
    let family = Family::by_names(mailbox)?;
    let is_known = lineage::kin(mailbox, workflow).is_known
        || round::latest(mailbox, workflow).is_some()
        || quarantined_round::of_workflow(mailbox, workflow)?.is_some()
        || awaits::has_folder(mailbox, workflow)
        || !family.children(workflow)?.is_empty()
        || !awaits::of_child(mailbox, workflow)?.is_empty();
    if is_known {
        Ok(())
    } else {
        let meant = list::did_you_mean(mailbox, workflow);
        Err(Error::not_found(format!("nothing is known of {workflow}"), format!("{meant}list the workflows: askbox tree --all")))
    }
}

/// How many workflows a look keeps in memory.
const MOST_KNOWN: usize = 1 << 17;

/// A workflow's position in its tree.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TreePosition {
    workflow: WorkflowId,
    depth: usize,
    in_ring: bool,
}

/// The workflow at the top of a tree: when it began, its id, and true if it is the oldest of a ring.
type Top = (Option<Time>, WorkflowId, bool);

/// A workflow and its ancestors, as far as they were followed.
#[derive(Debug, Default)]
struct Ancestry {
    /// The workflow itself, and its ancestors up to the first one that repeats or is in the given set of ends.
    ids: Vec<WorkflowId>,
    /// The ring at the end of the line; empty if the line ends at a root.
    ring: Vec<WorkflowId>,
}

/// The facts that the trees are made from.
struct Forest<'a> {
    teller: &'a Teller<'a>,
    mailbox: &'a Mailbox,
    family: Family<'a>,
    /// Workflows with a round in `running/` or `parked/`, or held in quarantine.
    claimed: HashSet<WorkflowId>,
    /// The workflows that are not over. `None` for a single tree: its cost must not grow with the mailbox.
    open: Option<OpenWorkflows>,
    /// What was read of workflows so far, as their own documents say it. A tree asks for the same one several times. Open workflows that
    /// nothing ties to another one are not among them, because there may be a hundred thousand.
    known: RefCell<HashMap<WorkflowId, Kin>>,
    /// The open workflows without a parent.
    roots: Vec<Top>,
    /// The open workflows with a parent.
    below: Vec<WorkflowId>,
    /// The parent that waits, by the workflow that it waits for. Empty for a single tree.
    awaited: BTreeMap<WorkflowId, WorkflowId>,
}

impl<'a> Forest<'a> {
    fn read(teller: &'a Teller<'_>, which: Which<'_>, asking: &dyn Fn(&WorkflowId) -> Option<Kin>) -> Result<Self> {
        let mailbox = teller.mailbox();
        let mut claimed: HashSet<WorkflowId> =
            [Folder::Running, Folder::Parked].into_iter().flat_map(|f| list::round_names(mailbox, f)).map(|r| r.workflow).collect();
        claimed.extend(quarantined_round::all(mailbox)?.into_iter().map(|held| held.workflow));
        let mut forest = Self {
            teller,
            mailbox,
            family: Family::by_names(mailbox)?,
            claimed,
            open: None,
            known: RefCell::default(),
            roots: Vec::new(),
            below: Vec::new(),
            awaited: BTreeMap::new(),
        };
        if !matches!(which, Which::Below(_)) {
            for parent in awaits::parents(mailbox)? {
                forest.awaited.extend(awaits::children(mailbox, &parent)?.into_iter().map(|child| (child, parent.clone())));
            }
            forest.read_open(asking)?;
        }
        Ok(forest)
    }

    /// Reads the questions of the open workflows once, for the ties between them.
    fn read_open(&mut self, asking: &dyn Fn(&WorkflowId) -> Option<Kin>) -> Result<()> {
        let open = OpenWorkflows::find(self.mailbox)?;
        let mut links = Links::new();
        for round in list::round_names(self.mailbox, Folder::Running) {
            if let Ok(document) = read_question::document(&self.mailbox.round(Folder::Running, &round))
                && let Some(parent) = document.typed.parent
            {
                links.entry(parent).or_default().insert(round.workflow);
            }
        }
        let awaited = self.awaited.keys().filter(|id| !open.has(id));
        for workflow in open.ids().chain(awaited) {
            let kin = asking(workflow).unwrap_or_else(|| lineage::kin(self.mailbox, workflow));
            if let Some(parent) = &kin.parent {
                links.entry(parent.clone()).or_default().insert(workflow.clone());
            } else if !self.awaited.contains_key(workflow) {
                self.roots.push((kin.born, workflow.clone(), false));
                continue;
            }
            self.below.push(workflow.clone());
            self.known.borrow_mut().insert(workflow.clone(), kin);
        }
        self.open = Some(open);
        self.family = Family::with_links(self.mailbox, links)?;
        Ok(())
    }

    /// The trees with an open workflow.
    fn open(mut self, mut show: impl FnMut(Vec<Node>) -> Result<()>) -> Result<()> {
        let mut tops: Vec<Top> = std::mem::take(&mut self.roots);
        let mut seen = HashSet::new();
        for workflow in std::mem::take(&mut self.below) {
            let line = self.line_until(&workflow, &seen);
            // If a line ends at a workflow that was seen before, its tree is known already.
            if line.ids.last().is_some_and(|last| !seen.contains(last)) {
                let (top, in_ring) = self.top(&line, &workflow);
                tops.push((self.kin(&top).born, top, in_ring));
            }
            seen.extend(line.ids);
        }
        drop(seen);
        tops.sort_unstable();
        tops.dedup();
        for (born, top, in_ring) in tops {
            if !in_ring {
                // It is shown now, and never again.
                self.known.borrow_mut().entry(top.clone()).or_insert(Kin { parent: None, born, is_known: true });
            }
            show(self.nodes(self.plant(&top, in_ring)?))?;
            self.known.borrow_mut().remove(&top);
        }
        Ok(())
    }

    /// Every tree. Only the trees that are being shown are in memory; all other workflows are there by name only.
    fn all(&self, show: &mut dyn FnMut(Vec<Node>) -> Result<()>) -> Result<()> {
        let mut names: BTreeSet<WorkflowId> = list::workflows(self.mailbox, Folder::Workflows)?.into_iter().collect();
        names.extend(self.roots.iter().map(|(_, workflow, _)| workflow).chain(&self.below).cloned());
        // A workflow whose only question was dropped before any run has no record, but a closed round.
        for round in list::each_round(self.mailbox, Folder::Closed)? {
            names.insert(round?.workflow);
        }
        let names: Vec<WorkflowId> = names.into_iter().collect();
        let mut shown = vec![false; names.len()];
        let mut others: HashSet<WorkflowId> = HashSet::new();
        let mut grow = |root: &WorkflowId, in_ring: bool, shown: &mut Vec<bool>| {
            let mut places = self.plant(root, in_ring)?;
            // A child may have been shown already, if it is new or if two parents wait for it.
            let mut is_first = |place: &TreePosition| match names.binary_search(&place.workflow) {
                Ok(n) => !std::mem::replace(&mut shown[n], true),
                Err(_) => others.insert(place.workflow.clone()),
            };
            places.retain(|place| is_first(place));
            if places.is_empty() { Ok(()) } else { show(self.nodes(places)) }
        };
        for root in &names {
            if self.kin(root).parent.is_none() {
                grow(root, false, &mut shown)?;
            }
        }
        // The ancestors of the remaining workflows end at a workflow that is known by its id only, or in a ring.
        for (n, left) in names.iter().enumerate() {
            if !shown[n] {
                let (top, in_ring) = self.top(&self.line(left), left);
                grow(&top, in_ring, &mut shown)?;
            }
            if !shown[n] {
                // Its parent does not know it.
                grow(left, false, &mut shown)?;
            }
        }
        Ok(())
    }

    fn kin(&self, workflow: &WorkflowId) -> Kin {
        let kin = self.own_kin(workflow);
        let parent = kin.parent.or_else(|| self.awaited.get(workflow).cloned());
        Kin { parent, ..kin }
    }

    /// What its own documents say.
    fn own_kin(&self, workflow: &WorkflowId) -> Kin {
        let kin = self.known.borrow().get(workflow).cloned();
        kin.unwrap_or_else(|| {
            let kin = lineage::kin(self.mailbox, workflow);
            let mut known = self.known.borrow_mut();
            if known.len() >= MOST_KNOWN {
                known.clear();
            }
            known.insert(workflow.clone(), kin.clone());
            kin
        })
    }

    /// A workflow and all its ancestors.
    fn line(&self, from: &WorkflowId) -> Ancestry {
        self.line_until(from, &HashSet::new())
    }

    /// A workflow and its ancestors, up to one of `ends`.
    fn line_until(&self, from: &WorkflowId, ends: &HashSet<WorkflowId>) -> Ancestry {
        let (mut line, mut seen, mut at) = (Ancestry::default(), HashMap::new(), Some(from.clone()));
        while let Some(id) = at {
            if let Some(begin) = seen.insert(id.clone(), line.ids.len()) {
                line.ring = line.ids[begin..].to_vec();
                break;
            }
            at = if ends.contains(&id) { None } else { self.kin(&id).parent };
            line.ids.push(id);
        }
        line
    }

    /// The root of the tree at the end of a line. If that is a ring, its oldest workflow, and true.
    fn top(&self, line: &Ancestry, from: &WorkflowId) -> (WorkflowId, bool) {
        match line.ring.iter().min_by_key(|id| (self.kin(id).born, (*id).clone())) {
            Some(oldest) => (oldest.clone(), true),
            None => (line.ids.last().unwrap_or(from).clone(), false),
        }
    }

    /// A workflow and everything below it.
    fn plant(&self, root: &WorkflowId, in_ring: bool) -> Result<Vec<TreePosition>> {
        let (mut places, mut seen) = (Vec::new(), HashSet::new());
        let mut next = vec![TreePosition { workflow: root.clone(), depth: 0, in_ring }];
        while let Some(place) = next.pop() {
            if seen.insert(place.workflow.clone()) {
                let below = self.family.children_by(&place.workflow, |child| self.own_kin(child))?.into_iter().rev();
                next.extend(below.map(|workflow| TreePosition { workflow, depth: place.depth + 1, in_ring: false }));
                places.push(place);
            }
        }
        Ok(places)
    }

    fn is_open(&self, workflow: &WorkflowId) -> bool {
        let asks = |folder| disk::exists(self.mailbox.document(folder, workflow));
        self.claimed.contains(workflow)
            || asks(Folder::Pending)
            || asks(Folder::Answered)
            || awaits::children(self.mailbox, workflow).is_ok_and(|waits| !waits.is_empty())
    }

    /// The nodes of a tree, as they are shown.
    fn nodes(&self, places: Vec<TreePosition>) -> Vec<Node> {
        let mut nodes: Vec<Node> = places.into_iter().map(|place| self.node(place)).collect();
        add_up(&mut nodes);
        nodes
    }

    fn node(&self, TreePosition { workflow, depth, in_ring }: TreePosition) -> Node {
        let open = self.open.as_ref().and_then(|open| open.story(self.teller, &workflow));
        let open = open.or_else(|| self.is_open(&workflow).then(|| self.teller.at_a_glance(&workflow)));
        let status = open.unwrap_or_else(|| self.teller.of_closed(&workflow));
        let cost = used::cost(self.mailbox, &workflow).unwrap_or_default();
        let parent = self.kin(&workflow).parent;
        Node { status, parent, depth, in_ring, workflow_cost_usd: cost, tree_cost_usd: cost }
    }
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
    use askbox_mailbox::children;

    fn id(name: &str) -> WorkflowId {
        name.parse().unwrap()
    }

    /// A mailbox with the records of `child<parent`, in the order of their beginnings, and the names of the children.
    fn known(lines: &str) -> (tempfile::TempDir, Mailbox) {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let mailbox = Mailbox::open_or_create(folder.path().join("m")).unwrap();
        for (n, line) in lines.split(' ').enumerate() {
            let (child, parent) = line.split_once('<').unwrap_or((line, ""));
            let created = askbox_mailbox::time::rfc3339(
                askbox_mailbox::time::Time::from_timestamp(1_700_000_000 + i64::try_from(n).unwrap(), 0).unwrap(),
            );
            let mut record = serde_json::json!({ "workflow_id": child, "created": created });
            if !parent.is_empty() {
                record["parent"] = parent.into();
                children::note(&mailbox, &id(parent), &id(child)).unwrap();
            }
            std::fs::write(mailbox.document(Folder::Workflows, &id(child)), record.to_string()).unwrap();
        }
        (folder, mailbox)
    }

    fn planted(lines: &str, root: Option<&str>) -> String {
        let (_folder, mailbox) = known(lines);
        let root = root.map(id);
        let mut shown = Vec::new();
        look(&Teller::of_states(&mailbox), root.as_ref().map_or(Which::All, Which::Below), |nodes| {
            shown.extend(nodes);
            Ok(())
        })
        .unwrap();
        let show = |n: &Node| format!("{}{}{}", "-".repeat(n.depth), n.status.workflow_id, if n.in_ring { "*" } else { "" });
        shown.iter().map(show).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn every_workflow_stands_once_under_its_parent_in_order() {
        assert_eq!(planted("z c<z a<z d<c b y", None), "b y z -c --d -a");
        assert_eq!(planted("z c<z a<z d<c b y", Some("c")), "c -d");
    }

    #[test]
    fn a_ring_is_cut_once_and_what_hangs_on_it_is_shown_below() {
        assert_eq!(planted("leaf<b b<a a<b self<self", None), "b* -leaf -a self*");
        assert_eq!(planted("leaf<b b<a a<b", Some("a")), "a* -b --leaf");
        assert_eq!(planted("leaf<b b<a a<b", Some("leaf")), "leaf");
    }

    #[test]
    fn a_tie_known_to_one_side_only_is_shown() {
        assert_eq!(planted("b<gone a<gone", None), "gone -b -a");
        let (_folder, mailbox) = known("root lost<root");
        children::forget(&mailbox, &id("root"), &id("lost")).unwrap();
        let mut shown = Vec::new();
        let show = |nodes: Vec<Node>| {
            shown.extend(nodes.into_iter().map(|n| n.status.workflow_id.to_string()));
            Ok(())
        };
        look(&Teller::of_states(&mailbox), Which::All, show).unwrap();
        assert_eq!(shown, ["root", "lost"]);
    }

    #[test]
    fn a_line_of_five_thousand_is_planted_at_once() {
        let mut lines: String = (1..5_000).map(|n| format!("w{n}<w{} ", n - 1)).collect();
        lines.push_str("w0<w4999");
        let (_folder, mailbox) = known(&lines);
        // The time of the processor: other tests run beside this one.
        let processor = || rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime).tv_sec;
        let begun = processor();
        let mut shown = Vec::new();
        look(&Teller::of_states(&mailbox), Which::All, |nodes| {
            shown.extend(nodes.into_iter().map(|n| n.depth));
            Ok(())
        })
        .unwrap();
        assert_eq!((shown.len(), shown.last()), (5_000, Some(&4_999)));
        let took = processor() - begun;
        assert!(took < 20, "{took} s");
    }
}
