//! What the demo's agent says and does. The commands are what an agent would type, word for word.

/// The demo's workflow.
pub const WORKFLOW: &str = "docs-42";
/// The document that the agent works on.
pub const GUIDE: &str = "# Guide\n\n## Errors\n\nA failed request is reported in the log.\n";
/// What the user asked of the agent.
pub const TASK: &str = "Add a section on retries to guide.md.";
/// What `--auto` answers.
pub const AUTO: &str = "merge";

/// One step of the agent.
#[derive(Debug, Clone, Copy)]
pub enum Step {
    /// It says something.
    Say(&'static str),
    /// It calls its shell.
    Bash(&'static str),
}

/// The script for a prompt: a resumed workflow goes on, anything else begins.
#[must_use]
pub fn for_prompt(prompt: &str) -> &'static [Step] {
    if prompt.starts_with("Resume workflow from checkpoint at ") { &GO_ON } else { &BEGIN }
}

const BEGIN: [Step; 5] = [
    Step::Bash(
        "cp guide.md guide.md.bak
printf '## Retries\\n\\nA failed request is tried again, three times at most.\\n' > proposed.md",
    ),
    Step::Say("The draft is in proposed.md. It overlaps with an existing section. The user must decide, and I cannot ask them directly."),
    Step::Bash(
        "checkpoint save docs-42 --step review --completed draft --completed backup --pending apply \\
  --file-ref guide=guide.md --file-ref backup=guide.md.bak --file-ref proposed=proposed.md \\
  --context 'The new section Retries overlaps with Errors.' --next-action 'apply the choice to guide.md'",
    ),
    Step::Bash(
        "ask-post 'The new section Retries overlaps with Errors. How should we proceed?' -w docs-42 --asked-by demo-agent \\
  -o merge='Put the retries into Errors' -o separate='Keep two sections' -o link='Two sections, with a cross-reference'",
    ),
    Step::Say("The question is posted and my state is saved, so I exit. No process waits for the answer."),
];

const GO_ON: [Step; 4] = [
    Step::Say("I am a new process. All that I know is the checkpoint and the answer."),
    Step::Bash("checkpoint show docs-42"),
    Step::Bash(
        "eval \"$(checkpoint env docs-42)\"
case \"$USER_ANSWER\" in
  merge) tail -n +3 \"$FILE_PROPOSED\" >> \"$FILE_GUIDE\" ;;
  separate) { echo; cat \"$FILE_PROPOSED\"; } >> \"$FILE_GUIDE\" ;;
  link) { echo 'See Retries.'; echo; cat \"$FILE_PROPOSED\"; echo 'See Errors.'; } >> \"$FILE_GUIDE\" ;;
  '') : ;; # declined: leave the guide alone
  *) { echo; cat \"$FILE_PROPOSED\"; printf '(%s)\\n' \"$USER_ANSWER\"; } >> \"$FILE_GUIDE\" ;;
esac",
    ),
    Step::Bash(
        "checkpoint step docs-42 done
eval \"$(checkpoint env docs-42)\"
echo \"guide.md is ready; the answer was: ${USER_ANSWER:-(declined)}\"",
    ),
];
