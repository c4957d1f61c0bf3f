//! The section of a CLAUDE.md that teaches agents to ask, to answer, and to start each other.

/// The section for `askbox init --claude-md >> CLAUDE.md`. The tests let a real agent type its `bash` blocks.
pub const SECTION: &str = "\
## Questions to the user (askbox)

### If you cannot ask the user yourself (a subagent, or a run without a terminal)

Save your state, post the question, say the printed line `QUESTION_POSTED:ID`, and end your turn. Do not wait and do not guess.

```bash
checkpoint save release-1 --step review --completed draft --file-ref notes=notes.md --next-action 'publish or hold back'
ask-post 'Publish the release?' -w release-1 -o publish='Publish it now' -o hold='Wait for another review'
```

`release-1` stands for an ID of your own, one for each line of work. A run that askbox started has its ID already: `checkpoint path` prints a path with the
ID then, and you leave `release-1` and `-w release-1` out. When the user has answered, another process continues the work. It begins by reading the state
and the answer:

```bash
checkpoint show release-1
```

Type these commands in plain or quoted words, as above. `$(…)`, `eval`, variables and JSON in a heredoc need a permission that you may not have. A session that
askbox did not start needs the permissions `Bash(ask-post:*)` and `Bash(checkpoint:*)` for them.

### If you talk to the user (the main agent)

- A subagent that ends with `QUESTION_POSTED:ID` has asked something and is gone. Do not start it again to see whether it still waits.
- `ask-answer list` shows the open questions, `ask-answer show ID` shows one. Ask your user, then run `ask-answer ID ANSWER`. Never answer in the user's place.
- `askbox doctor` says whether a watcher runs. With a watcher, the answer starts the next process by itself; `relaunch status ID` shows it and its result.
- Without a watcher, `relaunch prompt ID` prints the prompt for your own subagent tool, once. Use one of the two ways, never both.
- Nothing wakes your own session. With askbox's plugin, your user's next prompt brings what happened since. Without it, look with `relaunch status ID` when your user asks, or
  before you end.

### Actions (chains of agents)

The actions with `relaunch` need the permissions `Bash(relaunch spawn:*)` and `Bash(relaunch resume:*)`, which no agent has by default.

| Keyword             | Action |
| ------------------- | ------ |
| _spawn_ `{f}.md`    | Run `relaunch spawn {f}.md`. Its output is the sub-agent's reply. |
| _ask_ \"{q}\"         | Run `ask-post '{q}'` (options: `-o KEY=DESCRIPTION`), then end your turn. The work continues with the answer. |
| _terminate_ \"{msg}\" | Stop immediately and reply exactly \"{msg}\". |
| _follow_ 1) … 2) …  | Do the steps one after the other, in this order. |
| _if_ {c}, _then_ {a} | Do {a} only if {c} holds; `_elif_` and `_else_` follow it. |
| _remember_ {fact}   | Save it beyond this session: `checkpoint set ID state_variables.NAME '{fact}'`, or for a first one `checkpoint save --state NAME='{fact}'`. |

- `SGN_UNHANDLED` as your last line means: a message came, and no rule of yours says what to do. Such a line, or another signal while nothing of yours waits, is no
  result: askbox parks your run and tells whoever started you.
- A line `SGN_PEND_STARTED (ID)` from `relaunch spawn` means that a sub-agent, or one below it, waits for the user, or that it needs more time. End
  your turn with that line and do not poll. If askbox started your run, you are resumed once, with the sub-agent's reply, and
  continue from there. If not, nobody resumes you: with askbox's plugin, a prompt after its end tells you that its run finished. `relaunch resume ID` prints the reply.
- `relaunch spawn --background {f}.md` prints the ID at once. Start several, then end your turn. If askbox started your run, you are resumed when all are done.
- `relaunch spawn --agent NAME {f}.md` runs one of the agents that `askbox agents list` shows.
- `relaunch resume ID` prints the reply, or `SGN_PEND_ONGOING` if there is none yet.
- A line such as `parked (ID): why` with exit status 1 means that there will be no reply unless the user acts.
";
