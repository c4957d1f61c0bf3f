//! The static release build lays each program's functions out in the order that `benches/order` found: those that are in use
//! side by side, so that a call touches few pages.

use std::env;
use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=share/order");
    let (Ok(root), Ok(libc)) = (env::var("CARGO_MANIFEST_DIR"), env::var("CARGO_CFG_TARGET_ENV")) else { return };
    if libc != "musl" {
        return;
    }
    for program in ["ask-post", "ask-answer", "checkpoint", "relaunch"] {
        let script = Path::new(&root).join(format!("share/order/{program}.ld"));
        println!("cargo::rustc-link-arg-bin={program}=-T{}", script.display());
    }
}
