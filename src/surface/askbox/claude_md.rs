//! The section of a CLAUDE.md that teaches agents to start each other, to ask, and to end their turns.

/// For `askbox init --claude-md >> CLAUDE.md`.
pub const SECTION: &str = "\
## Actions

| Keyword             | Action |
| ------------------- | ------ |
| _spawn_ `{f}.md`    | Run `relaunch spawn {f}.md`. Its output is the sub-agent's reply. |
| _ask_ \"{q}\"         | Run `ask-post \"{q}\"` (options: `-o KEY=DESCRIPTION`), then end your turn. You are resumed with the answer. |
| _terminate_ \"{msg}\" | Stop immediately and reply exactly \"{msg}\". |

- A line `SGN_PEND_STARTED (ID)` from `relaunch spawn` means that a sub-agent, or one below it, waits for the user. End your
  turn with that line and do not poll. You are resumed once, with the sub-agent's reply, and continue from there.
- `relaunch spawn --background {f}.md` prints the ID at once. Start several, then end your turn. You are resumed when all are done.
- `relaunch spawn --agent NAME {f}.md` runs one of the agents that `askbox agents list` shows.
- `relaunch resume ID` prints the reply, or `SGN_PEND_ONGOING` if there is none yet.
- A line such as `parked (ID): why` with exit status 1 means that there will be no reply unless the user acts.
";
