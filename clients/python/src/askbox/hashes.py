"""The hashes of the protocol: which question was asked, what the person saw, and what they answered."""

from __future__ import annotations

import datetime
import decimal
import hashlib
import json
import re
import uuid
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

__all__ = ["question_hash", "derived_id", "seen", "of_its_machine", "shown", "answer_hash"]

_OID = "6ba7b812-9dad-11d1-80b4-00c04fd430c8"
_SEEN = (
    "question type options free_text range questions workflow_id timestamp asked_by context expires_at on_expiry default until "
    "remind_every priority cwd parent in_reply_to approval elicited_by to_session live attachments"
).split()
_OF_ITS_MACHINE = "checkpoint session_id config_dir asked_in tool_call prompt reads results".split()
_PART = "id question header type multiSelect options free_text range".split()
_LEFT_OUT_IF_EMPTY = ("question", "options", "questions", "multiSelect", "to_session", "attachments")


def question_hash(question: Mapping[str, Any]) -> str:
    """Returns the hash of what is asked: a UUID."""
    parts = _in_order(question, ["questions"]).get("questions", [])
    asked = [question["workflow_id"], question.get("question") or "", question.get("type"), options_in_form(question.get("options")), parts]
    return _uuid5(_OID, _compact([*asked, question.get("timestamp")]))


def derived_id(question: Mapping[str, Any], n: int) -> str:
    """Returns the id of the nth round of a question that has no `question_id`."""
    return _uuid5(question_hash(question), n.to_bytes(4, "big"))


def seen(question: Mapping[str, Any]) -> str:
    """Returns the hash of the fields that a person sees on any machine."""
    return _sha256(_in_order(question, _SEEN))


def of_its_machine(question: Mapping[str, Any]) -> str:
    """Returns the hash of the fields that stay on the machine of the question."""
    return _sha256([question.get(name) or ([] if name in ("reads", "results") else None) for name in _OF_ITS_MACHINE])


def shown(question: Mapping[str, Any]) -> str:
    """Returns the hash of all that is shown of a question. An answer names the one that it decided on."""
    return _sha256([seen(question), of_its_machine(question)])


def answer_hash(question: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
    """Returns the hash of what was answered: a UUID."""
    said = [answer.get("outcome") or "answered", answer.get("value"), answer.get("note")]
    later = ([answer["edited"]] if answer.get("edited") is not None else []) + ([True] if answer.get("always") else [])
    later += ["stops"] if answer.get("stops") else []
    return _uuid5(question_hash(question), _compact(said + later))


def options_in_form(written: Any) -> Any:
    """Returns options as they are hashed: `{key: description}`, or a list if one has a preview."""
    pairs: List[Any] = [{"label": k, "description": v} for k, v in written.items()] if isinstance(written, Mapping) else list(written or [])
    found = [_option({"label": one} if isinstance(one, str) else one) for one in pairs]
    return found if any("preview" in one for one in found) else {one["label"]: one["description"] for one in found}


def _option(written: Mapping[str, Any]) -> Dict[str, Any]:
    key = next((written[name] for name in ("label", "key", "value") if name in written), None)
    form = {"label": key, "description": written.get("description") or ""}
    return {**form, "preview": written["preview"]} if written.get("preview") is not None else form


def _in_order(written: Mapping[str, Any], fields: Sequence[str]) -> Dict[str, Any]:
    """Returns the fields that are there, each in the form in which it is hashed."""
    form: Dict[str, Callable[[Any], Any]] = {
        "options": options_in_form,
        "questions": lambda parts: [_in_order(part, _PART) for part in parts],
        "range": lambda r: {k: r[k] if k == "unit" else float(r[k]) for k in ("min", "max", "step", "unit") if r.get(k) is not None},
        "expires_at": _time,
        "until": lambda u: {"at": _time(u["at"])} if u.get("at") else {"file": u["file"]},
        "default": read_value,
        "remind_every": _whole_units,
        "in_reply_to": lambda i: str(uuid.UUID(i)),
        "attachments": lambda files: [{name: file[name] for name in ("name", "type", "size", "sha256")} for file in files],
    }
    found = {name: form.get(name, lambda value: value)(written[name]) for name in fields if written.get(name) is not None}
    return {k: v for k, v in found.items() if v or k not in _LEFT_OUT_IF_EMPTY}


def read_value(value: Any) -> Any:
    """Returns an answer value as it is read: text, a list of texts, or an object of these by the id of the part."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) and -(2**63) <= value < 2**64:
        return str(value)
    if isinstance(value, (int, float)):
        return _plain(float(value))
    if isinstance(value, (list, tuple)):
        return [read_value(one) for one in value]
    if isinstance(value, Mapping):
        return {key: read_value(one) for key, one in value.items()}
    return value


def _shortest(number: float) -> str:
    """Returns a number in the form of the protocol: with a decimal point or an exponent, in the fewest digits that keep it."""
    if number == 0:
        return "0.0"
    sign, digits, exponent = decimal.Decimal(repr(number)).normalize().as_tuple()
    text = "".join(map(str, digits))
    point = len(text) + int(exponent)
    if 0 < point <= 16:
        written = f"{text[:point].ljust(point, '0')}.{text[point:] or '0'}"
    elif -5 < point <= 0:
        written = f"0.{'0' * -point}{text}"
    else:
        written = f"{text[0]}{'.' if text[1:] else ''}{text[1:]}e{point - 1}"
    return "-" * sign + written


def _plain(number: float) -> str:
    """Returns a number as text without an exponent, and without a fraction that is zero."""
    text = format(decimal.Decimal(repr(number)).normalize(), "f")
    return text if number else "0"


def _time(text: str) -> str:
    """Returns a time as UTC with `Z`, with none, three, six or nine digits of a second's fraction."""
    found = re.fullmatch(r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)", text)
    if not found:
        raise ValueError(f"{text!r} is not a time of RFC 3339")
    day, clock, fraction, zone = found.groups()
    offset = "+00:00" if zone in "Zz" else zone
    at = datetime.datetime.fromisoformat(f"{day}T{clock}{offset}").astimezone(datetime.timezone.utc)
    nanos = (fraction or "").ljust(9, "0")[:9]
    width = next(width for width in (0, 3, 6, 9) if not nanos[width:].strip("0"))
    return at.strftime("%Y-%m-%dT%H:%M:%S") + (f".{nanos[:width]}" if width else "") + "Z"


_NS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9, "d": 86400 * 10**9, "w": 7 * 86400 * 10**9}
_NS["M"], _NS["y"] = 2_630_016 * 10**9, 31_557_600 * 10**9
_WORDS = {"sec": "s", "second": "s", "min": "m", "minute": "m", "hour": "h", "hr": "h", "day": "d", "week": "w", "month": "M", "year": "y"}


def nanoseconds(text: str) -> Optional[int]:
    """Returns the length of a duration such as `90s` or `1h 30m`. None if the text is not one."""
    if not re.fullmatch(r"\s*(?:\d+(?:\.\d+)?\s*[A-Za-z]+\s*)+", text):
        return None
    total = 0
    for number, unit in re.findall(r"(\d+(?:\.\d+)?)\s*([A-Za-z]+)", text):
        of = _NS.get(unit) or _NS.get(_WORDS.get(unit, "")) or _NS.get(_WORDS.get(unit.rstrip("s"), ""))
        if of is None:
            return None
        whole, _, fraction = number.partition(".")
        total += int(whole) * of + (int(fraction) * of // 10 ** len(fraction) if fraction else 0)
    return total


def _whole_units(text: str) -> str:
    left, found = nanoseconds(text), []
    if left is None:
        raise ValueError(f"{text!r} is not a duration such as 4h")
    for unit, of in (("year", _NS["y"]), ("month", _NS["M"]), ("day", _NS["d"])):
        if left >= of:
            found.append(f"{left // of}{unit}{'s' if left // of > 1 else ''}")
        left %= of
    for unit in ("h", "m", "s", "ms", "us", "ns"):
        if left >= _NS[unit]:
            found.append(f"{left // _NS[unit]}{unit}")
        left %= _NS[unit]
    return " ".join(found) or "0s"


def _compact(value: Any) -> bytes:
    return _written(value).encode()


def _written(value: Any) -> str:
    """Returns compact JSON. (`json` would write some numbers in another form than askbox.)"""
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{_written(key)}:{_written(one)}" for key, one in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(_written(one) for one in value) + "]"
    return _shortest(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)


def _sha256(value: Any) -> str:
    return hashlib.sha256(_compact(value)).hexdigest()


def _uuid5(namespace: str, name: bytes) -> str:
    return str(uuid.UUID(bytes=hashlib.sha1(uuid.UUID(namespace).bytes + name).digest()[:16], version=5))
