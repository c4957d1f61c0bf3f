//! `askbox tree`: every workflow under its parent, once or kept up to date.

use askbox_cli::args::askbox_args::Tree;
use askbox_cli::live_view::{self, Picture};
use askbox_cli::{Context, columns, program, screen};
use askbox_mailbox::{Error, Mailbox, Result, WorkflowId, text, time};
use askbox_run::chain::forest::{self, Node, Which};
use askbox_run::{Standing, Story, Teller, story};
use askbox_watch::relaunch::status;

/// The number of levels that are drawn. A deeper workflow shows its level as a number.
const LEVELS: usize = 24;
/// The maximum number of characters that are shown of a question, a result or a reason.
const EXCERPT: usize = 80;
/// The number of columns that must be left after an id for its details. If fewer are left, the details are printed on the next line.
const ROOM: usize = 24;

/// How many bytes are printed together.
const PRINTED_TOGETHER: usize = 16 << 10;

struct Forest<'a> {
    mailbox: &'a Mailbox,
    context: &'a Context,
    which: Which<'a>,
}

/// Shows the trees, once or until Ctrl-C.
pub fn run(args: &Tree, context: &Context) -> Result<u8> {
    let which = match &args.id {
        Some(id) => Which::Below(id),
        None if args.all => Which::All,
        None => Which::Open,
    };
    let mailbox = if args.id.is_some() || args.follow { Some(args.common.open()?) } else { args.common.open_if_there()? };
    let Some(mailbox) = mailbox else { return Ok(0) };
    let forest = Forest { mailbox: &mailbox, context, which };
    if args.follow {
        return live_view::follow(&mailbox, &forest, args.common.json);
    }
    forest.check()?;
    let (columns, mut is_first, mut unprinted) = (screen::columns(), true, String::new());
    // Some trees are printed together as soon as they are read, because there may be very many.
    let teller = Teller::new(&mailbox, context.loaded());
    let looked = forest::look(&teller, which, |nodes| {
        if args.common.json {
            return nodes.iter().try_for_each(program::print_json);
        }
        if std::mem::take(&mut is_first) {
            unprinted.push_str(&head(columns));
        }
        unprinted.push_str(&lines(&nodes, columns));
        if unprinted.len() < PRINTED_TOGETHER { Ok(()) } else { program::print(&std::mem::take(&mut unprinted)) }
    });
    program::print(&unprinted)?;
    looked?;
    if !args.common.json {
        program::print(&forest.end(is_first))?;
    }
    Ok(0)
}

impl Forest<'_> {
    /// Returns an error if the workflow is not known.
    fn check(&self) -> Result<()> {
        if let Which::Below(id) = self.which { forest::check_known(self.mailbox, id) } else { Ok(()) }
    }

    /// The words below the trees.
    fn end(&self, is_empty: bool) -> String {
        match self.which {
            Which::All if is_empty => "there is no workflow\n".into(),
            Which::Open if is_empty => "nothing is open; --all shows the trees that are over\n".into(),
            Which::Open => "(--all shows also the trees that are over)\n".into(),
            _ => String::new(),
        }
    }
}

fn head(columns: Option<usize>) -> String {
    cut(&format!("{:<11}  {:>7}  {:>8}  WORKFLOW", "STATE", "AGE", "COST"), columns) + "\n"
}

/// The lines of complete trees.
fn lines(nodes: &[Node], columns: Option<usize>) -> String {
    let mut out = String::new();
    for (node, branch) in nodes.iter().zip(branches(nodes)) {
        let age = node.status.since.map(|t| time::human(time::since(t))).unwrap_or_default();
        let is_known = node.tree_cost_usd > 0.0;
        let own = || node.status.cost().unwrap_or_default();
        let cost = if is_known { story::dollars(node.tree_cost_usd) } else { own() };
        let line = format!("{:<11}  {age:>7}  {cost:>8}  {}{}", node.status.state.word(), branch.own, node.status.workflow_id);
        let said = said(node);
        let used = columns::width(&line) + 2;
        match columns {
            _ if said.is_empty() => out.push_str(&cut(&line, columns)),
            Some(columns) if columns < used + ROOM => {
                let below = format!("{:32}{}{said}", "", branch.below);
                out.push_str(&format!("{}\n{}", cut(&line, Some(columns)), cut(&below, Some(columns))));
            }
            _ => out.push_str(&cut(&format!("{line}  {said}"), columns)),
        }
        out.push('\n');
    }
    out
}

impl Picture for Forest<'_> {
    type Row = Node;

    fn for_programs(&self) -> String {
        "askbox tree -f --json".to_owned()
    }

    fn look(&self) -> Result<Vec<Node>> {
        // The operator may have changed the configuration since the last look.
        self.context.reload();
        self.check()?;
        let mut nodes = Vec::new();
        forest::look(&Teller::new(self.mailbox, self.context.loaded()), self.which, |tree| {
            nodes.extend(tree);
            Ok(())
        })?;
        Ok(nodes)
    }

    fn gone(&self, workflow: &WorkflowId) -> Result<Node> {
        let mut root = None;
        forest::look(&Teller::new(self.mailbox, self.context.loaded()), Which::Below(workflow), |tree| {
            root = tree.into_iter().next();
            Ok(())
        })?;
        root.ok_or_else(|| Error::not_found(format!("nothing is known of {workflow}"), "askbox tree --all"))
    }

    fn words(&self, nodes: &[Node], columns: Option<usize>) -> String {
        let head = if nodes.is_empty() { String::new() } else { head(columns) };
        head + &lines(nodes, columns) + &self.end(nodes.is_empty())
    }

    fn status(row: &Node) -> &Story {
        &row.status
    }

    fn is_same(one: &Node, other: &Node) -> bool {
        let place = |n: &Node| (n.parent.clone(), n.depth, n.in_ring);
        live_view::is_same(&one.status, &other.status) && place(one) == place(other) && one.tree_cost_usd == other.tree_cost_usd
    }
}

fn cut(line: &str, columns: Option<usize>) -> String {
    columns.map_or_else(|| line.to_owned(), |columns| columns::cut(line, columns))
}

/// The details of a workflow: its reply, its question, its current work, or the reason why it stopped.
fn said(node: &Node) -> String {
    let status = &node.status;
    let (question, why) = (text::excerpt(&status.question, EXCERPT), text::excerpt(status.why_in_short().unwrap_or_default(), EXCERPT));
    let said = match (&status.live, status.state) {
        _ if node.in_ring => format!("(recorded as its own ancestor) {question}"),
        (Some(live), ..) if status.state == Standing::Running => {
            let took = if live.turns > 0 { format!(", {}", status::took(live)) } else { String::new() };
            format!("{}{took}: {question}", live.words)
        }
        (_, Standing::Delivered) => text::excerpt(status.result.as_deref().unwrap_or_default(), EXCERPT),
        // The workflows that this one waits for are drawn below it.
        (_, Standing::Awaiting) => question,
        _ if why.is_empty() => question,
        _ => format!("{question} ({why})"),
    };
    said.trim().to_owned()
}

/// The lines drawn before an id, and before the line of details below it.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Branch {
    own: String,
    below: String,
}

fn branches(nodes: &[Node]) -> Vec<Branch> {
    let depths: Vec<usize> = nodes.iter().map(|n| n.depth).collect();
    let mut drawn = vec![Branch::default(); nodes.len()];
    // For every level, whether a sibling follows, computed from the last line up.
    let mut more: Vec<bool> = Vec::new();
    for (n, depth) in depths.iter().copied().enumerate().rev() {
        let has_children = depths.get(n + 1).is_some_and(|next| *next > depth);
        more.resize(depth + 1, false);
        let mut lines: String = more.iter().take(depth).skip(1).take(LEVELS).map(|more| if *more { "│  " } else { "   " }).collect();
        if depth > LEVELS {
            lines.push_str(&format!("… level {} ", depth + 1));
        }
        let (corner, under) = match (depth, more[depth]) {
            (0, _) => ("", ""),
            (_, true) => ("├─ ", "│  "),
            (_, false) => ("└─ ", "   "),
        };
        drawn[n] =
            Branch { own: format!("{lines}{corner}"), below: format!("{lines}{under}{}", if has_children { "│  " } else { "   " }) };
        more[depth] = true;
    }
    drawn
}
