"""A post without askbox's programs, by the protocol alone: it needs no lock, because a name is taken only once."""

from __future__ import annotations

import datetime
import json
import os
import re
import secrets
import string
import time
import uuid
from typing import Any, Dict, List, Mapping, Optional

from . import hashes
from .documents import Round
from .errors import Conflict, Failed, Invalid, NotFound, Usage
from .reading import LATER, MIB, NEVER_NULL, Bad, Folder, check_question_id, check_workflow_id, is_too_deep, null_field, refuse_unsafe_folder

_TYPES = ("choice", "multi_choice", "yes_no", "text", "number")
_OF_THE_PROGRAMS = ("approval", "tool_call", "elicited_by", "to_session", "continues_in", "prompt", "reads", "results")
_NEED_A_PROGRAM = ("default", "until", "attachments")
_WRITTEN_BY_MOVES = ("answer", "closed", "taken_back", "late_answers")
_TEXTS = ("question", "context", "asked_by", "timestamp", "cwd", "config_dir", "checkpoint")
_TRACEPARENT = re.compile(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
_SAME = ("checkpoint", "context", "until", "attachments")


def post(folder: Folder, question: Mapping[str, Any], make: bool) -> Round:
    """Writes a question as a new file. `make` permits to make a mailbox that does not exist."""
    document = _filled_in(question)
    content = _checked(document)
    workflow_id, question_id = document["workflow_id"], document["question_id"]
    _prepare(folder, make)
    if "question_id" in question and _went_on(folder, workflow_id, question_id):
        raise Conflict(
            f"question_id {question_id} is in use: {workflow_id} has asked that question before",
            "leave question_id out: every post gets a new one",
        )
    if _new_file(folder.below("pending"), f"{workflow_id}.json", content):
        return Round(workflow_id, question_id, "pending", document)
    return _that_waits(folder, document)


def _filled_in(question: Mapping[str, Any]) -> Dict[str, Any]:
    fields = {name: value for name, value in question.items() if value is not None or name in NEVER_NULL}
    workflow_id = (
        fields.get("workflow_id") or os.environ.get("WORKFLOW_ID") or os.environ.get("ASKBOX_WORKFLOW_ID") or f"q-{secrets.token_hex(8)}"
    )
    filled = {"schema_version": 1, **fields, "workflow_id": check_workflow_id(workflow_id)}
    filled["question_id"] = check_question_id(fields["question_id"]) if "question_id" in fields else _uuid7()
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    filled.setdefault("timestamp", now)
    filled.setdefault("cwd", os.getcwd())
    trace = _trace()
    if trace is not None:
        filled.setdefault("trace", trace)
    return filled


def _trace() -> Optional[Dict[str, str]]:
    """Returns the trace that this process belongs to. A malformed one is no trace."""
    parent, state = os.environ.get("TRACEPARENT", ""), os.environ.get("TRACESTATE", "")
    if not _TRACEPARENT.fullmatch(parent):
        return None
    return {"traceparent": parent, "tracestate": state} if 0 < len(state) <= 512 else {"traceparent": parent}


def _uuid7() -> str:
    number = (time.time_ns() // 10**6) << 80 | secrets.randbits(80)
    number = number & ~(0xF << 76) | 7 << 76
    return str(uuid.UUID(int=number & ~(3 << 62) | 2 << 62))


def _checked(document: Dict[str, Any]) -> bytes:
    """Returns the bytes of a document that every reader accepts."""
    for name in (*_OF_THE_PROGRAMS, *_WRITTEN_BY_MOVES):
        if document.get(name):
            raise Invalid(f"{name}: only askbox's own programs write this field", f"leave {name} out")
    for name in _NEED_A_PROGRAM:
        if document.get(name) is not None:
            raise Usage(
                f"{name}: a post with this field needs the program ask-post, which is not on PATH",
                "install askbox, or name its folder: Mailbox(programs=…)",
            )
    null = null_field(document)
    if null:
        raise Invalid(f"{null}: is null", f"leave {null} out")
    if document["schema_version"] != 1:
        raise Invalid("schema_version: this client writes version 1", "leave schema_version out")
    for name in _TEXTS:
        _need(name, document.get(name), str, "a text")
    for name in ("checkpoint", "cwd", "config_dir"):
        if name in document and not os.path.isabs(document[name]):
            raise Invalid(f"{name}: {document[name]!r} is not an absolute path", "use os.path.abspath")
    if "parent" in document:
        check_workflow_id(document["parent"], "parent")
    for name in ("session_id", "in_reply_to"):
        if name in document:
            check_question_id(document[name], name)
    priority = document.get("priority")
    if priority is not None and (isinstance(priority, bool) or not isinstance(priority, int) or not -(2**31) <= priority < 2**31):
        raise Invalid(f"priority: {priority!r} is not an integer of 32 bits", "use a small integer; larger ones come first")
    _check_dates(document)
    parts = document.get("questions", [])
    if not isinstance(parts, list) or len(parts) > 64 or not all(isinstance(part, Mapping) for part in parts):
        raise Invalid("questions: a batch is a list of up to 64 objects", "ask more questions in a later round")
    for number, part in enumerate(parts, 1):
        _check_asked(f"questions.{number}.", part, is_part=True)
    ids = [part.get("id") if part.get("id") is not None else f"q{number}" for number, part in enumerate(parts, 1)]
    if len(set(ids)) != len(ids):
        raise Invalid(
            f"questions: two parts have one id: {', '.join(sorted(one for one in set(ids) if ids.count(one) > 1))}",
            "give each part an id of its own",
        )
    if not parts:
        _check_asked("", document, is_part=False)
    elif document.get("type") is not None:
        _need_type("", document)
    try:
        content = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise Invalid(f"the question is not JSON in UTF-8: {error}", "use texts, numbers, lists and dicts") from error
    if is_too_deep(document):
        raise Invalid("the question is nested deeper than 64 levels", "put it into the context, as text")
    if len(content) > MIB:
        raise Invalid(
            f"the question is {len(content)} bytes long, and {MIB} are the limit", "shorten context; long texts belong into a file"
        )
    return content


def _need(name: str, value: Any, kind: Any, words: str) -> None:
    if value is not None and (not isinstance(value, kind) or isinstance(value, bool) and kind is not bool):
        raise Invalid(f"{name}: {value!r:.80} is not {words}", f"make {name} {words}")


def _need_type(at: str, asked: Mapping[str, Any]) -> None:
    if asked.get("type") is not None and asked["type"] not in _TYPES:
        raise Invalid(f"{at}type: {asked['type']!r:.80} is not a type", f"use one of {', '.join(_TYPES)}")


def _check_dates(document: Mapping[str, Any]) -> None:
    expires, expiry, remind = (document.get(name) for name in ("expires_at", "on_expiry", "remind_every"))
    if expires is not None:
        try:
            hashes.shown({**document, "options": None, "questions": None, "range": None, "remind_every": None})
        except (TypeError, ValueError) as error:
            raise Invalid(f"expires_at: {expires!r:.80} is not a time", "write it as 2026-11-25T08:00:00Z") from error
    if expiry is not None and expiry not in ("keep", "cancel"):
        raise Invalid(f"on_expiry: {expiry!r:.80} is not keep or cancel", "a default needs the program ask-post")
    if expiry == "cancel" and expires is None:
        raise Invalid("on_expiry: cancel needs expires_at", "say when the question expires")
    length = hashes.nanoseconds(remind) if isinstance(remind, str) else None
    if remind is not None and (length is None or not 10**9 <= length <= 3660 * 86400 * 10**9):
        raise Invalid(f"remind_every: {remind!r:.80} is not a duration of a second or more", "write it as 4h")


def _check_asked(at: str, asked: Mapping[str, Any], is_part: bool) -> None:
    """Checks one question."""
    for name, kind, words in (
        ("question", str, "a text"),
        ("free_text", bool, "true or false"),
        ("id", str, "a text"),
        ("header", str, "a text"),
        ("multiSelect", bool, "true or false"),
    ):
        if is_part or name in ("question", "free_text"):
            _need(at + name, asked.get(name), kind, words)
    if not (asked.get("question") or "").strip():
        raise Invalid(f"{at}question: there is no question", "write what the person is to decide")
    _need_type(at, asked)
    keys = _keys(at, asked.get("options"))
    if not keys and (asked.get("type") in ("choice", "multi_choice") or is_part and asked.get("multiSelect")):
        raise Invalid(f"{at}options: a choice needs an option", "add options, or use the type text")
    bounds = asked.get("range")
    _need(at + "range", bounds, Mapping, "an object")
    low, high, step = ((bounds or {}).get(name) for name in ("min", "max", "step"))
    for name, value in (("min", low), ("max", high), ("step", step)):
        _need(f"{at}range.{name}", value, (int, float), "a number")
    _need(f"{at}range.unit", (bounds or {}).get("unit"), str, "a text")
    if step is not None and step <= 0 or low is not None and high is not None and low > high:
        raise Invalid(f"{at}range: step is above 0, and min is not above max", "correct the range")


def _keys(at: str, options: Any) -> List[str]:
    if options is None:
        return []
    if isinstance(options, Mapping):
        for description in options.values():
            _need(f"{at}options", description, str, "a mapping of texts")
        keys = list(options)
    elif isinstance(options, (list, tuple)):
        keys = [one if isinstance(one, str) else _label(at, one) for one in options]
    else:
        raise Invalid(f"{at}options: {options!r:.80} is not options", "use {key: description} or a list of keys")
    if not all(isinstance(key, str) and key.strip() for key in keys):
        raise Invalid(f"{at}options: a key is empty", "give each option a key")
    if len(set(keys)) != len(keys) or len(keys) > 256:
        raise Invalid(f"{at}options: the keys of up to 256 options differ", "give each option a key of its own")
    return keys


def _label(at: str, option: Any) -> Any:
    names = [name for name in ("label", "key", "value") if isinstance(option, Mapping) and name in option]
    if len(names) != 1 or option.get("description", "") is None:
        raise Invalid(f"{at}options: {option!r:.80} is not an option", 'write {"label": …, "description": …}')
    for name in ("description", "preview"):
        _need(f"{at}options.{name}", option.get(name), str, "a text")
    return option[names[0]]


def _prepare(folder: Folder, make: bool) -> None:
    """Makes the folders that are missing, and sees to it that they survive a power cut."""
    if not folder.exists():
        if not make:
            raise NotFound(f"the mailbox {folder.path} is gone", "another program removed it; make a new Mailbox to begin anew")
        _make_folders(folder.path)
    for name in ("pending", "locks"):
        _make_folders(folder.below(name))
    if not os.path.lexists(folder.below("locks", "synced")):
        above, of = folder.path, os.geteuid()
        while True:
            _fsync(above)
            up = os.path.dirname(above)
            # The folder that holds the mailbox is synced whoever owns it, and those above it while they are this user's.
            if up == above or above != folder.path and os.stat(above).st_uid != of:
                break
            above = up
        _new_file(folder.below("locks"), "synced", b"")


def _make_folders(path: str) -> None:
    if not os.path.isdir(path):
        _make_folders(os.path.dirname(path))
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            refuse_unsafe_folder(path)
        except OSError as error:
            raise _failed("make", path, error) from error
        _fsync(os.path.dirname(path))


def _went_on(folder: Folder, workflow_id: str, question_id: str) -> bool:
    found = folder.round(workflow_id, question_id)
    return found is not None and found.folder in LATER


def _new_file(folder: str, name: str, content: bytes) -> bool:
    """Writes a file that must not exist yet. Returns False if it exists. It is on the disk before this returns."""
    temporary = os.path.join(folder, ".tmp" + "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(12)))
    path = os.path.join(folder, name)
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(fd, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.link(temporary, path, follow_symlinks=False)
        except FileExistsError:
            return False
        finally:
            os.unlink(temporary)
    except OSError as error:
        raise _failed("write", path, error) from error
    try:
        _fsync(folder)
    except Failed:
        os.unlink(path)
        raise
    return True


def _fsync(folder: str) -> None:
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
    except OSError as error:
        raise _failed("sync", folder, error) from error


def _failed(verb: str, path: str, error: OSError) -> Failed:
    return Failed(f"cannot {verb} {path}: {error.strerror}", "see the disk: df " + os.path.dirname(path))


def _that_waits(folder: Folder, document: Dict[str, Any]) -> Round:
    """Returns the round whose file has taken the name, if it asks the same question."""
    workflow_id = document["workflow_id"]
    try:
        there = folder.document("pending", workflow_id)
        question_id = folder.id_of(there) if there is not None else ""
    except Bad as error:
        raise Conflict(
            f"pending/{workflow_id}.json {error}", f"read it, and remove it if it is not a question: {folder.below('pending')}"
        ) from error
    if there is None:
        raise Conflict(f"the question of {workflow_id} was settled at this moment", "post again")
    if there.get("schema_version", 1) != 1 or "closed" in there or _went_on(folder, workflow_id, question_id):
        raise Conflict(f"the last question of {workflow_id} is not settled yet", "let one of askbox's programs settle it: ask-answer list")
    if _asked(there) != _asked(document):
        raise Conflict(
            f"{workflow_id} already asks another question: {_one_line(there.get('question'))}",
            "wait for its answer, or replace it with post(…, supersede=True)",
        )
    return Round(workflow_id, question_id, "pending", there, repeated=True)


def _asked(document: Mapping[str, Any]) -> List[Any]:
    form = hashes.options_in_form(document.get("options"))
    # The order of the options counts, and two dicts are equal in any order.
    options = list(form.items()) if isinstance(form, dict) else form
    parts = hashes.question_hash({"workflow_id": "x", "questions": document.get("questions")})
    return [document.get("question") or "", document.get("type"), options, parts, *(document.get(name) for name in _SAME)]


def _one_line(text: Optional[Any]) -> str:
    return re.sub(r"[^ -~\u00a0-\u2027\u2030-\u2065\u2070-\ufffd]", " ", str(text or ""))[:80]
