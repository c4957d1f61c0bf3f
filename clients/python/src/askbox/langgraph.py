"""The helper for LangGraph: every `interrupt()` of a graph awaits a person, several of them in one question.

    result = askbox.langgraph.invoke(graph, {"topic": "backups"}, "backups-7")

LangGraph runs a node again from its top when it goes on. So everything that stands before `interrupt()` runs again, and what stands
behind it runs again after a crash. `permit()` is an interrupt behind which a call is made at most once.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Dict, Optional

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, Interrupt, interrupt

from .client import Mailbox
from .documents import Part
from .errors import Invalid, Usage
from .hosts import Box, Host, Saved, permission
from .operations import resumed
from .programs import run_async, run_sync

__all__ = ["Permit", "ainvoke", "invoke", "permit"]

_SDK = "langgraph"
_PERMISSION = "askbox_permission"
_FIELDS = ("question", "header", "type", "multiSelect", "options", "free_text", "range")


@dataclass(frozen=True)
class Permit:
    """What a person has said about a call of a node."""

    arguments: Any
    """The arguments to make the call with: those of the node, or those that the person has changed. None if it must not be made."""
    words: str
    """The words for the model: beside the result, or why there is none. Empty if there is nothing to say."""


def permit(name: str, arguments: Any) -> Permit:
    """Asks a person, in a node, whether a call may be made.

    The node makes the call right behind it, once. If LangGraph runs the node again, in a later attempt or for a later interrupt of the
    same node, the call is not allowed again: it may have been made. Arguments can be changed by the person if they have names.
    """
    said = interrupt({_PERMISSION: True, **permission("", name, arguments)})
    if said["why_not"] is not None:
        return Permit(None, str(said["why_not"]))
    run = resumed()
    # LangGraph keeps what a node was told. In the run of a later answer, this is an old permission.
    if run is None or run.question_id != said["round"] or not Mailbox().once(f"{_SDK} {said['call']}"):
        return Permit(None, said["maybe"])
    return Permit(said["changed"] or arguments, said["beside"] or "")


def invoke(graph: Any, input: Any, workflow_id: str, *, config: Optional[Dict[str, Any]] = None, box: Box = None, **options: Any) -> Any:
    """Runs a compiled graph until it ends, and returns its values. Raises `Waiting` if it was interrupted.

    The thread's id is `workflow_id`, and the graph needs a checkpointer that keeps its states on a disk. In the run that has the answers,
    they resume the interrupts that they belong to, and `input` is not used. The value of an interrupt is a text, or a part of a question,
    such as `{"question": "Which port?", "type": "number"}`. The node gets the answer's value, or `{"declined": NOTE}`. `options` go to
    `graph.invoke`.
    """
    host, where = _begin(graph, workflow_id, config, box)
    saved, before = run_sync(host.go_on()), run_sync(host.saved())
    step = _next(host, saved, before, graph.get_state(where), graph.checkpointer.get_tuple(where), input)
    result = graph.invoke(step.input, where, **options) if step.is_taken else graph.get_state(where).values
    interrupts = graph.get_state(where).interrupts
    return run_sync(host.ask([_part(one) for one in interrupts], {})) if interrupts else result


async def ainvoke(
    graph: Any, input: Any, workflow_id: str, *, config: Optional[Dict[str, Any]] = None, box: Box = None, **options: Any
) -> Any:
    """`invoke` for asyncio, and for a checkpointer that is asynchronous."""
    host, where = _begin(graph, workflow_id, config, box)
    saved, before = await run_async(host.go_on()), await run_async(host.saved())
    step = _next(host, saved, before, await graph.aget_state(where), await graph.checkpointer.aget_tuple(where), input)
    result = await graph.ainvoke(step.input, where, **options) if step.is_taken else (await graph.aget_state(where)).values
    interrupts = (await graph.aget_state(where)).interrupts
    return await run_async(host.ask([_part(one) for one in interrupts], {})) if interrupts else result


def _begin(graph: Any, workflow_id: str, config: Optional[Dict[str, Any]], box: Box) -> tuple[Host, Dict[str, Any]]:
    if graph.checkpointer is None or isinstance(graph.checkpointer, InMemorySaver):
        raise Usage("checkpointer: the states of the graph would end with this process", "compile the graph with a SqliteSaver, for example")
    given = config or {}
    return Host(_SDK, workflow_id, box), {**given, "configurable": {**given.get("configurable", {}), "thread_id": workflow_id}}


@dataclass(frozen=True)
class _Step:
    """The input of the graph, unless it has nothing to do now."""

    input: Any = None
    is_taken: bool = True


def _next(host: Host, saved: Optional[Saved], before: Optional[Saved], snapshot: Any, written: Any, given: Any) -> _Step:
    waiting = {one.id: one for one in snapshot.interrupts}
    if saved is None:
        old = set(before.question["sdk"]["calls"]) if before else set()  # type: ignore[typeddict-item]
        if waiting and not waiting.keys() & old:
            # An earlier attempt ended between the interrupt and its question. A new input would give the interrupts new ids.
            return _Step(is_taken=False)
        is_retried = host.run is not None and host.run.attempt > 1 and snapshot.next
        return _Step(None if is_retried else given)
    known = {task.id for task in snapshot.tasks}
    if any(channel == "__interrupt__" and task not in known for task, channel, _ in (written.pending_writes if written else None) or []):
        raise Invalid(
            f"the thread {host.workflow_id} waits in a node that this graph does not have", "go on with the graph that saved the thread"
        )
    parts = saved.question.get("questions")
    asked = [part["question"] for part in parts] if parts else [saved.question["question"]]
    texts = dict(zip(host.decisions, asked))
    answered = {one.id: _told(host, one) for one in waiting.values() if texts.get(one.id) == _part(one)["question"]}
    if answered:
        return _Step(Command(resume=answered))
    # An earlier attempt went on with the answers: to its next interrupt, to its end, or to somewhere between.
    return _Step(is_taken=not waiting and bool(snapshot.next))


def _told(host: Host, one: Interrupt) -> Any:
    """Returns what `interrupt()` returns in the node."""
    decision = host.decisions[one.id]
    if isinstance(one.value, dict) and one.value.get(_PERMISSION):
        said = {"why_not": decision.refusal, "changed": decision.changed, "beside": decision.beside, "maybe": decision.maybe}
        return {**said, "call": one.id, "round": host.run.question_id if host.run else None}
    return decision.value if decision.value is not None else {"declined": decision.note}


def _part(one: Interrupt) -> Part:
    value = one.value
    if isinstance(value, dict) and isinstance(value.get("question"), str):
        fields = (*_FIELDS, "call") if value.get(_PERMISSION) else _FIELDS
        return {"id": one.id, **{name: value[name] for name in fields if name in value}}  # type: ignore[typeddict-item]
    return {"id": one.id, "question": value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2, default=str)}
