//! Where the page listens, how many connections there may be, and for how long one may be silent.

use std::io;
use std::os::unix::net::UnixStream as Probe;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep, sleep_until};

use crate::config::Listen;
use crate::disk;
use crate::error::{Error, IoContext, Result};

/// The most connections at once; further ones wait.
const MAX_CONNECTIONS: usize = 128;
/// How long a connection may be silent. A page that is open hears a sign of life more often.
const SILENT_FOR: Duration = Duration::from_secs(60);
/// The pause after the system refused a connection, for lack of descriptors.
const PAUSE: Duration = Duration::from_millis(200);

/// What listens.
#[derive(Debug)]
pub struct Connections {
    socket: Socket,
    free: Arc<Semaphore>,
}

#[derive(Debug)]
enum Socket {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Connections {
    /// Listens. Must be called within the runtime.
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
                socket.set_nonblocking(true).io("listen at", address.to_string())?;
                Socket::Tcp(TcpListener::from_std(socket).io("listen at", address.to_string())?)
            }
            Listen::Unix(path) => Socket::Unix(listen_at(path)?),
        };
        Ok(Self { socket, free: Arc::new(Semaphore::new(MAX_CONNECTIONS)) })
    }

    /// Where it listens, for people.
    #[must_use]
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

/// A socket that only this user may use. One that a process left behind is replaced.
fn listen_at(path: &Path) -> Result<UnixListener> {
    if Probe::connect(path).is_ok() {
        return Err(Error::conflict(format!("another program listens at {}", path.display()), "is the page running already?"));
    }
    if disk::metadata(path).is_ok_and(|meta| std::os::unix::fs::FileTypeExt::is_socket(&meta.file_type())) {
        disk::remove(path)?;
    }
    // Nobody can use it before its mode is set.
    let before = rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o177));
    let socket = UnixListener::bind(path);
    rustix::process::umask(before);
    socket.io("listen at", path)
}

impl Listener for Connections {
    type Io = Connection;
    type Addr = ();

    async fn accept(&mut self) -> (Connection, ()) {
        // The semaphore is never closed.
        let permit = Arc::clone(&self.free).acquire_owned().await.ok();
        loop {
            let accepted = match &self.socket {
                Socket::Tcp(socket) => socket.accept().await.map(|(stream, _)| {
                    let _ = stream.set_nodelay(true);
                    Stream::Tcp(stream)
                }),
                Socket::Unix(socket) => socket.accept().await.map(|(stream, _)| Stream::Unix(stream)),
            };
            match accepted {
                Ok(stream) => return (Connection { stream, silence: Box::pin(sleep(SILENT_FOR)), _permit: permit }, ()),
                Err(_) => sleep(PAUSE).await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Debug)]
enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// A connection, which ends when it is silent for too long.
#[derive(Debug)]
pub struct Connection {
    stream: Stream,
    silence: Pin<Box<Sleep>>,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Connection {
    fn is_heard(&mut self) {
        self.silence.set(sleep_until(Instant::now() + SILENT_FOR));
    }
}

impl AsyncRead for Connection {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let read = match &mut this.stream {
            Stream::Tcp(stream) => Pin::new(stream).poll_read(context, into),
            Stream::Unix(stream) => Pin::new(stream).poll_read(context, into),
        };
        match read {
            Poll::Pending => {
                ready!(this.silence.as_mut().poll(context));
                Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
            }
            ready => {
                this.is_heard();
                ready
            }
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = match &mut this.stream {
            Stream::Tcp(stream) => Pin::new(stream).poll_write(context, bytes),
            Stream::Unix(stream) => Pin::new(stream).poll_write(context, bytes),
        };
        match written {
            // A reader that takes nothing is silent as well.
            Poll::Pending => {
                ready!(this.silence.as_mut().poll(context));
                Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
            }
            ready => {
                this.is_heard();
                ready
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().stream {
            Stream::Tcp(stream) => Pin::new(stream).poll_flush(context),
            Stream::Unix(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().stream {
            Stream::Tcp(stream) => Pin::new(stream).poll_shutdown(context),
            Stream::Unix(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
