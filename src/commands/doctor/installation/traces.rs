//! The spans of rounds: how many were sent and lost, and whether the collector takes them.

use crate::commands::doctor::checkup::Checkup;
use crate::commands::doctor::installation::targets::secret_file;
use askbox_mailbox::{text, time};
use askbox_run::programs;
use askbox_run::story::cause::edit_configuration;
use askbox_watch::news::OURS;
use askbox_watch::traces::Tally;

/// Reports a collector that gets no spans, and shows the counts. The address of the collector may hold a secret, so it is not shown.
pub(in crate::commands::doctor) fn look(checkup: &mut Checkup) {
    if checkup.config.traces.url.is_empty() {
        return;
    }
    let tally = checkup.mailbox.as_ref().and_then(Tally::read).unwrap_or_default();
    let Tally { sent, lost, .. } = tally;
    let last = tally.sent_at.map_or("never taken".into(), |at| format!("last taken {} ago", time::human(time::since(at))));
    let rounds = if sent == 1 { "round" } else { "rounds" };
    checkup.facts.add("traces", &tally, format!("Traces: spans of {sent} {rounds} sent, {last}; {lost} lost.\n"));
    let place = edit_configuration();
    for (program, mend) in [("curl".into(), place.as_str()), (programs::beside(OURS), programs::FROM_A_CHECKOUT)] {
        if let Err(error) = programs::find(&program) {
            checkup.report("no_traces", "traces.url", format!("{error}, so no spans are sent"), mend);
        }
    }
    secret_file(checkup, "traces.headers_file", &checkup.config.traces.headers_file.clone(), &place);
    if tally.is_failing() {
        let ago = tally.failed_at.map_or_else(String::new, |at| format!(" {} ago", time::human(time::since(at))));
        let why = tally.problem.as_deref().map(|why| text::excerpt(why, 200)).unwrap_or_default();
        checkup.report("no_traces", "traces.url", format!("the collector took no spans{ago}: {why}; {lost} rounds are lost"), place);
    }
}
