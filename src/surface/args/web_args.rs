//! The arguments of `askbox web`.

use clap::{Args, Subcommand};

use crate::surface::args::common::Common;

/// `askbox web`
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Web {
    #[allow(missing_docs)]
    #[command(subcommand)]
    pub command: Option<WebCommand>,
    /// Where to listen: a loopback address, or unix:PATH [default: web.listen, else 127.0.0.1:8347]
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<String>,
    #[allow(missing_docs)]
    #[command(flatten)]
    pub common: Common,
}

#[allow(missing_docs)]
#[derive(Debug, Subcommand)]
pub enum WebCommand {
    /// Print a link with which one device signs in, once, within ten minutes; on a terminal also as a QR code
    ///
    /// The device's name is recorded with each answer that it gives. What opens the link is shown a button; only the button signs in.
    #[command(after_help = "Examples:
  $ askbox web link
  $ askbox web link \"ann's phone\"
  $ askbox web link --url http://localhost:9000")]
    Link(Link),
    /// List the devices that are signed in
    #[command(after_help = "Examples:
  $ askbox web sessions
  ann's phone  since 2026-11-22 11:15 +01:00, last seen today")]
    Sessions,
    /// Sign devices out
    #[command(after_help = "Examples:
  $ askbox web revoke \"ann's phone\"
  $ askbox web revoke --all")]
    Revoke(Revoke),
}

/// `askbox web link`
#[derive(Debug, Args)]
pub struct Link {
    /// The name of the device [default: it is asked for when the device signs in]
    pub device: Option<String>,
    /// How the device reaches the page [default: the first of web.hosts, else the address at which it listens]
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
}

/// `askbox web revoke`
#[derive(Debug, Args)]
pub struct Revoke {
    /// The names of the devices
    #[arg(value_name = "DEVICE", required_unless_present = "all")]
    pub devices: Vec<String>,
    /// All devices, and all links that nobody has used
    #[arg(long, conflicts_with = "devices")]
    pub all: bool,
}
