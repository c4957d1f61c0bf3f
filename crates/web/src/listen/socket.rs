//! The address where the page listens, or the socket for this user alone.

use std::io;
use std::os::unix::net::UnixStream as Probe;
use std::path::Path;
use std::time::{Duration, Instant};

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::net::{TcpListener, UnixListener};
use tokio::time::sleep;

use crate::listen::connection::{Connection, Stream};
use crate::listen::places::{Caller, Places};
use askbox_config::Listen;
use askbox_mailbox::{Error, IoContext, Result, disk};

/// The pause after the system refused a connection for lack of free descriptors.
const PAUSE: Duration = Duration::from_millis(200);

/// The listening socket, and the places of its connections.
pub struct Connections {
    socket: Socket,
    places: Places,
}

enum Socket {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Connections {
    /// Starts to listen. Must be called within the runtime, and before this process starts other threads. The umask of the whole process is
    /// 0177 for a moment, and nobody could enter a folder that another thread made then.
    ///
    /// # Errors
    /// [`Error::Conflict`] if another process listens there.
    pub fn open(listen: &Listen) -> Result<Self> {
        let socket = match listen {
            Listen::Tcp(address) => {
                let taken = |e: io::Error| match e.kind() {
                    io::ErrorKind::AddrInUse => Error::conflict(
                        format!("another program listens at {address}"),
                        "is the page running already? Choose another port: askbox web --listen 127.0.0.1:8348",
                    ),
                    _ => Error::failed(
                        format!("cannot listen at {address}: {e}"),
                        "choose another address: askbox web --listen 127.0.0.1:8348",
                    ),
                };
                let socket = std::net::TcpListener::bind(address).map_err(taken)?;
                let socket = socket.set_nonblocking(true).and_then(|()| TcpListener::from_std(socket));
                Socket::Tcp(socket.io("listen at", address.to_string())?)
            }
            Listen::Unix(path) => {
                let socket = listen_at(path)?;
                Socket::Unix(socket.set_nonblocking(true).and_then(|()| UnixListener::from_std(socket)).io("listen at", path)?)
            }
        };
        let files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(u64::MAX);
        Ok(Self { socket, places: Places::new(files) })
    }

    /// The address where it listens, for people.
    pub fn place(&self) -> String {
        match &self.socket {
            Socket::Tcp(socket) => socket.local_addr().map_or_else(|_| "?".into(), |address| format!("http://{address}")),
            Socket::Unix(socket) => {
                let path = socket.local_addr().ok().and_then(|address| address.as_pathname().map(Path::to_path_buf));
                format!("unix:{}", path.unwrap_or_default().display())
            }
        }
    }
}

/// Listens on a socket that only this user may use. Replaces a socket that another process left behind.
fn listen_at(path: &Path) -> Result<std::os::unix::net::UnixListener> {
    if Probe::connect(path).is_ok() {
        return Err(Error::conflict(format!("another program listens at {}", path.display()), "is the page running already?"));
    }
    if disk::metadata(path).is_ok_and(|meta| std::os::unix::fs::FileTypeExt::is_socket(&meta.file_type())) {
        disk::remove(path)?;
    }
    // Other users must not be able to use the socket before its mode is set.
    let before = rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o177));
    let socket = std::os::unix::net::UnixListener::bind(path);
    rustix::process::umask(before);
    socket.io("listen at", path)
}

impl Listener for Connections {
    type Io = Connection;
    type Addr = Caller;

    async fn accept(&mut self) -> (Connection, Caller) {
        loop {
            let accepted: io::Result<Stream> = match &self.socket {
                Socket::Tcp(socket) => socket.accept().await.map(|(stream, _)| {
                    let _ = stream.set_nodelay(true);
                    Box::pin(stream) as Stream
                }),
                Socket::Unix(socket) => socket.accept().await.map(|(stream, _)| Box::pin(stream) as Stream),
            };
            match accepted {
                Ok(stream) => {
                    let place = self.places.take(Instant::now());
                    let caller = place.caller.clone();
                    return (Connection::new(stream, place), caller);
                }
                Err(_) => {
                    self.places.make_room();
                    sleep(PAUSE).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<Caller> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl Connected<IncomingStream<'_, Connections>> for Caller {
    fn connect_info(stream: IncomingStream<'_, Connections>) -> Self {
        stream.remote_addr().clone()
    }
}
