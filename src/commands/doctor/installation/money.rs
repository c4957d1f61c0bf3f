//! Limits on money that nothing can enforce: the agent tells no cost, so its runs count as free.

use crate::commands::doctor::checkup::Checkup;
use askbox_config::RunnerKind;
use askbox_run::story::cause::edit_configuration;

/// Reports the runners whose agents tell no cost, if money is limited.
pub(in crate::commands::doctor) fn look(checkup: &mut Checkup) {
    let limits = &checkup.config.limits;
    let all = [
        ("run_cost", limits.run_cost),
        ("workflow_cost", limits.workflow_cost),
        ("tree_cost", limits.tree_cost),
        ("day_cost", limits.day_cost),
    ];
    let set: Vec<String> = all.iter().filter(|(_, usd)| *usd > 0.0).map(|(key, _)| format!("limits.{key}")).collect();
    if set.is_empty() {
        return;
    }
    for (name, runner) in checkup.runners() {
        let Some(preset) = runner.agent(&name).filter(|preset| runner.kind == RunnerKind::Acp && !preset.tells_cost) else { continue };
        let said = format!(
            "{} cannot be enforced: {} tells no cost, so its runs count as free; limits.run_time and limits.tree_time hold for it",
            set.join(", "),
            preset.name
        );
        checkup.report("no_cost", format!("runner.{name}"), said, edit_configuration());
    }
}
