//! The section of a CLAUDE.md that teaches agents to ask, to answer, and to start each other.

/// For `askbox init --claude-md >> CLAUDE.md`. Its `bash` blocks are typed by a real agent in the tests.
pub const SECTION: &str = "\
## Questions to the user (askbox)

### If you cannot ask the user yourself (a subagent, or a run without a terminal)

Save your state, post the question, say the printed line `QUESTION_POSTED:ID`, and end your turn. Do not wait and do not guess.

```bash
checkpoint save release-1 --step review --completed draft --file-ref notes=notes.md --next-action 'publish or hold back'
ask-post 'Publish the release?' -w release-1 -o publish='Publish it now' -o hold='Wait for another review'
```

`release-1` stands for an ID of your own, one for each line of work. In a run that askbox started `$WORKFLOW_ID` is set, and you leave `-w ID` and the
ID of `checkpoint save` out. After the answer a process continues the work: started by `relaunch watch` if it runs, else by the main agent. It begins by reading
the state:

```bash
checkpoint show release-1
checkpoint get release-1 current_step
```

Type the commands as they are here, with plain or quoted words. `$(…)`, `eval`, variables and heredocs need a permission that such a run may not have.

### If you are the main agent and talk to the user

- `ask-answer list` shows the open questions, `ask-answer show ID` shows one. Ask your user; then `ask-answer ID ANSWER`. Never answer in the user's place.
- If `relaunch watch` runs, the answer starts the agent; `relaunch status ID` shows it. If it does not run, `relaunch prompt ID` prints the prompt
  for your own subagent tool, once. Never use both.
- Your own session is not resumed by askbox; look with `relaunch status ID`.

### Actions (chains of agents)

`relaunch spawn` needs the permission `Bash(relaunch spawn:*)`.

| Keyword             | Action |
| ------------------- | ------ |
| _spawn_ `{f}.md`    | Run `relaunch spawn {f}.md`. Its output is the sub-agent's reply. |
| _ask_ \"{q}\"         | Run `ask-post \"{q}\"` (options: `-o KEY=DESCRIPTION`), then end your turn. The work continues with the answer. |
| _terminate_ \"{msg}\" | Stop immediately and reply exactly \"{msg}\". |

- A line `SGN_PEND_STARTED (ID)` from `relaunch spawn` means that a sub-agent, or one below it, waits for the user. End your
  turn with that line and do not poll. In a run that askbox started you are resumed once, with the sub-agent's reply, and continue from there. In any other
  session nobody resumes you: `relaunch resume ID` prints the reply when your user asks for it.
- `relaunch spawn --background {f}.md` prints the ID at once. Start several, then end your turn. In a run that askbox started you are resumed when all are done.
- `relaunch spawn --agent NAME {f}.md` runs one of the agents that `askbox agents list` shows.
- `relaunch resume ID` prints the reply, or `SGN_PEND_ONGOING` if there is none yet.
- A line such as `parked (ID): why` with exit status 1 means that there will be no reply unless the user acts.
";
