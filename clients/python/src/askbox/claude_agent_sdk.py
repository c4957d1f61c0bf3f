"""The helper for the Claude Agent SDK: tool calls and AskUserQuestion of a session await a person.

    result = await askbox.claude_agent_sdk.run("Delete the old backups", "backups-7", ask="Bash|AskUserQuestion")
"""

from __future__ import annotations

import asyncio
import glob
import os
import uuid
from dataclasses import replace
from typing import Any, AsyncIterator, Callable, Dict, List, Optional, Set

from claude_agent_sdk import (
    ClaudeAgentOptions,
    HookMatcher,
    Message,
    PermissionResultDeny,
    ResultMessage,
    SystemMessage,
    get_session_messages,
    query,
)

from .documents import Part
from .errors import Conflict, Failed, Invalid, Usage
from .hosts import Box, Host, Saved, permission
from .programs import run_async
from .words import waits_behind

__all__ = ["run", "session_of"]

_SESSIONS = uuid.UUID("8f1f5b0e-6d0a-5f0e-9d3c-2a6f0c1b7e44")
_ASK_USER = "AskUserQuestion"
_LOOK_EVERY = 1.0
"""Seconds between two looks whether another process makes the open call of a session."""


def session_of(workflow_id: str, begun: int = 0) -> str:
    """Returns the id of a workflow's session. It follows from the workflow alone, so a crash cannot lose it."""
    return str(uuid.uuid5(_SESSIONS, f"{workflow_id}/{begun}"))


async def run(
    prompt: str,
    workflow_id: str,
    *,
    ask: str = f"Bash|{_ASK_USER}",
    options: Optional[ClaudeAgentOptions] = None,
    on_message: Optional[Callable[[Message], Any]] = None,
    box: Box = None,
) -> ResultMessage:
    """Runs the session until its turn ends, and returns the result. Raises `Waiting` if a call awaits a person.

    `ask` matches the names of the tools that a person must allow, as in a hook of Claude Code. Calls of other tools go by `options`; one
    that no rule permits is refused. In the run that has the answer, the call that was deferred is made, and `prompt` is not used.
    """
    given = options or ClaudeAgentOptions()
    if given.session_store is not None:
        raise Usage("session_store: the helper reads the transcripts of this machine", "leave session_store out")
    host = Host("claude_agent_sdk", workflow_id, box)
    saved = await run_async(host.go_on())
    folder = os.fspath(given.cwd) if given.cwd else os.getcwd()
    before = saved or await run_async(host.saved())
    begun = before.state["begun"] if before else 0
    session = session_of(workflow_id, begun)
    waiting = _open_calls(session, folder)
    if saved is None and before is not None and waiting and waiting & _calls(before):
        # The question was withdrawn or expired, and its call is still open there: this prompt needs a session of its own.
        session, begun = session_of(workflow_id, begun + 1), begun + 1
        waiting = _open_calls(session, folder)
    if saved is not None and waiting is None:
        raise Invalid(
            f"the session {session} of {workflow_id} is not there",
            f"start the program in the folder where it began, with the same CLAUDE_CONFIG_DIR: not in {folder}",
        )
    turn = _Turn(host, given, ask, on_message)
    # A session that is resumed without a message goes on with its open call. Without such a call, it would never end.
    is_new = host.run is None or host.run.attempt == 1
    text = None if waiting else prompt if saved is None and (waiting is None or is_new) else "Continue."
    last = await turn.take(session, text, folder, resume=waiting is not None)
    if last.deferred_tool_use is not None:
        call = last.deferred_tool_use
        _sync(session)
        await run_async(host.ask(_parts(call.id, call.name, call.input), {"begun": begun, "session": session}))
    return last


class _Turn:
    """One turn of a session, with the hook that defers calls and decides those that were answered."""

    def __init__(self, host: Host, given: ClaudeAgentOptions, ask: str, on_message: Optional[Callable[[Message], Any]]) -> None:
        self.host = host
        self.on_message = on_message
        self.failure: Optional[BaseException] = None
        self.has_begun = False
        self.deferred: Optional[Part] = None
        hooks = dict(given.hooks or {})
        hooks["PreToolUse"] = [HookMatcher(matcher=ask, hooks=[self._hook]), *hooks.get("PreToolUse", [])]
        # A background task would end with this process, and nothing would go on with its question.
        env = {"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1", **given.env}
        # AskUserQuestion is offered only to a host with this callback.
        self.options = replace(given, hooks=hooks, can_use_tool=given.can_use_tool or _refuse, env=env)

    async def take(self, session: str, text: Optional[str], folder: str, *, resume: bool) -> ResultMessage:
        if text is not None:
            return await self._take(session, text, resume=resume)
        task = asyncio.current_task()
        look = asyncio.ensure_future(self._look_for_another(session, folder, task.cancel if task else lambda: None))
        try:
            return await self._take(session, None, resume=resume)
        except asyncio.CancelledError:
            if not isinstance(self.failure, Conflict):
                raise
            if task is not None and hasattr(task, "uncancel"):
                task.uncancel()
            raise self.failure from None
        finally:
            look.cancel()

    async def _look_for_another(self, session: str, folder: str, stop: Callable[[], Any]) -> None:
        """Stops the turn if another process has made the open call. This session then has nothing to go on with, and would never end."""
        while not self.has_begun:
            await asyncio.sleep(_LOOK_EVERY)
            if not self.has_begun and not _open_calls(session, folder):
                workflow = self.host.workflow_id
                self.failure = Conflict(
                    f"another process goes on with the session of {workflow}", f"see what became of it: relaunch status {workflow}"
                )
                stop()
                return

    async def _take(self, session: str, text: Optional[str], *, resume: bool) -> ResultMessage:
        over = asyncio.Event()

        async def messages() -> AsyncIterator[Dict[str, Any]]:
            if text is not None:
                yield {"type": "user", "message": {"role": "user", "content": text}}
            # The replies of the hook go through the same pipe. An early end of it would refuse the call in the person's name.
            await over.wait()

        which = replace(self.options, resume=session if resume else None, session_id=None if resume else session)
        last: Optional[ResultMessage] = None
        async for message in query(prompt=messages(), options=which):
            self.has_begun = self.has_begun or not isinstance(message, SystemMessage)
            if self.on_message is not None:
                self.on_message(message)
            if isinstance(message, ResultMessage):
                last = message
                over.set()
        if self.failure is not None:
            raise self.failure
        if last is None:
            raise Failed("claude ended without a result", "see its standard error")
        return last

    async def _hook(self, call: Any, call_id: Optional[str], _: Any) -> Any:
        self.has_begun = True
        try:
            return await self._decide(call, call_id or "")
        except BaseException as error:
            # The SDK would only tell the session that its hook has failed.
            self.failure = error
            return {"continue_": False, **_decision("deny", "askbox failed")}

    async def _decide(self, call: Any, call_id: str) -> Any:
        if call.get("agent_id"):
            return _decision("deny", "A subagent cannot wait for a person. Return your question to your caller.")
        parts = _parts(call_id, call["tool_name"], call["tool_input"])
        decisions = [self.host.decisions.get(part["id"]) for part in parts]
        first = decisions[0]
        if first is None:
            return self._defer(parts[0])
        beside = {"additionalContext": first.beside} if first.beside else {}
        if call["tool_name"] != _ASK_USER:
            why_not = await run_async(self.host.why_not(call_id))
            changed = {"updatedInput": first.changed} if first.changed else {}
            return _decision("allow", **changed, **beside) if why_not is None else _decision("deny", why_not)
        if first.no_answer is not None:
            return _decision("deny", first.no_answer)
        values = [one.value for one in decisions if one]
        texts = [", ".join(value) if isinstance(value, list) else value for value in values]
        answers = dict(zip((asked["question"] for asked in call["tool_input"]["questions"]), texts))
        return _decision("allow", updatedInput={**call["tool_input"], "answers": answers}, **beside)

    def _defer(self, part: Part) -> Any:
        """The SDK tells of one deferred call. The others of its message would have no result and no question."""
        if self.deferred is None or self.deferred["id"] == part["id"]:
            self.deferred = part
            return _decision("defer")
        return _decision("deny", waits_behind(self.deferred["question"].split("\n")[0][:80]))


def _decision(decision: str, why: str = "", **more: Any) -> Dict[str, Any]:
    reason = {"permissionDecisionReason": why} if why else {}
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": decision, **reason, **more}}


async def _refuse(_tool: str, _input: Any, _context: Any) -> PermissionResultDeny:
    return PermissionResultDeny(message="No rule permits this call.")


def _ids(call_id: str, given: Dict[str, Any]) -> List[str]:
    """Returns the ids of the parts: the call's own id, and the number of the question if there are several."""
    count = len(given["questions"])
    return [call_id] if count == 1 else [f"{call_id}/{n + 1}" for n in range(count)]


def _parts(call_id: str, name: str, given: Dict[str, Any]) -> List[Part]:
    if name != _ASK_USER:
        return [permission(call_id, name, given)]
    return [_part(one, asked) for one, asked in zip(_ids(call_id, given), given["questions"])]


def _part(part_id: str, asked: Dict[str, Any]) -> Part:
    options = [{name: one[name] for name in ("label", "description", "preview") if one.get(name)} for one in asked["options"]]
    kind = "multi_choice" if asked.get("multiSelect") else "choice"
    header = {"header": asked["header"]} if asked.get("header") else {}
    return {"id": part_id, "question": asked["question"], "type": kind, "options": options, **header}  # type: ignore[typeddict-item]


def _open_calls(session: str, folder: str) -> Optional[Set[str]]:
    """Returns the calls of a session that have no result. None if there is no such session."""
    messages = get_session_messages(session, directory=folder)
    if not messages:
        return None
    contents = [message.message.get("content") for message in messages if isinstance(message.message, dict)]
    blocks = [block for content in contents if isinstance(content, list) for block in content if isinstance(block, dict)]
    made = {block["id"] for block in blocks if block.get("type") == "tool_use"}
    return made - {block["tool_use_id"] for block in blocks if block.get("type") == "tool_result"}


def _calls(saved: Saved) -> Set[str]:
    return {part.split("/")[0] for part in saved.question["sdk"]["calls"]}  # type: ignore[typeddict-item]


def _sync(session: str) -> None:
    """Brings the transcript to the disk before the question is posted: without it, the answer would have no call."""
    config = os.environ.get("CLAUDE_CONFIG_DIR") or os.path.expanduser("~/.claude")
    for path in glob.glob(os.path.join(glob.escape(config), "projects", "*", f"{session}.jsonl")):
        for one in (path, os.path.dirname(path)):
            fd = os.open(one, os.O_RDONLY)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)
