"""Reading a mailbox. Nothing here writes, takes a lock or follows a link below the mailbox."""

from __future__ import annotations

import json
import os
import re
import stat
import uuid
from typing import Any, Dict, List, Mapping, Optional, Tuple

from . import hashes
from .documents import Round
from .errors import Failed, Invalid

MIB = 1 << 20
LIMITS = {"pending": 4 * MIB, "answered": 32 * MIB, "running": 32 * MIB, "parked": 32 * MIB, "closed": 32 * MIB}
LATER = ("answered", "running", "parked", "closed")
"""The folders behind `pending`, in the order in which a round passes through them."""
FOLDERS = ("pending", *LATER, "quarantine", "checkpoints", "locks", "runs")
_DEEPEST = 64
NEVER_NULL = ("question", "questions", "attachments", "late_answers")
"""The fields of a question that null does not leave out."""
_NESTED = ("options", "range", "questions", "attachments", "until", "approval", "answer", "closed", "late_answers")
"""The fields of a document whose own fields the protocol names."""


def workflow_id_is_valid(name: Any) -> bool:
    return isinstance(name, str) and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}", name) is not None and ".." not in name


def check_workflow_id(name: Any, field: str = "workflow_id") -> str:
    if workflow_id_is_valid(name):
        return str(name)
    raise Invalid(
        f"{field}: {str(name)[:140]!r} is not the id of a workflow",
        "use 1 to 128 of A-Z a-z 0-9 . _ - , starting with a letter or digit, without `..`",
    )


def check_question_id(name: Any, field: str = "question_id") -> str:
    try:
        if isinstance(name, str) and len(name) in (32, 36):
            return str(uuid.UUID(name))
    except ValueError:
        pass
    raise Invalid(f"{field}: {str(name)[:60]!r} is not a UUID", "pass the question_id of a Round")


def default_path() -> str:
    """Returns `$ASKBOX_DIR` if it is not empty, else `~/.claude/questions`."""
    return os.environ.get("ASKBOX_DIR") or os.path.join(os.path.expanduser("~"), ".claude", "questions")


def refuse_unsafe_folder(path: str) -> bool:
    """Returns False if the folder does not exist. Raises if this user must not trust it."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise Failed(f"cannot look at {path}: {error.strerror}", "see the folder: ls -ld " + path) from error
    if stat.S_ISLNK(found.st_mode):
        raise Failed(f"{path} is a symbolic link", "name the folder that it points to, with Mailbox(path) or $ASKBOX_DIR")
    if not stat.S_ISDIR(found.st_mode):
        raise Failed(f"{path} is not a folder", "name another folder, with Mailbox(path) or $ASKBOX_DIR")
    if found.st_uid != os.geteuid():
        raise Failed(f"{path} belongs to another user (uid {found.st_uid})", "name a folder of your own, with Mailbox(path) or $ASKBOX_DIR")
    if found.st_mode & 0o022:
        raise Failed(f"{path} may be written by others (mode {stat.S_IMODE(found.st_mode):04o})", f"chmod go-w {path}")
    return True


class Bad(Exception):
    """A file that no reader uses: not a regular file of this user, too long, or not a valid document."""


def read_file(path: str, limit: int) -> Optional[bytes]:
    """Returns the bytes of a regular file of this user or of root. None if there is no file."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Bad(f"cannot be read: {error.strerror}") from error
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_uid not in (0, os.geteuid()):
            raise Bad("is not a regular file of this user")
        if found.st_size > limit:
            raise Bad(f"is longer than {limit} bytes")
        with os.fdopen(os.dup(fd), "rb") as file:
            content = file.read(limit + 1)
    finally:
        os.close(fd)
    if len(content) > limit:
        raise Bad(f"is longer than {limit} bytes")
    return content


def parse(content: bytes) -> Dict[str, Any]:
    """Returns the object that the bytes hold."""
    try:
        text = content.decode("utf-8-sig")
        found = json.loads(text, parse_constant=_refuse_constant, parse_float=_finite, object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        raise Bad(f"is not JSON in UTF-8: {error}") from error
    if not isinstance(found, dict):
        raise Bad("is not a JSON object")
    if is_too_deep(found):
        raise Bad(f"is nested deeper than {_DEEPEST} levels")
    if isinstance(found, _Twice) or any(_is_twice(found.get(name)) for name in _NESTED):
        raise Bad("has a field twice")
    return found


class _Twice(Dict[str, Any]):
    """An object that had a field twice."""


def _object(fields: List[Tuple[str, Any]]) -> Dict[str, Any]:
    found = dict(fields)
    return found if len(found) == len(fields) else _Twice(found)


def _is_twice(value: Any) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return isinstance(value, _Twice) or any(map(_is_twice, inner))


def null_field(document: Mapping[str, Any]) -> Optional[str]:
    """Returns the name of a field that is null and must not be."""
    parts = document.get("questions")
    places = [(document, NEVER_NULL), (document.get("answer"), ("by", "channel"))]
    places += [(part, ("question", "multiSelect")) for part in parts] if isinstance(parts, list) else []
    names = (name for fields, names in places if isinstance(fields, Mapping) for name in names if fields.get(name, "") is None)
    return next(names, None)


def _refuse_constant(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"the number {digits[:20]} is out of range")
    return number


def is_too_deep(value: Any) -> bool:
    """Whether a value has more levels than a document may have. It is looked at level by level, so depth costs no stack."""
    level, depth = [value], 0
    while level:
        nested = [one for one in level if isinstance(one, (dict, list, tuple))]
        if nested and depth == _DEEPEST:
            return True
        depth += 1
        level = [inner for one in nested for inner in (one.values() if isinstance(one, dict) else one)]
    return False


class Folder:
    """The files of one mailbox."""

    def __init__(self, path: Optional[str] = None) -> None:
        self.path = os.path.abspath(path if path is not None else default_path())

    def exists(self) -> bool:
        """Returns False if there is no mailbox yet. Raises if this user must not trust it or one of its folders."""
        if not refuse_unsafe_folder(self.path):
            return False
        # The list is complete before `any` looks: every folder is checked.
        return any([refuse_unsafe_folder(self.below(name)) for name in FOLDERS])

    def below(self, *names: str) -> str:
        return os.path.join(self.path, *names)

    def document(self, state: str, workflow_id: str, question_id: Optional[str] = None) -> Optional[Dict[str, Any]]:
        """Returns a document. None if there is none. Raises `Bad` if the file is not one of this workflow."""
        name = f"{workflow_id}.json" if state in ("pending", "answered") else f"{workflow_id}.{question_id}.json"
        content = read_file(self.below(state, name), LIMITS[state])
        if content is None:
            return None
        found = parse(content)
        if found.get("workflow_id") != workflow_id:
            raise Bad("is not named for its workflow")
        if null_field(found):
            raise Bad(f"has null as {null_field(found)}")
        return {name: value for name, value in found.items() if value is not None}

    def round_ids(self, workflow_id: str) -> List[str]:
        """Returns the ids of the rounds of a workflow that were claimed or closed."""
        try:
            names = os.listdir(self.below("runs", workflow_id))
        except (FileNotFoundError, NotADirectoryError):
            return []
        return [name for name in names if re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", name)]

    def id_of(self, document: Dict[str, Any]) -> str:
        """Returns the id of a round. A document that was written by hand may have none; then it is derived."""
        written = document.get("question_id")
        if isinstance(written, str):
            try:
                return str(uuid.UUID(written))
            except ValueError as error:
                raise Bad("has a question_id that is not a UUID") from error
        try:
            n = 0
            while True:
                found = hashes.derived_id(document, n)
                if not any(
                    os.path.lexists(self.below(s, f"{document['workflow_id']}.{found}.json")) for s in ("running", "parked", "closed")
                ):
                    return found
                n += 1
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise Bad("is not a valid question") from error

    def round(self, workflow_id: str, question_id: str) -> Optional[Round]:
        """Returns a round of a workflow by its id. None if the mailbox does not know it."""
        # A file may move between two looks. It moves forward, but for an answer that is taken back and a round that is tried again.
        for _ in range(3):
            found = self._in_folder("pending", workflow_id, question_id)
            # A crash may have left a copy of a round that is in a later state.
            later = self._later(workflow_id, question_id)
            if later or (found and "closed" not in found.document):
                return later or found
        return None

    def _later(self, workflow_id: str, question_id: str) -> Optional[Round]:
        return next(filter(None, (self._in_folder(folder, workflow_id, question_id) for folder in LATER)), None)

    def _in_folder(self, folder: str, workflow_id: str, question_id: str) -> Optional[Round]:
        try:
            found = self.document(folder, workflow_id, question_id)
            return Round(workflow_id, question_id, folder, found) if found is not None and self.id_of(found) == question_id else None
        except Bad:
            return None

    def live_round(self, workflow_id: str) -> Optional[Round]:
        """Returns the round of a workflow that is not over yet: the question that waits, else the answer that does."""
        for _ in range(2):
            for state in ("pending", "answered"):
                try:
                    found = self.document(state, workflow_id)
                    if found is not None:
                        live = self.round(workflow_id, self.id_of(found))
                        if live and live.folder != "closed":
                            return live
                except Bad:
                    continue
            for state in ("running", "parked"):
                for question_id in self._ids_in(state, workflow_id):
                    live = self.round(workflow_id, question_id)
                    if live and live.folder != "closed":
                        return live
        return None

    def _ids_in(self, state: str, workflow_id: str) -> List[str]:
        """Returns the rounds of a workflow in `running/` or `parked/`, which stay small."""
        names = self.names(state)
        return [name[len(workflow_id) + 1 : -5] for name in names if name[:-5].rpartition(".")[0] == workflow_id]

    def names(self, state: str) -> List[str]:
        try:
            names = os.listdir(self.below(state))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise Failed(f"cannot list {self.below(state)}: {error.strerror}", "see the folder: ls -ld " + self.below(state)) from error
        return sorted(name for name in names if name.endswith(".json") and not name.startswith("."))

    def newest_closed(self, workflow_id: str) -> Optional[Round]:
        """Returns the round of a workflow that ended last. It reads each of them."""
        rounds = [found for found in (self.round(workflow_id, one) for one in self.round_ids(workflow_id)) if found]
        return max(rounds, key=_ended, default=None)

    def pending(self, known: Dict[str, Tuple[Any, Optional[Round]]]) -> List[Round]:
        """Returns the questions that wait, by priority and then by age. `known` keeps what was read until a file changes."""
        if not self.exists():
            known.clear()
            return []
        found: Dict[str, Tuple[Any, Optional[Round]]] = {}
        for name in self.names("pending"):
            try:
                s = os.lstat(self.below("pending", name))
            except OSError:
                continue
            of = (s.st_ino, s.st_mtime_ns, s.st_ctime_ns, s.st_size)
            before = known.get(name)
            found[name] = before if before and before[0] == of else (of, self._waiting(name[:-5]))
        known.clear()
        known.update(found)
        rounds = [one for _, one in found.values() if one and not self._later(one.workflow_id, one.question_id)]
        return sorted(rounds, key=_by_priority)

    def _waiting(self, workflow_id: str) -> Optional[Round]:
        """Returns the question of a file in `pending/`. None if it is not a question that this version can show."""
        try:
            found = self.document("pending", workflow_id) if workflow_id_is_valid(workflow_id) else None
            if found is None or found.get("schema_version", 1) != 1 or "closed" in found or not is_shaped(found):
                return None
            return Round(workflow_id, self.id_of(found), "pending", found)
        except Bad:
            return None


def is_shaped(document: Dict[str, Any]) -> bool:
    """Whether a document has what a question needs to be shown. The programs check all the rest."""
    parts = document.get("questions") or []
    if not isinstance(parts, list):
        return False
    asked = [part.get("question") if isinstance(part, dict) else None for part in parts] if parts else [document.get("question")]
    return all(isinstance(text, str) and text.strip() for text in asked)


def _ended(found: Round) -> Tuple[bool, str]:
    closed = found.document.get("closed")
    return found.folder != "closed", str(closed.get("at") if isinstance(closed, dict) else "")


def _by_priority(found: Round) -> Tuple[int, str, str]:
    priority = found.document.get("priority")
    age = found.document.get("timestamp")
    return -priority if isinstance(priority, int) else 0, age if isinstance(age, str) else "", found.workflow_id
