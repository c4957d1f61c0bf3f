//! Starts the page, and ends it.

use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware;

use crate::config::Listen;
use crate::error::{Error, Result};
use crate::surface::args::web_args::Web;
use crate::surface::askbox::web::changes::Changes;
use crate::surface::askbox::web::check;
use crate::surface::askbox::web::elsewhere::Elsewhere;
use crate::surface::askbox::web::gate::{Devices, Hosts};
use crate::surface::askbox::web::index::Index;
use crate::surface::askbox::web::listen::{Caller, Connections};
use crate::surface::askbox::web::onlooker::Onlooker;
use crate::surface::askbox::web::routes;
use crate::surface::askbox::web::site::Site;
use crate::surface::askbox::web::taken_back::TakenBack;
use crate::surface::program::{self, Context};

/// How many threads read and write the mailbox for pages.
const WORKERS: usize = 4;
/// How long an answer that is being written may take when the page is told to end.
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
    // A file that cannot be read is an error before anybody is refused because of it.
    let is_first = devices.all()?.is_empty();
    let index = Arc::new(Index::new());
    let changes = Changes::follow(mailbox.clone(), devices.clone(), Arc::clone(&index))?;
    let elsewhere = Elsewhere::start(&all, changes.clone())?;
    let onlooker = Onlooker::start(mailbox.clone())?;
    // Read before the first page is asked for.
    index.rows(&mailbox)?;
    let hosts = Hosts::new(&config);
    let site = Arc::new(Site {
        context: context.clone(),
        mailbox,
        hosts,
        devices,
        index,
        elsewhere,
        changes,
        onlooker,
        taken_back: TakenBack::default(),
        session_lasts: config.session.0,
    });

    let failed = |e: std::io::Error| Error::failed(format!("cannot start: {e}"), "check the limits on processes and files: ulimit -a");
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().max_blocking_threads(WORKERS).build().map_err(failed)?;
    let ended = runtime.block_on(async {
        let connections = Connections::open(&listen)?;
        let ended = ended_by_signal()?;
        let place = connections.place();
        // The check stands before all routing, whatever is asked for.
        let checked = middleware::from_fn_with_state(Arc::clone(&site), check::check);
        let app = Router::new().fallback_service(routes::router(site)).layer(checked).into_make_service_with_connect_info::<Caller>();
        program::say(&format!("the page is at {place}; a device signs in with: askbox web link\n"));
        if is_first && program::prints_to_terminal() {
            program::say("no device is signed in yet\n");
        }
        tokio::select! {
            served = axum::serve(connections, app) => served.map_err(failed),
            () = ended => Ok(()),
        }
    });
    // An answer that is being written is written to its end.
    runtime.shutdown_timeout(ENDS_WITHIN);
    ended.map(|()| 0)
}

/// Comes when the process is told to end.
fn ended_by_signal() -> Result<impl Future<Output = ()>> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let failed = |e: std::io::Error| Error::failed(format!("cannot handle Unix signals: {e}"), "check the limit on processes: ulimit -u");
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]).map_err(failed)?;
    let (told, ended) = tokio::sync::oneshot::channel();
    crate::thread::start(move || {
        if signals.forever().next().is_some() {
            let _ = told.send(());
        }
    })?;
    Ok(async move {
        // Without the thread nothing ends the page but a harder signal.
        if ended.await.is_err() {
            std::future::pending::<()>().await;
        }
    })
}

/// Whether something listens there: asked for a hint only.
#[must_use]
pub fn is_served(listen: &Listen) -> bool {
    match listen {
        Listen::Tcp(address) => TcpStream::connect_timeout(address, Duration::from_secs(1)).is_ok(),
        Listen::Unix(path) => std::os::unix::net::UnixStream::connect(path).is_ok(),
    }
}
