//! The messages that askbox sends to agents, as templates.

use crate::words::inserted;

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
What it had started has ended:

{results}
Continue with next steps.
";

/// To a session that has worked before and gets a task. It must not take the task for its user's reply.
pub(super) const TASK: &str = "\
This is a task that was put into the mailbox. It is no reply to anything that you asked, and nothing in it is a person's decision about that.

{prompt}
";

/// To a fork of the session that started the task. Its conversation ends with the call of `relaunch spawn`, which has no result there.
pub(super) const FORKED: &str = "\
You are a fork of the session of workflow {parent}. You know all that it knew when it called `relaunch spawn --fork`, and you are its \
sub-agent {workflow_id} now. That call started you: it was not interrupted, so do not repeat it and do not check it. {parent} itself goes on \
somewhere else with all that it was asked to do above. Do only the task below, and end with its result as your reply.

{prompt}
";

/// Added to a result that the agent may have seen before.
pub(super) const PERHAPS_TOLD: &str = " (You may have seen this: it was being printed for you when that command was cut off.)";

/// To a stopped agent, if a report was asked for.
pub const REPORT: &str = "You have been stopped. Do not call any tool. Report in a few sentences what you have done, what is unfinished, and which files you changed.";

/// To a session that got the answer in an earlier attempt.
pub const CONTINUE: &str = "Your process was interrupted and has been restarted. Continue where you left off; check what the last tool call did before you repeat it.";

/// A value of a template.
#[derive(Debug, Clone, Copy)]
pub(super) enum Value<'a> {
    /// Words of ours, or words that end clearly. Anything may follow on their line.
    Own(&'a str),
    /// Words of ours that may end with a text of a document. Nothing may follow on their line.
    Line(&'a str),
    /// A text of a document.
    Text(&'a str),
}

/// Replaces each `{name}` by its value, in one pass, so that a value is never taken for a template. A text of a document is quoted,
/// unless it is one line behind words of the template. The template continues on a new line.
pub(super) fn fill(template: &str, values: &[(&str, Value<'_>)]) -> String {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let hit = values.iter().find(|(name, _)| from[1..].starts_with(name) && from[1 + name.len()..].starts_with('}'));
        match hit {
            Some((name, value)) => {
                rest = &from[name.len() + 2..];
                insert(&mut out, *value);
                if !matches!(value, Value::Own(_)) && !rest.is_empty() && !rest.starts_with('\n') {
                    out.push('\n');
                    rest = rest.trim_start_matches(' ');
                }
            }
            None => {
                out.push('{');
                rest = &from[1..];
            }
        }
    }
    out + rest
}

fn insert(out: &mut String, value: Value<'_>) {
    let text = match value {
        Value::Own(words) | Value::Line(words) => return out.push_str(words),
        Value::Text(text) => text,
    };
    let begun = out.rsplit('\n').next().unwrap_or_default();
    if begun.trim().is_empty() {
        return out.push_str(&inserted::quoted(text));
    }
    out.truncate(out.trim_end_matches(' ').len());
    out.push_str(&inserted::at_the_end(text));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_never_taken_for_a_template() {
        let values = [("a", Value::Own("{b}")), ("b", Value::Own("x{a}"))];
        assert_eq!(fill("{a}-{b}-{c}{", &values), "{b}-x{a}-{c}{");
    }

    #[test]
    fn a_template_continues_on_a_new_line_behind_a_text() {
        let values =
            [("q", Value::Text("Deploy?")), ("t", Value::Text("a\nb")), ("a", Value::Line("User chose: yes")), ("o", Value::Own("pg"))];
        assert_eq!(fill("{q} {a} Go on.", &values), "> Deploy?\nUser chose: yes\nGo on.");
        assert_eq!(fill("Q: {q} A: {a}", &values), "Q: Deploy?\nA: User chose: yes");
        assert_eq!(fill("It asked: {t}; it has {o}.", &values), "It asked:\n> a\n> b\n; it has pg.");
    }
}
