"""The types: a question, its round, its answer, and the run of a program."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, TypedDict, Union

__all__ = ["Value", "Option", "Range", "Part", "Trace", "Question", "Answer", "Round", "Run"]

Value = Union[str, List[str], Dict[str, Any]]
"""An answer: text, a list (`multi_choice`), or an object by the id of each part (a batch)."""


class Option(TypedDict, total=False):
    label: str
    description: str
    preview: str


class Range(TypedDict, total=False):
    min: float
    max: float
    step: float
    unit: str


Options = Union[Mapping[str, Optional[str]], List[Union[str, Option]]]


class Part(TypedDict, total=False):
    """One question of a batch."""

    id: str
    question: str
    header: str
    type: str
    multiSelect: bool
    options: Options
    free_text: bool
    range: Range


class Trace(TypedDict, total=False):
    """The place in a trace, by W3C Trace Context. If it is missing: that of `TRACEPARENT` and `TRACESTATE`."""

    traceparent: str
    tracestate: str


class Question(TypedDict, total=False):
    """A question as it is posted. `docs/dev/protocol.md` describes each field. Other fields are kept."""

    workflow_id: str
    question: str
    options: Options
    type: str
    free_text: bool
    range: Range
    questions: List[Part]
    context: str
    checkpoint: str
    asked_by: str
    expires_at: str
    on_expiry: str
    default: Any
    remind_every: str
    priority: int
    until: Dict[str, str]
    session_id: str
    cwd: str
    parent: str
    trace: Trace
    in_reply_to: str


@dataclass(frozen=True)
class Answer:
    """The answer of a round. Texts are as the person wrote them: escape control characters before you print them."""

    outcome: str
    """`answered` or `declined`."""
    value: Optional[Value] = None
    """The value in its final form; None if the person declined."""
    by: Optional[str] = None
    note: Optional[str] = None
    """Words beside the value, the reason of a refusal, or the question that the person asks back."""
    asks_back: bool = False
    """True if the person asks something before they decide: ask again, and say more."""
    channel: Optional[str] = None
    through: Optional[str] = None
    at: Optional[str] = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    """All fields of the answer, also those that this version does not know."""

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Optional[Answer]:
        """Returns the complete answer of a document. None if there is none, or only a draft made by hand."""
        a = document.get("answer")
        if not isinstance(a, Mapping) or not a.get("at") or not a.get("question_hash"):
            return None
        names = ("value", "by", "note", "channel", "through", "at")
        asks_back = a.get("asks_back") is True
        return cls(outcome=a.get("outcome") or "answered", asks_back=asks_back, fields=dict(a), **{name: a.get(name) for name in names})


@dataclass(frozen=True)
class Round:
    """One question of a workflow and what became of it."""

    workflow_id: str
    question_id: str
    folder: str
    """`pending`, `answered`, `running`, `parked` or `closed`: the folder that the document lies in."""
    document: Mapping[str, Any]
    repeated: bool = False
    """True if a post found that this very question already waited."""

    @property
    def state(self) -> str:
        """The state as `relaunch status --json` says it, as far as the document shows it.

        `pending`, `waiting`, `answered`, `running`, `parked`, `delivered`, `withdrawn`, `expired`, `superseded` or `dropped`.
        """
        if self.folder == "pending" and self.document.get("until"):
            return "waiting"
        closed = self.document.get("closed")
        return str(closed.get("state")) if self.folder == "closed" and isinstance(closed, Mapping) else self.folder

    @property
    def answer(self) -> Optional[Answer]:
        return Answer.of(self.document)

    @property
    def value(self) -> Optional[Value]:
        """The value of the answer; None while there is none, and if the person declined."""
        answer = self.answer
        return answer.value if answer else None

    @property
    def outcome(self) -> Optional[str]:
        """None while a person is awaited; then `answered`, `declined`, `withdrawn`, `expired`, `superseded` or `dropped`."""
        answer = self.answer
        if answer:
            return answer.outcome
        return self.state if self.folder == "closed" else None


@dataclass(frozen=True)
class Run:
    """The run that a runner has started: the claimed round, and what is known of earlier attempts."""

    workflow_id: str
    question_id: str
    attempt: int
    """The number of this attempt in the round, from 1."""
    why: str
    """`answer`, `task` (the workflow begins) or `children` (workflows that it has started have ended)."""
    round: Round
    checkpoint: Optional[Dict[str, Any]] = None
    earlier: Optional[Dict[str, Any]] = None
    """The end of the attempt before this one: `attempt`, `why`, `exit` or `signal`, as far as they are known."""
    once: List[str] = field(default_factory=list)
    """The calls that were marked with `once` in this round. Each may have been made."""

    @property
    def answer(self) -> Optional[Answer]:
        return self.round.answer

    @property
    def value(self) -> Optional[Value]:
        return self.round.value
