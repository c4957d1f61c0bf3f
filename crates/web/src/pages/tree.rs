//! Workflows below those that started them.

use askama::Template;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;

use crate::pages::Frame;
use crate::reply;
use crate::site::Visit;
use askbox_mailbox::{Error, Result, WorkflowId, text, time};
use askbox_run::chain::forest::{self, Node, Which};
use askbox_run::story::Standing;

/// The maximum number of workflows that are shown.
const SHOWN: usize = 500;
/// The maximum level that is drawn.
const LEVELS: usize = 12;

#[derive(Template)]
#[template(path = "tree.html")]
struct TreePage {
    frame: Frame,
    branches: Vec<Branch>,
    /// True if there are more workflows.
    is_cut: bool,
    /// The workflow, if only its tree is shown.
    of: Option<String>,
}

struct Branch {
    workflow: String,
    level: usize,
    state: &'static str,
    ago: String,
    cost: Option<String>,
    said: String,
    /// The id of the question that a person can answer.
    question: Option<String>,
}

/// `/tree`
pub fn show(visit: &Visit, (): ()) -> Result<Response> {
    page(visit, None)
}

/// `/tree/WORKFLOW`
pub fn show_one(visit: &Visit, Path(workflow): Path<String>) -> Result<Response> {
    let workflow: WorkflowId = workflow.parse()?;
    forest::check_known(&visit.site.mailbox, &workflow)?;
    page(visit, Some(workflow))
}

fn page(visit: &Visit, of: Option<WorkflowId>) -> Result<Response> {
    let site = &visit.site;
    // The operator may have changed the configuration since the last look.
    site.context.reload();
    let mut branches = Vec::new();
    site.index.rows(&site.mailbox)?;
    let asking = |workflow: &WorkflowId| site.index.kin(workflow);
    let teller = site.teller();
    let looked = forest::look_knowing(&teller, of.as_ref().map_or(Which::Open, Which::Below), &asking, |nodes| {
        if branches.len() > SHOWN {
            // There are enough workflows, so the rest is not read.
            return Err(Error::failed(ENOUGH, ""));
        }
        branches.extend(nodes.iter().map(branch));
        Ok(())
    });
    match looked {
        Err(Error::Failed { message, .. }) if message == ENOUGH => {}
        other => other?,
    }
    let is_cut = branches.len() > SHOWN;
    branches.truncate(SHOWN);
    let of = of.map(|workflow| workflow.to_string());
    Ok(reply::html(StatusCode::OK, &TreePage { frame: Frame::new(visit, "tree"), branches, is_cut, of }))
}

const ENOUGH: &str = "enough";

fn branch(node: &Node) -> Branch {
    let status = &node.status;
    let question = text::excerpt(&status.question, 160);
    let said = match (&status.live, &status.result, &status.why) {
        (Some(live), ..) if status.state == Standing::Running => format!("{}: {question}", text::one_line(&live.words)),
        (_, Some(result), _) if !status.state.is_open() => text::excerpt(result, 160),
        (_, _, Some(why)) => format!("{question} ({})", text::excerpt(why, 160)),
        _ => question,
    };
    let asks = matches!(status.state, Standing::Pending | Standing::Overdue | Standing::Waiting);
    Branch {
        workflow: status.workflow_id.to_string(),
        level: node.depth.min(LEVELS),
        state: status.state.word(),
        ago: time::ago(status.since),
        cost: (node.tree_cost_usd > 0.0).then(|| format!("${:.4}", node.tree_cost_usd)),
        said,
        question: status.question_id.filter(|_| asks).map(|id| id.to_string()),
    }
}
