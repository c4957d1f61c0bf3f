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
from .words import Decision

VERSION = 1
"""The version of what a helper saves. A helper refuses any other one with `Invalid`, so the round is parked."""

Box = Union[Mailbox, AsyncMailbox, None]


def permission(call_id: str, name: str, arguments: Any) -> Part:
    """Returns the part of a question that shows a call whole and asks whether it may be made. Arguments with names may be changed."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, indent=2, default=str)
    shown = "\n".join("    " + line for line in text.split("\n"))
    named = arguments if isinstance(arguments, Mapping) and arguments else None
    how = "\n\nTo change it, answer with the changed arguments as a JSON object." if named else ""
    part = {"id": call_id, "question": f"Allow {name}?\n\n{shown}{how}", "type": "choice", "options": ["allow", "deny"]}
    return {**part, "free_text": named is not None, "call": [name, named]}  # type: ignore[typeddict-item,typeddict-unknown-key,return-value]


@dataclass(frozen=True)
class Saved:
    """The state of a helper while a person is awaited."""

    by: Optional[str]
    """The id of the round in whose run it was saved. None outside of a run."""
    question: Question
    state: Any
    calls: Mapping[str, Any]
    """The name and the arguments of each call that `permission` has shown, by its id."""


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
            self.decisions = _decisions(saved, run.answer)
            for decision in self.decisions.values():
                if decision.unclear is not None:
                    yield from self.ask_again(saved, decision.unclear)
            return saved
        # This state was saved on the way to a question: by an earlier attempt of this round, or by a program outside of a run.
        found = yield from self._operations.round(self.workflow_id, None)
        # The round of this run asks the same, if its answer was unclear and is asked about again.
        if found is not None and _asks(found, saved) and (run is None or found.question_id != run.question_id):
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
        return Saved(found.get("by"), found["question"], found["state"], found.get("calls") or {})

    def ask(self, parts: List[Part], state: Any) -> Steps[NoReturn]:
        """Saves the state durably, posts the question, and raises `Waiting`. `parts` are the calls, by their own ids."""
        question: Question = {"workflow_id": self.workflow_id}
        calls = {part["id"]: part["call"] for part in parts if "call" in part}  # type: ignore[typeddict-item]
        parts = [{name: value for name, value in part.items() if name != "call"} for part in parts]  # type: ignore[misc]
        if len(parts) == 1:
            question.update({name: value for name, value in parts[0].items() if name not in ("id", "header")})  # type: ignore[typeddict-item]
        else:
            question["questions"] = parts
        question["sdk"] = {"name": self.sdk, "calls": [part["id"] for part in parts]}  # type: ignore[typeddict-unknown-key]
        yield from self._ask(question, state, calls)

    def ask_again(self, saved: Saved, why: str) -> Steps[NoReturn]:
        """Asks the same question once more, because its answer decides nothing. No call of it is marked yet."""
        question: Question = {**saved.question, "context": f"Your last answer was not used, and nothing was done: {why}."}
        yield from self._ask(question, saved.state, saved.calls)

    def _ask(self, question: Question, state: Any, calls: Mapping[str, Any]) -> Steps[NoReturn]:
        by = self.run.question_id if self.run else None
        try:
            checkpoint = dict((yield from self._operations.get_checkpoint(self.workflow_id, None)))
        except NotFound:
            checkpoint = {"current_step": "a person is awaited"}
        variables = dict(checkpoint.get("state_variables") or {})
        variables[self.sdk] = {"v": VERSION, "by": by, "question": question, "state": state, "calls": calls}
        yield from self._operations.save_checkpoint(self.workflow_id, {**checkpoint, "state_variables": variables})
        yield from self._post(question)
        raise self._waiting()

    def why_not(self, call_id: str) -> Steps[Optional[str]]:
        """Returns None if the call may be made now, and marks it by then. Otherwise returns the words for the model."""
        decision = self.decisions[call_id]
        if decision.refusal is not None:
            return decision.refusal
        first = yield from self.once(call_id)
        return None if first else decision.maybe

    def once(self, call_id: str) -> Steps[bool]:
        return (yield from self._operations.once(f"{self.sdk} {call_id}"))

    def _post(self, question: Question) -> Steps[Round]:
        return (yield from self._operations.post(question, {}, False, ()))

    def _waiting(self) -> Waiting:
        return Waiting(f"a person is awaited: {self.workflow_id}", f"exit with status 6; the person answers with ask-answer {self.workflow_id}")


def _asks(found: Round, saved: Saved) -> bool:
    """Whether a round asks exactly the question that was saved."""
    return all(found.document.get(name) == saved.question.get(name) for name in ("sdk", "question", "questions"))


def _decisions(saved: Saved, answer: Answer) -> Dict[str, Decision]:
    ids = saved.question["sdk"]["calls"]  # type: ignore[typeddict-item]
    values = (answer.value or {}) if saved.question.get("questions") else {ids[0]: answer.value}
    return {one: Decision(values.get(one), answer.note, answer.asks_back, *saved.calls.get(one, ())) for one in ids}
