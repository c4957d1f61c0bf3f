//! Receives requests of the client and sends replies. Each tool runs in a separate thread, because it reads and writes files.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CancelTaskParams, ContentBlock, CustomRequest, CustomResult, ErrorCode,
    ErrorData, GetTaskParams, GetTaskResult, Implementation, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
    Tool, UpdateTaskParams,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde_json::{Map, Value};

use crate::ask_user::{self, ToolReply};
use crate::desk::Desk;
use crate::lines::UNREADABLE;
use crate::receipts::Receipts;
use crate::{other_tools, task, tools};
use askbox_cli::{ask_user_call, program};
use askbox_mailbox::{Error, Result, WorkflowId, spelling, text};
use askbox_run::claim::heard::Sign;

/// The extra time that a tool gets after the wait for an answer. After that, the client is told that the work goes on.
const AND_THEN: Duration = Duration::from_secs(5);

/// The least time that a tool gets. Its files may be slow on a busy machine, also if nobody waits for an answer.
const AT_LEAST: Duration = Duration::from_secs(30);

/// The key of the call's id in a request's `_meta`. Claude Code tells it.
const CALL: &str = "claudecode/toolUseId";

pub(super) struct Server {
    desk: Arc<Desk>,
    receipts: Receipts,
    /// The name of the tool that asks, if it is not `ask_user`.
    ask_as: Option<String>,
}

impl Server {
    pub(super) fn new(desk: Desk, receipts: Receipts, ask_as: Option<String>) -> Self {
        Self { desk: Arc::new(desk), receipts, ask_as }
    }

    fn tools(&self) -> Vec<Tool> {
        tools::all(self.desk.config.answer, self.ask_as.as_deref())
    }
}

/// What a client is told: the reply, or an error of the protocol.
type Reply<T> = std::result::Result<T, ErrorData>;

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(ServerCapabilities::builder().enable_tools().enable_tasks().build());
        info.server_info = Implementation::new("askbox", env!("CARGO_PKG_VERSION"));
        info
    }

    async fn list_tools(&self, _request: Option<PaginatedRequestParams>, _context: RequestContext<RoleServer>) -> Reply<ListToolsResult> {
        Ok(ListToolsResult::with_all_items(self.tools()))
    }

    async fn call_tool(&self, mut request: CallToolRequestParams, context: RequestContext<RoleServer>) -> Reply<CallToolResponse> {
        if !self.tools().iter().any(|tool| tool.name == request.name) {
            return Err(ErrorData::invalid_params(format!("there is no tool {}", text::excerpt(&request.name, 60)), None));
        }
        if self.ask_as.as_deref() == Some(&*request.name) {
            request.name = tools::ASK_USER.into();
        }
        let desk = Arc::clone(&self.desk);
        let caller = caller(&context);
        let given_up = context.ct.clone();
        let arguments = request.arguments.unwrap_or_default();
        // Inside a run of askbox a task is useless: nobody polls it once the turn has ended.
        let knows_tasks = context.client_capabilities().is_some_and(|capabilities| capabilities.supports_tasks());
        if request.name == tools::ASK_USER && knows_tasks && program::env("ASKBOX_RUN").is_none() {
            return Ok(match in_a_thread(move || task::ask(&desk, &arguments)).await? {
                Ok(task) => task.into(),
                Err(e) => refused(&e),
            });
        }
        let work = tokio::task::spawn_blocking(move || call(&desk, &request.name, &arguments, caller, || given_up.is_cancelled()));
        let limit = (self.desk.config.wait.0 + AND_THEN).max(AT_LEAST);
        let reply = match tokio::time::timeout(limit, work).await {
            Ok(done) => done.map_err(|e| ErrorData::internal_error(format!("the tool ended early: {e}"), None))?,
            Err(_late) => Ok(ToolReply::Text("This takes longer and goes on by itself; run_status tells how it stands.".into())),
        };
        Ok(match reply {
            Ok(ToolReply::Text(words)) => said(words),
            // Nobody reads this reply, so the answer is left for the next look.
            Ok(ToolReply::Answer(..)) if context.ct.is_cancelled() => said(String::new()),
            Ok(ToolReply::Answer(words, taken)) => {
                let call = context.meta.get(CALL).and_then(Value::as_str);
                self.receipts.expect(context.id, taken, Sign::of_call(call));
                said(words)
            }
            Err(e) => refused(&e),
        })
    }

    async fn get_task(&self, request: GetTaskParams, context: RequestContext<RoleServer>) -> Reply<GetTaskResult> {
        let desk = Arc::clone(&self.desk);
        let shows_forms = shows_forms(&context);
        let (task, taken) = in_a_thread(move || task::look(&desk, &request.task_id, shows_forms)).await?.map_err(no_such_task)?;
        taken.into_iter().for_each(|taken| self.receipts.expect(context.id.clone(), taken, Sign::Task));
        Ok(GetTaskResult::new(task))
    }

    /// Refuses a request that the SDK cannot read: its method is unknown, or its params do not fit the method.
    async fn on_custom_request(&self, request: CustomRequest, _context: RequestContext<RoleServer>) -> Reply<CustomResult> {
        if task::METHODS.contains(&request.method.as_str()) {
            return Err(ErrorData::invalid_params("taskId: is missing, or is no text. Hint: give the taskId that ask_user returned", None));
        }
        if request.method == UNREADABLE {
            return Err(ErrorData::parse_error("the request is no JSON-RPC that can be read, or is nested too deep", None));
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None))
    }

    async fn update_task(&self, request: UpdateTaskParams, context: RequestContext<RoleServer>) -> Reply<()> {
        let (desk, by) = (Arc::clone(&self.desk), caller(&context));
        in_a_thread(move || task::answer(&desk, &request.task_id, &request.input_responses, by)).await?.map_err(no_such_task)
    }

    async fn cancel_task(&self, request: CancelTaskParams, _context: RequestContext<RoleServer>) -> Reply<()> {
        let desk = Arc::clone(&self.desk);
        in_a_thread(move || task::cancel(&desk, &request.task_id)).await?.map_err(no_such_task)
    }
}

/// True if the client shows forms to its user.
fn shows_forms(context: &RequestContext<RoleServer>) -> bool {
    context
        .client_capabilities()
        .and_then(|capabilities| capabilities.elicitation)
        .is_some_and(|elicitation| elicitation.url.is_none() || elicitation.form.is_some())
}

/// Runs work that reads and writes files.
async fn in_a_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Reply<T> {
    let ended_early = |e| ErrorData::internal_error(format!("the work ended early: {e}"), None);
    tokio::task::spawn_blocking(work).await.map_err(ended_early)
}

fn no_such_task(error: Error) -> ErrorData {
    let words = format!("{} Hint: {}", program::message(&error), text::one_line(&error.hint()));
    match error {
        Error::Invalid { .. } | Error::NotFound { .. } | Error::Conflict { .. } => ErrorData::invalid_params(words, None),
        _ => ErrorData::internal_error(words, None),
    }
}

fn said(words: String) -> CallToolResponse {
    CallToolResult::success(vec![ContentBlock::text(words)]).into()
}

/// An error becomes the tool's result, so that the model reads its hint.
fn refused(error: &Error) -> CallToolResponse {
    let words = program::complaint(error, "").trim_end().to_owned();
    CallToolResult::error(vec![ContentBlock::text(words)]).into()
}

/// The caller's name in an answer: the client's own name for itself.
fn caller(context: &RequestContext<RoleServer>) -> String {
    let info = context.meta.client_info().or_else(|| context.peer.peer_info().map(|info| info.client_info.clone()));
    let name = info.map(|info| info.name).filter(|name| !name.trim().is_empty()).unwrap_or_else(|| "a program".into());
    format!("an agent of {}", text::excerpt(&name, 60))
}

fn call(desk: &Desk, tool: &str, arguments: &Map<String, Value>, caller: String, is_given_up: impl Fn() -> bool) -> Result<ToolReply> {
    if let (tools::ASK_USER, Some(Value::String(question))) = (tool, arguments.get(ask_user_call::QUESTION_ID)) {
        let workflow =
            ask_user_call::named_workflow(arguments)?.ok_or_else(|| Error::invalid("workflow_id", "is missing", "name the workflow"))?;
        return ask_user::check(desk, &workflow, Some(question.parse()?));
    }
    if tool == tools::ASK_USER {
        return ask_user::ask(desk, arguments, is_given_up);
    }
    let known: &[&str] = match tool {
        tools::LIST_QUESTIONS => &[],
        tools::SAVE_CHECKPOINT => &["workflow_id", "checkpoint"],
        tools::ANSWER_QUESTION => &["workflow_id", "answer", "question_id"],
        tools::CHECK_ANSWER => &["workflow_id", "question_id"],
        _ => &["workflow_id"],
    };
    if let Some(name) = arguments.keys().find(|name| !known.contains(&name.as_str())) {
        let near = known.iter().find(|known| spelling::is_close(name, known)).map(|near| format!("did you mean `{near}`? "));
        let fix = format!("{}the arguments are: {}", near.unwrap_or_default(), known.join(", "));
        return Err(Error::invalid(text::excerpt(name, 40), format!("is no argument of {tool}"), fix));
    }
    let text = |name: &str| match arguments.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        Some(_) => Err(Error::invalid(name, "is no text", "write it as text")),
    };
    let named = text("workflow_id")?.map(str::parse::<WorkflowId>).transpose()?;
    let workflow = || named.clone().ok_or_else(|| Error::invalid("workflow_id", "is missing", "name the workflow"));
    let question = || text("question_id")?.map(str::parse).transpose();
    match tool {
        tools::CHECK_ANSWER => return ask_user::check(desk, &workflow()?, question()?),
        tools::SAVE_CHECKPOINT => match arguments.get("checkpoint") {
            Some(Value::Object(checkpoint)) => other_tools::save_checkpoint(desk, &workflow()?, checkpoint),
            _ => Err(Error::invalid(
                "checkpoint",
                "is missing or no object",
                "write an object with current_step, next_action and what else is needed",
            )),
        },
        tools::LOAD_CHECKPOINT => other_tools::load_checkpoint(desk, &workflow()?),
        tools::LIST_QUESTIONS => other_tools::questions(desk),
        tools::RUN_STATUS => other_tools::run_status(desk, named.as_ref()),
        tools::STOP_RUN => other_tools::stop_run(desk, &workflow()?, caller),
        _ => {
            let answer = arguments.get("answer").cloned().unwrap_or_default();
            other_tools::answer(desk, &workflow()?, question()?, answer, caller)
        }
    }
    .map(ToolReply::Text)
}
