//! Checks of values beyond their types.

use std::time::Duration;

use crate::config::sections::notify;
use crate::config::sections::peers;
use crate::config::sections::web;
use crate::config::settings::Config;
use crate::error::{Error, Result};

/// The longest wait of a tool's call.
const LONGEST_WAIT: Duration = Duration::from_secs(600);

/// The longest time for which a run holds a server's question.
const LONGEST_HOLD: Duration = Duration::from_secs(3600);

/// Refuses values that no run could work with.
pub(super) fn check(config: &Config) -> Result<()> {
    let (relaunch, limits, chain) = (&config.relaunch, &config.limits, &config.chain);
    for (key, is_zero) in [
        ("relaunch.max_concurrent", relaunch.max_concurrent == 0),
        ("relaunch.attempts", relaunch.attempts == 0),
        ("relaunch.breaker_window", relaunch.breaker_window.0.is_zero()),
        ("relaunch.breaker_pause", relaunch.breaker_pause.0.is_zero()),
        ("notify.time_limit", config.notify.time_limit.0.is_zero()),
        ("sync.poll", config.sync.poll.0.is_zero()),
        ("limits.run_time", limits.run_time.0.is_zero()),
        ("limits.silence", limits.silence.0.is_zero()),
        ("limits.silent_after", limits.silent_after.0.is_zero()),
        ("chain.max_depth", chain.max_depth == 0),
        ("chain.max_children", chain.max_children == 0),
    ] {
        if is_zero {
            return Err(Error::invalid(key, "is zero", "use a value above zero"));
        }
    }
    for (key, usd) in [
        ("limits.run_cost", limits.run_cost),
        ("limits.workflow_cost", limits.workflow_cost),
        ("limits.tree_cost", limits.tree_cost),
        ("limits.day_cost", limits.day_cost),
    ] {
        if usd < 0.0 {
            return Err(Error::invalid(key, "is negative", "write US dollars such as 2.5, or 0 for no limit"));
        }
    }
    if limits.hold.0 > LONGEST_HOLD {
        return Err(Error::invalid("limits.hold", "is longer than 1h", "write a shorter time such as 5m: the agent waits all the while"));
    }
    if config.mcp.wait.0 > LONGEST_WAIT {
        return Err(Error::invalid("mcp.wait", "is longer than 10m", "leave it at 45s: clients give a call up after a minute"));
    }
    if config.metrics.file.components().next().is_some() && !config.metrics.file.is_absolute() {
        return Err(Error::invalid(
            "metrics.file",
            "is not an absolute path",
            "write an absolute path such as /var/lib/node_exporter/askbox.prom",
        ));
    }
    notify::check(&config.notify, &config.target)?;
    peers::check(&config.peers)?;
    config.answers.check()?;
    web::check(&config.web)?;
    config.approvals.check()?;
    config.runner(None).map(drop)
}
