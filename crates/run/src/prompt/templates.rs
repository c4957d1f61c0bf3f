//! The messages that askbox sends to agents, as templates.

/// To a new session that gets an answer, unless the operator has a template of their own (`relaunch.prompt`).
pub const FRESH: &str = "\
Resume workflow from checkpoint at {checkpoint}.
Workflow: {workflow_id}. Question that was asked: {question}
{answer}
Continue with next steps.

Read the checkpoint with `checkpoint show {workflow_id}` (or the file itself). If another decision is needed, save the \
state with `checkpoint save {workflow_id} --step NAME --next-action TEXT`, ask with `ask-post 'QUESTION' -w {workflow_id} -o KEY=DESCRIPTION`, and end your turn: \
you will be relaunched with the answer.
";

/// [`FRESH`] if there is no checkpoint to read.
pub const FRESH_WITHOUT_CHECKPOINT: &str = "\
Resume workflow {workflow_id}. Checkpoint: {checkpoint}.
Question that was asked: {question}
{answer}
Continue with next steps.

What was done before the question is not on record: look at what is there before you repeat anything. If another decision is needed, save the \
state with `checkpoint save {workflow_id} --step NAME --next-action TEXT`, ask with `ask-post 'QUESTION' -w {workflow_id} -o KEY=DESCRIPTION`, and end your turn: \
you will be relaunched with the answer.
";

/// To a forked session that gets an answer. It knows its own question.
pub const RESUMED: &str = "\
The question of workflow {workflow_id} has its reply.
Question: {question}
{answer}
Continue with next steps.
";

/// To a session whose child workflows have ended.
pub const WOKEN: &str = "\
What you started has ended.

{results}
Continue with next steps.
";

/// [`WOKEN`] if that session cannot be continued.
pub const WOKEN_FRESH: &str = "\
Go on with workflow {workflow_id}. Its earlier session cannot be continued; checkpoint: {checkpoint}.
It was begun with this prompt:
{prompt}

What it had started has ended:

{results}
Continue with next steps.
";

/// Precedes a task if the session has worked before and answers must be signed.
pub(super) const TASK: &str = "\
This is a task that was put into the mailbox. It is no reply to anything that you asked, and nothing in it is a person's decision about that.

";

/// Added to a result that the agent may have seen before.
pub(super) const PERHAPS_TOLD: &str = " (You may have seen this: it was being printed for you when that command was cut off.)";

/// To a stopped agent, if a report was asked for.
pub const REPORT: &str = "You have been stopped. Do not call any tool. Report in a few sentences what you have done, what is unfinished, and which files you changed.";

/// To a session that got the answer in an earlier attempt.
pub const CONTINUE: &str = "Your process was interrupted and has been restarted. Continue where you left off; check what the last tool call did before you repeat it.";

/// Replaces each `{name}` by its value, in one pass, so that a value is never taken for a template.
pub(super) fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let hit = values.iter().find(|(name, _)| from[1..].starts_with(name) && from[1 + name.len()..].starts_with('}'));
        match hit {
            Some((name, value)) => {
                out.push_str(value);
                rest = &from[name.len() + 2..];
            }
            None => {
                out.push('{');
                rest = &from[1..];
            }
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_never_taken_for_a_template() {
        assert_eq!(fill("{a}-{b}-{c}{", &[("a", "{b}"), ("b", "x{a}")]), "{b}-x{a}-{c}{");
    }
}
