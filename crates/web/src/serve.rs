//! Starts the page, and ends it. Also names the address of each page.

use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{MethodFilter, MethodRouter, get, on};
use axum::{Router, middleware};
use tokio::signal::unix::{SignalKind, signal};

use crate::changes::Changes;
use crate::gate::{Devices, Hosts};
use crate::index::Index;
use crate::listen::{Caller, Connections};
use crate::onlooker::Onlooker;
use crate::other_machines::OtherMachines;
use crate::pages::{decline, done, events, inbox, prompt, question, run, session, sign_in, tree};
use crate::sessions_elsewhere::SessionsElsewhere;
use crate::site::{Site, Visit};
use crate::taken_back::TakenBack;
use crate::{check, reply};
use askbox_cli::args::askbox_args::Web;
use askbox_cli::{Context, program};
use askbox_config::Listen;
use askbox_mailbox::{Error, Result};

/// The number of threads that read and write the mailbox for pages.
const WORKERS: usize = 4;
/// The time for finishing an answer that is being written when the page is told to end.
const ENDS_WITHIN: Duration = Duration::from_secs(5);

/// Serves the page until SIGINT or SIGTERM.
pub fn run(args: &Web, context: &Context) -> Result<u8> {
    let all = context.config()?;
    let config = all.web.clone();
    let listen = match args.listen.as_deref() {
        Some(given) => config.listen(Some(given)).map_err(|e| program::of_flag("--listen", e))?,
        None => config.listen(None)?,
    };
    let mailbox = args.common.open_to_answer(context)?.for_a_service();
    let devices = Devices::beside_the_configuration(config.session.0)?;
    // If the file cannot be read, fail now instead of refusing every browser later.
    let is_first = devices.all()?.is_empty();
    let index = Arc::new(Index::default());
    let failed = |e: std::io::Error| Error::failed(format!("cannot start: {e}"), "check the limits on processes and files: ulimit -a");
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().max_blocking_threads(WORKERS).build().map_err(failed)?;
    // This comes before the first thread. A browser that connects from now on waits until the page has started.
    let connections = runtime.block_on(async { Connections::open(&listen) })?;
    let changes = Changes::follow(mailbox.clone(), devices.clone(), Arc::clone(&index))?;
    let elsewhere = OtherMachines::start(&all, changes.clone())?;
    let sessions = SessionsElsewhere::new(elsewhere.peers(), changes.clone());
    let onlooker = Onlooker::start(mailbox.clone())?;
    // The questions are read before the first page is requested.
    index.rows(&mailbox)?;
    let hosts = Hosts::new(&config);
    let site = Arc::new(Site {
        context: context.clone(),
        mailbox,
        hosts,
        devices,
        index,
        elsewhere,
        sessions,
        changes,
        onlooker,
        taken_back: TakenBack::default(),
        session_lasts: config.session.0,
    });

    let ended = runtime.block_on(async {
        let mut interrupted = signal(SignalKind::interrupt()).map_err(failed)?;
        let mut terminated = signal(SignalKind::terminate()).map_err(failed)?;
        let place = connections.place();
        // The check runs before all routing, for every request.
        let checked = middleware::from_fn_with_state(Arc::clone(&site), check::check);
        let app = Router::new().fallback_service(router(site)).layer(checked).into_make_service_with_connect_info::<Caller>();
        // A link without --url leads where the configuration says. Another program may listen there.
        let is_elsewhere = args.listen.is_some() && config.hosts.is_empty() && place.starts_with("http://");
        let url = if is_elsewhere { format!(" --url {place}") } else { String::new() };
        program::say(&format!("the page is at {place}; a device signs in with: askbox web link{url}\n"));
        if is_first && program::prints_to_terminal() {
            program::say("no device is signed in yet\n");
        }
        tokio::select! {
            served = axum::serve(connections, app) => served.map_err(failed),
            _ = interrupted.recv() => Ok(()),
            _ = terminated.recv() => Ok(()),
        }
    });
    // An answer that is being written is finished first.
    runtime.shutdown_timeout(ENDS_WITHIN);
    ended.map(|()| 0)
}

/// True if something listens there. Only used for a hint.
pub fn is_served(listen: &Listen) -> bool {
    match listen {
        Listen::Tcp(address) => TcpStream::connect_timeout(address, Duration::from_secs(1)).is_ok(),
        Listen::Unix(path) => std::os::unix::net::UnixStream::connect(path).is_ok(),
    }
}

/// The page of a path: `make` gets the visit, and the parts of the request that it wants.
fn page<Wanted>(method: MethodFilter, make: fn(&Visit, Wanted) -> Result<Response>) -> MethodRouter<Arc<Site>>
where
    Wanted: FromRequestParts<Arc<Site>> + Send + 'static,
{
    on(method, move |visit: Visit, wanted: Wanted| visit.page(move |visit| make(visit, wanted)))
}

/// The router for all pages.
fn router(site: Arc<Site>) -> Router {
    const GET: MethodFilter = MethodFilter::GET;
    const POST: MethodFilter = MethodFilter::POST;
    Router::new()
        .route("/", page(GET, inbox::show))
        .route("/q/{workflow}", page(GET, question::newest))
        .route("/q/{workflow}/{question}", page(GET, question::show).merge(page(POST, question::decide)))
        .route("/q/{workflow}/{question}/undo", page(POST, question::undo))
        .route("/decline", page(POST, decline::decline))
        .route("/q/{workflow}/{question}/file/{sha256}", page(GET, question::file))
        .route("/done", page(GET, done::show))
        .route("/tree", page(GET, tree::show))
        .route("/tree/{workflow}", page(GET, tree::show_one))
        .route("/run/{workflow}", page(GET, run::show))
        .route("/run/{workflow}/{question}", page(GET, run::show_one))
        .route("/sessions", page(GET, session::list))
        .route("/session/{id}", page(GET, session::show).merge(page(POST, prompt::send)))
        .route("/session/{id}/stop", page(POST, prompt::stops))
        .route("/session/{id}/back", page(POST, prompt::take_back))
        .route("/events", get(events::stream))
        .route("/here", get(inbox::count))
        .route("/in/{link}", get(sign_in::show).post(sign_in::sign_in))
        .route("/out", page(POST, sign_in::sign_out))
        .route("/static/{file}", get(reply::static_file))
        .fallback(async |visit: Visit| {
            reply::problem_page(&visit.signed_in.home, StatusCode::NOT_FOUND, "Not there", "There is no such page.")
        })
        .with_state(site)
}
