"""The decision of a person about a call, and the sentences that tell it to a model. `words.js` says the same, in the same words.

`tests/clients/words.json` holds the two, and the sentences of the programs, together.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Dict, Mapping, Optional

MAYBE = (
    "This call may have been made already, by an earlier attempt that did not come to its end. It was not made again now. "
    "Look for its effect before you go on, or ask the person."
)
_END = r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]"
"""The end of a line, for any reader."""
_HIDDEN = "[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"
"""Characters that are not seen, or that reorder what is seen."""


@dataclass(frozen=True)
class Decision:
    """The part of an answer that is about one call: `arguments` of the tool `name`. Both are None for a question of the model."""

    value: Any
    """The value; None if the person declined."""
    note: Optional[str]
    asks_back: bool = False
    name: Optional[str] = None
    arguments: Optional[Mapping[str, Any]] = None

    @property
    def changed(self) -> Optional[Dict[str, Any]]:
        """The arguments that the person put in place of those of the call. None if they changed nothing."""
        if self.unclear is not None or self.arguments is None or self.value in ("allow", "deny", None):
            return None
        changed = {**self.arguments, **_read(self.value)}
        return None if changed == self.arguments else changed

    @property
    def unclear(self) -> Optional[str]:
        """Why nothing is decided by this value. None if something is."""
        if self.name is None or self.value in ("allow", "deny", None):
            return None
        change = _read(self.value)
        if not change or self.arguments is None:
            return f"the answer about the call of {self.name} is not `allow`, `deny` or the changed arguments as a JSON object"
        other = next((name for name in change if name not in self.arguments), None)
        return None if other is None else f"the call of {self.name} has no argument {_as_json(other)}"

    @property
    def refusal(self) -> Optional[str]:
        """The words for the model in place of the call's result. None if the call is allowed."""
        if self.value not in (None, "deny"):
            return None
        if self.asks_back:
            return _asks_back(
                self.note,
                "This call is not allowed. Find out what they ask, then make the call again and reply in its description, or ask with your own tool.",
            )
        return (
            f"The user refused this call.{self._reason}Do not try to reach the same in another way: go on without it, or end your turn and "
            "say what is missing."
        )

    @property
    def no_answer(self) -> Optional[str]:
        """The words for the model in place of the answer to its own question. None if there is one."""
        if self.value is not None:
            return None
        if self.asks_back:
            return _asks_back(
                self.note, "This is no answer: decide nothing. Find out what they ask, then ask your question again with the reply in it."
            )
        return (
            f"The user declined to answer.{self._reason}Do not guess an answer: go on without it, or end your turn and say what is missing."
        )

    @property
    def beside(self) -> Optional[str]:
        """The words for the model beside the result of the allowed call, or beside the answer to its question."""
        if self.name is None:
            return self._added.lstrip() or None
        name = _within(self.name, ",")
        if self.changed is None:
            return f"Your user allowed this call of {name}, and says:{_at_the_end(self.note)}\nThis allows no other call." if self.note else None
        note = f"\nThey say beside it:{_at_the_end(self.note)}" if self.note else ""
        return (
            f"Your user changed this call of {name} before they allowed it. What was run is not what the call said, but this:"
            f"{_at_the_end(_as_json(self.changed))}\nThe result is that of the changed call.{note}\nThis allows no other call."
        )

    @property
    def instead(self) -> str:
        """The words for the model in place of the result, if the SDK cannot be given the changed call."""
        return (
            "Your call was not made, because your user has changed it, and your program cannot be given a changed call. Make this call "
            f"instead: {_as_json(self.changed)}"
            + self._added
        )

    @property
    def maybe(self) -> str:
        """The words for the model if the allowed call is marked already."""
        return MAYBE + (f" Your user had changed it into this:{_at_the_end(_as_json(self.changed))}" if self.changed else "") + self._added

    @property
    def _added(self) -> str:
        return f"\nThe user added:{_at_the_end(self.note)}" if self.note else ""

    @property
    def _reason(self) -> str:
        return f" They say:{_at_the_end(self.note)}\n" if self.note else " "


def waits_behind(title: str) -> str:
    """Another question waits, so nobody was asked about this call."""
    return (
        f"Your user has not answered an earlier question yet: {_within(title, '.')}. A person has to allow this call too: make it again "
        "once that answer is there."
    )


def _asks_back(asked: Optional[str], then: str) -> str:
    return f"The user asks back before they decide:{_at_the_end(asked or '')}\n{then}"


def _at_the_end(text: str) -> str:
    """A text behind a `label:` of ours, or quoted below it. None of its lines stands where one of ours stands."""
    text = re.sub(f"(?:{_END})\\Z", "", text)
    if not re.search(_END, text):
        return f" {text}"
    return "\n> " + re.sub(_END, lambda end: end[0] + ("> " if end[0].endswith("\n") else "\n> "), text)


def _within(text: str, end: str) -> str:
    """A text inside one of our lines, where `end` follows."""
    is_clear = text and text.strip() == text and not text.startswith('"') and end not in text and not re.search(_END, text)
    return text if is_clear else _as_json(text)


def _as_json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return re.sub(_HIDDEN, lambda c: f"\\u{ord(c[0]):04x}", text)


def _read(text: Any) -> Dict[str, Any]:
    """The JSON object in a text; empty if there is none."""
    try:
        found = json.loads(text, parse_constant=_refuse)
    except (TypeError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _refuse(name: str) -> None:
    raise ValueError(name)
