//! A small network: a hub and machines around it, each in a network namespace of its own, and each machine behind a link that a test cuts.
//! The namespaces end with their holders, whatever becomes of the test.

use std::process::{Command, Stdio};

use crate::{Running, output, until};

/// The hub and its machines.
pub struct Network {
    hub: Running,
    machines: Vec<Running>,
}

impl Network {
    /// A hub with links to so many machines.
    pub fn new(machines: usize) -> Self {
        let network = Self { hub: namespace(), machines: (0..machines).map(|_| namespace()).collect() };
        ip(&network.at_hub(), "link set lo up");
        for (n, machine) in network.machines.iter().enumerate() {
            let (hub, there) = (network.at_hub(), network.on(n));
            ip(&hub, &format!("link add to{n} type veth peer name wire netns {}", machine.pid()));
            ip(&hub, &format!("addr add {}/24 dev to{n}", hub_for(n)));
            ip(&hub, &format!("link set to{n} up"));
            ip(&there, "link set lo up");
            ip(&there, &format!("addr add {}/24 dev wire", address(n)));
            ip(&there, "link set wire up");
        }
        network
    }

    /// The command that stands before a program of the hub.
    pub fn at_hub(&self) -> Vec<String> {
        entering(&self.hub)
    }

    /// The command that stands before a program of this machine.
    pub fn on(&self, machine: usize) -> Vec<String> {
        entering(&self.machines[machine])
    }

    /// Pulls the cable of this machine, or puts it back. Nobody is told: what was on its way is gone.
    pub fn cut(&self, machine: usize, is_cut: bool) {
        ip(&self.on(machine), if is_cut { "link set wire down" } else { "link set wire up" });
    }
}

/// The address of the hub for this machine.
pub fn hub_for(machine: usize) -> String {
    format!("10.77.{machine}.1")
}

/// The address of this machine.
pub fn address(machine: usize) -> String {
    format!("10.77.{machine}.2")
}

/// A process that holds a new namespace.
fn namespace() -> Running {
    let own = std::fs::read_link("/proc/self/ns/net").expect("this process has a namespace");
    let mut command = Command::new("unshare");
    command.args(["--net", "sleep", "900"]).stdin(Stdio::null()).stdout(Stdio::null());
    let holder = Running::start(&mut command);
    let of_holder = format!("/proc/{}/ns/net", holder.pid());
    until("the namespace is there", || std::fs::read_link(&of_holder).is_ok_and(|of_holder| of_holder != own));
    holder
}

fn entering(holder: &Running) -> Vec<String> {
    vec!["nsenter".into(), format!("--net=/proc/{}/ns/net", holder.pid())]
}

#[track_caller]
fn ip(before: &[String], words: &str) {
    output(Command::new(&before[0]).args(&before[1..]).arg("ip").args(words.split(' '))).ok();
}
