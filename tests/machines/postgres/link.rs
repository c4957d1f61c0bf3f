//! A link to a server that a test cuts: bytes go through a socket of its own until then, and stop anywhere.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// A folder with the socket of a server, for `host=FOLDER`.
pub struct Link {
    folder: tempfile::TempDir,
    open: Arc<Mutex<Vec<UnixStream>>>,
}

impl Link {
    /// A link to the server whose socket lies in this folder.
    pub fn to(server: &str) -> Self {
        let folder = tempfile::Builder::new().prefix("askbox-ln").tempdir().expect("a temporary folder");
        let listener = UnixListener::bind(folder.path().join(".s.PGSQL.5432")).expect("a socket");
        let open = Arc::<Mutex<Vec<UnixStream>>>::default();
        let (links, server) = (Arc::clone(&open), Path::new(server).join(".s.PGSQL.5432"));
        std::thread::spawn(move || listener.incoming().flatten().for_each(|client| connect(&links, client, &server)));
        Self { folder, open }
    }

    pub fn folder(&self) -> &str {
        self.folder.path().to_str().expect("a UTF-8 path")
    }

    /// Cuts all connections, in the middle of whatever is on its way.
    pub fn cut(&self) {
        for stream in self.open.lock().unwrap().drain(..) {
            let _closed = stream.shutdown(Shutdown::Both);
        }
    }
}

fn connect(links: &Mutex<Vec<UnixStream>>, client: UnixStream, server: &Path) {
    let Ok(server) = UnixStream::connect(server) else { return };
    let ends = [(client.try_clone(), server.try_clone()), (server.try_clone(), client.try_clone())];
    let mut open = links.lock().unwrap();
    open.retain(|stream| stream.peer_addr().is_ok());
    open.extend([client, server]);
    drop(open);
    for (from, to) in ends {
        if let (Ok(from), Ok(to)) = (from, to) {
            std::thread::spawn(move || copy(from, to));
        }
    }
}

fn copy(mut from: UnixStream, mut to: UnixStream) {
    let mut bytes = [0; 16 << 10];
    while let Ok(n) = from.read(&mut bytes) {
        if n == 0 || to.write_all(&bytes[..n]).is_err() {
            break;
        }
    }
    let _closed = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}
