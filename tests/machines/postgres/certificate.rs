//! The certificate of a server, by an authority of the test's own.

use std::path::Path;

use crate::support::{World, output};

/// Gives the server with this data folder a certificate for these names (`DNS:localhost,IP:10.0.0.1`). The authority's own certificate
/// becomes `ca.pem` of the world.
pub fn certify(world: &World, data: &Path, names: &str) {
    let script = r#"openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 2 -subj /CN=ca -addext basicConstraints=critical,CA:TRUE
        openssl req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj /CN=localhost
        echo "subjectAltName=$1" > names
        openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out server.crt
        chmod 600 server.key"#;
    output(world.any_command("sh").args(["-ec", script, "sh", names]).current_dir(data)).ok();
    std::fs::copy(data.join("ca.pem"), world.path("ca.pem")).expect("a certificate");
}
