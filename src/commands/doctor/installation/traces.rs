//! The spans of rounds: how many were sent and lost, and whether the collector takes them.

use serde::Serialize;

use crate::commands::doctor::checkup::Checkup;
use crate::commands::doctor::installation::targets::secret_file;
use askbox_mailbox::{text, time};
use askbox_run::process::programs;
use askbox_run::story::cause::edit_configuration;
use askbox_watch::traces::tally::Tally;

/// The counts. The address of the collector may hold a secret, so it is not shown.
#[derive(Debug, Serialize)]
pub(in crate::commands::doctor) struct KnownTraces {
    #[serde(flatten)]
    tally: Tally,
}

/// The counts, if the configuration names a collector.
fn known(checkup: &Checkup) -> Option<KnownTraces> {
    let tally = checkup.mailbox.as_ref().and_then(Tally::read).unwrap_or_default();
    (!checkup.config.traces.url.is_empty()).then_some(KnownTraces { tally })
}

impl KnownTraces {
    /// One line for people.
    pub(in crate::commands::doctor) fn words(&self) -> String {
        let Tally { sent, lost, sent_at, .. } = &self.tally;
        let last = sent_at.map_or("never taken".into(), |at| format!("last taken {} ago", time::human(time::since(at))));
        let rounds = if *sent == 1 { "round" } else { "rounds" };
        format!("Traces: spans of {sent} {rounds} sent, {last}; {lost} lost.\n")
    }
}

/// Reports a collector that gets no spans.
pub(in crate::commands::doctor) fn look(checkup: &mut Checkup) {
    checkup.facts.traces = known(checkup);
    let Some(known) = known(checkup) else { return };
    let place = edit_configuration();
    if !cfg!(feature = "traces") {
        let said = "this build has no feature `traces`, so no spans are sent";
        return checkup.report("no_traces", "traces.url", said, place);
    }
    if let Err(error) = programs::find("curl".as_ref()) {
        checkup.report("no_traces", "traces.url", format!("{error}, so no spans are sent"), place.clone());
    }
    secret_file(checkup, "traces.headers_file", &checkup.config.traces.headers_file.clone(), &place);
    if known.tally.is_failing() {
        let ago = known.tally.failed_at.map_or_else(String::new, |at| format!(" {} ago", time::human(time::since(at))));
        let why = known.tally.problem.as_deref().map(|why| text::excerpt(why, 200)).unwrap_or_default();
        let said = format!("the collector took no spans{ago}: {why}; {} rounds are lost", known.tally.lost);
        checkup.report("no_traces", "traces.url", said, place);
    }
}
