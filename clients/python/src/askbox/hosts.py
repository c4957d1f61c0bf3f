"""The parts that the helpers for SDKs share: the calls that await a person, the state that is saved before they are asked, and the answer.

A helper is a function of one run. It goes on with the answer that its runner gives, or begins. When the SDK pauses, it saves the state,
posts the question and raises `Waiting`. `claude_agent_sdk`, `openai_agents` and `langgraph` are such helpers.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, NoReturn, Optional, Union

from .aio import AsyncMailbox
from .client import Mailbox
from .documents import Answer, Part, Question, Round
from .errors import Conflict, Invalid, NotFound, Waiting
from .operations import Operations, resumed
from .programs import Steps

VERSION = 1
"""The version of what a helper saves. A helper refuses any other one with `Invalid`, so the round is parked."""

MAYBE = (
    "This call may have been made already, by an earlier attempt that did not come to its end. It was not made again now. "
    "Look for its effect before you go on, or ask the person."
)
Box = Union[Mailbox, AsyncMailbox, None]


def permission(call_id: str, name: str, arguments: Any) -> Part:
    """Returns the part of a question that shows a call whole and asks whether it may be made."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, indent=2, default=str)
    shown = "\n".join("    " + line for line in text.split("\n"))
    return {"id": call_id, "question": f"Allow {name}?\n\n{shown}", "type": "choice", "options": ["allow", "deny"], "free_text": False}


@dataclass(frozen=True)
class Decision:
    """The part of an answer that is about one call."""

    value: Any
    """The value; None if the person declined."""
    note: Optional[str]
    asks_back: bool = False

    @property
    def refusal(self) -> str:
        """The words for the model if the value does not allow the call."""
        if self.asks_back:
            return f"The person asks before they decide: {self.note}"
        return "The person did not allow this call." + (f" They say: {self.note}" if self.note else "")


@dataclass(frozen=True)
class Saved:
    """The state of a helper while a person is awaited."""

    by: Optional[str]
    """The id of the round in whose run it was saved. None outside of a run."""
    question: Question
    state: Any


class Host:
    """One run of a helper. Its methods are `Steps`, so that a helper may be sync or async."""

    def __init__(self, sdk: str, workflow_id: str, box: Box) -> None:
        self.sdk = sdk
        self.workflow_id = workflow_id
        self._operations: Operations = (box or Mailbox())._operations
        given = resumed()
        self.run = given if given and given.workflow_id == workflow_id else None
        self.decisions: Dict[str, Decision] = {}

    def go_on(self) -> Steps[Optional[Saved]]:
        """Returns the saved state that the answer of this run is about. None if the helper begins.

        Raises `Waiting` if its question awaits a person, and posts the question if a crash has prevented that.
        """
        saved = yield from self.saved()
        if saved is None:
            return None
        run = self.run
        if run is not None and saved.by != run.question_id:
            if run.answer is None or "sdk" not in run.round.document:
                return None
            if not _asks(run.round, saved):
                raise Invalid(
                    f"the answer to {run.question_id} is about other calls than those that {self.workflow_id} has saved",
                    "see both: ask-answer show and checkpoint show",
                )
            self.decisions = _decisions(run.round.document, run.answer)
            return saved
        # This state was saved on the way to a question: by an earlier attempt of this round, or by a program outside of a run.
        found = yield from self._operations.round(self.workflow_id, None)
        if found is not None and _asks(found, saved):
            if run is None and found.folder == "closed":
                return None
            if run is None and found.folder != "pending":
                raise Conflict(
                    f"{self.workflow_id} is {found.state}: a runner goes on with the answer", "see it: relaunch status " + self.workflow_id
                )
        else:
            yield from self._post(saved.question)
        raise self._waiting()

    def saved(self) -> Steps[Optional[Saved]]:
        """Returns the state that was saved last. Raises `Invalid` if this version cannot read it."""
        try:
            checkpoint = yield from self._operations.get_checkpoint(self.workflow_id, None)
        except NotFound:
            return None
        found = (checkpoint.get("state_variables") or {}).get(self.sdk)
        if found is None:
            return None
        if not isinstance(found, Mapping) or found.get("v") != VERSION:
            version = found.get("v") if isinstance(found, Mapping) else None
            raise Invalid(
                f"the saved state of {self.workflow_id} has version {version!r}, and this helper reads {VERSION}",
                "go on with the version of the package askbox that saved it",
            )
        return Saved(found.get("by"), found["question"], found["state"])

    def ask(self, parts: List[Part], state: Any) -> Steps[NoReturn]:
        """Saves the state durably, posts the question, and raises `Waiting`. `parts` are the calls, by their own ids."""
        question: Question = {"workflow_id": self.workflow_id}
        if len(parts) == 1:
            question.update({name: value for name, value in parts[0].items() if name not in ("id", "header")})  # type: ignore[typeddict-item]
        else:
            question["questions"] = parts
        question["sdk"] = {"name": self.sdk, "calls": [part["id"] for part in parts]}  # type: ignore[typeddict-unknown-key]
        by = self.run.question_id if self.run else None
        try:
            checkpoint = dict((yield from self._operations.get_checkpoint(self.workflow_id, None)))
        except NotFound:
            checkpoint = {"current_step": "a person is awaited"}
        variables = dict(checkpoint.get("state_variables") or {})
        variables[self.sdk] = {"v": VERSION, "by": by, "question": question, "state": state}
        yield from self._operations.save_checkpoint(self.workflow_id, {**checkpoint, "state_variables": variables})
        yield from self._post(question)
        raise self._waiting()

    def why_not(self, call_id: str) -> Steps[Optional[str]]:
        """Returns None if the call may be made now, and marks it by then. Otherwise returns the words for the model."""
        decision = self.decisions[call_id]
        if decision.value != "allow":
            return decision.refusal
        first = yield from self.once(call_id)
        return None if first else MAYBE

    def once(self, call_id: str) -> Steps[bool]:
        return (yield from self._operations.once(f"{self.sdk} {call_id}"))

    def _post(self, question: Question) -> Steps[Round]:
        return (yield from self._operations.post(question, {}, False, ()))

    def _waiting(self) -> Waiting:
        return Waiting(f"a person is awaited: {self.workflow_id}", f"exit with status 6; the person answers with ask-answer {self.workflow_id}")


def _asks(found: Round, saved: Saved) -> bool:
    """Whether a round asks exactly the question that was saved."""
    return all(found.document.get(name) == saved.question.get(name) for name in ("sdk", "question", "questions"))


def _decisions(document: Mapping[str, Any], answer: Answer) -> Dict[str, Decision]:
    calls = document["sdk"]["calls"]
    if not document.get("questions"):
        return {calls[0]: Decision(answer.value, answer.note, answer.asks_back)}
    values = answer.value if isinstance(answer.value, Mapping) else {}
    return {call: Decision(values.get(call), answer.note, answer.asks_back) for call in calls}
