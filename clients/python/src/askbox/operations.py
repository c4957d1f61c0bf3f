"""The operations of a client, written once for the sync and the async class: see `Steps`."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from typing import IO, Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from . import posting, programs
from .documents import Question, Round, Run
from .errors import Conflict, Failed, Invalid, NotFound, ProgramMissing, Usage, Waiting
from .programs import Pause, Steps
from .reading import MIB, Bad, Folder, check_question_id, check_workflow_id, default_path, read_file

Path = Union[str, "os.PathLike[str]"]
_OF_MOVES = ("answer", "closed", "taken_back", "late_answers", "schema_version")
# `ask-post` refuses these in a document that is brought along: only askbox writes them, or they need the files.
_NOT_POSTED_AGAIN = ("attachments", "approval", "tool_call", "elicited_by", "to_session", "continues_in", "prompt", "reads", "results")


class Operations:
    """The settings of a client, and its operations."""

    def __init__(self, path: Optional[Path] = None, *, programs: Optional[Path] = None, limit: float = 60.0) -> None:
        self.folder = Folder(os.fspath(path) if path is not None else default_path())
        self.programs = os.fspath(programs) if programs is not None else None
        self.limit = limit
        self._used = False

    def call(self, name: str, *words: str, stdin: bytes = b"", limit: Optional[float] = None) -> Steps[Any]:
        found = yield from programs.call(
            name, words, folder=self.programs, mailbox=self.folder.path, limit=limit or self.limit, stdin=stdin
        )
        self._used = True
        return found

    def post(self, question: Union[str, Question], fields: Mapping[str, Any], supersede: bool, attach: Sequence[Path]) -> Steps[Round]:
        document = {**({"question": question} if isinstance(question, str) else question)}
        document.update({name: value for name, value in fields.items() if value is not None})
        if document.get("workflow_id") is not None:
            check_workflow_id(document["workflow_id"])
        files = [word for one in attach for word in ("--attach", os.path.abspath(os.fspath(one)))]
        if programs.find("ask-post", self.programs) is None:
            if supersede or attach:
                flag = "supersede" if supersede else "attach"
                raise ProgramMissing(
                    f"{flag}: a post with it needs the program ask-post, which is not on PATH",
                    "install askbox, or name its folder: Mailbox(programs=…)",
                )
            posted = posting.post(self.folder, document, make=not self._used)
            self._used = True
            return posted
        words = ["--json", "--file", "-", *files, *(["--supersede"] if supersede else [])]
        said = yield from self.call("ask-post", *words, stdin=_json(document, "question"))
        w, q = said["workflow_id"], said["question_id"]
        found = self.folder.round(w, q)
        # If it was answered and pruned within this moment, what was asked is all that there is.
        found = found or Round(w, q, "pending", {**document, "workflow_id": w, "question_id": q})
        return Round(w, q, found.folder, found.document, repeated=bool(said["repeated"]))

    def round(self, workflow_id: str, question_id: Optional[str]) -> Steps[Optional[Round]]:
        check_workflow_id(workflow_id)
        if not self.folder.exists():
            return None
        if question_id is not None:
            return self.folder.round(workflow_id, check_question_id(question_id))
        live = self.folder.live_round(workflow_id)
        if live or not self.folder.round_ids(workflow_id):
            return live
        if programs.find("ask-answer", self.programs) is None:
            return self.folder.newest_closed(workflow_id)
        try:
            # The programs know which round was the last one without reading all.
            said = yield from self.call("ask-answer", "show", "--json", "--", workflow_id)
        except NotFound:
            return None
        return Round(workflow_id, said["question_id"], said["state"], said["document"])

    def wait(self, workflow_id: str, timeout: Optional[float]) -> Steps[Round]:
        """Waits for the answer and takes it, so that nothing else goes on with it."""
        end = None if timeout is None else time.monotonic() + timeout
        open_round = yield from self.round(workflow_id, None)
        if open_round is None:
            raise NotFound(f"the workflow {workflow_id} has no question", "post one: post(question, workflow_id)")
        question_id = open_round.question_id
        while True:
            if open_round is None or open_round.folder in ("running", "parked", "closed"):
                raise self._will_not_come(workflow_id, question_id, open_round)
            if open_round.folder == "answered":
                # `done` closes the round under its lock. If two processes come here, one of them gets the status 0.
                said = yield from self.call("relaunch", "done", "--json", "--", workflow_id)
                taken = self.folder.round(workflow_id, question_id)
                if said["question_id"] == question_id and taken is not None:
                    return taken
                raise Conflict(
                    f"the answer of {workflow_id} to {question_id} was taken by another process",
                    "see what became of it: relaunch status " + workflow_id,
                )
            left = math.inf if end is None else end - time.monotonic()
            if left <= 0:
                raise Waiting(f"nobody has answered {workflow_id} yet", f"exit with status 6, or wait again: wait({workflow_id!r})")
            if any(open_round.document.get(name) for name in _NOT_POSTED_AGAIN):
                yield Pause(min(left, 0.2))
            else:
                taken = yield from self._stand_by(open_round, min(left, 3600.0))
                if taken:
                    return taken
            open_round = self.folder.round(workflow_id, question_id)

    def _stand_by(self, asked: Round, seconds: float) -> Steps[Optional[Round]]:
        """Posts the very round that waits once more, and stays. As long as it stays, no watcher takes the answer."""
        question = {name: value for name, value in asked.document.items() if name not in _OF_MOVES}
        words = ("--json", "--file", "-", f"--wait={max(1, math.ceil(seconds * 1000))}ms")
        document = {**question, "question_id": asked.question_id}
        try:
            said = yield from self.call("ask-post", *words, stdin=_json(document, "question"), limit=seconds + self.limit)
        except Conflict:
            found = self.folder.round(asked.workflow_id, asked.question_id)
            if found is not None and found.folder == "pending":
                raise
            return None
        if said["state"] == "pending":
            return None
        return self.folder.round(asked.workflow_id, said["question_id"])

    def _will_not_come(self, workflow_id: str, question_id: str, found: Optional[Round]) -> Conflict:
        if found is None:
            return Conflict(f"the round {question_id} of {workflow_id} is gone", "see what became of it: relaunch status " + workflow_id)
        if found.answer:
            return Conflict(
                f"the answer of {workflow_id} was taken by another process: it is {found.state}",
                f"read it with round({workflow_id!r}, {question_id!r})",
            )
        return Conflict(
            f"the question of {workflow_id} has ended: it is {found.outcome or found.state}; there will be no answer",
            "continue without the answer, or ask again",
        )

    def withdraw(self, workflow_id: str, why: Optional[str]) -> Steps[Round]:
        check_workflow_id(workflow_id)
        reason = ["--why=" + why] if why is not None else []
        said = yield from self.call("ask-answer", "cancel", "--json", *reason, "--", workflow_id)
        found = self.folder.round(workflow_id, said["question_id"])
        if found is None:
            raise Failed(f"{workflow_id} was withdrawn, and its round cannot be read", "see it: ask-answer show " + workflow_id)
        return found

    def once(self, call: str) -> Steps[bool]:
        try:
            yield from self.call("askbox", "once", "--json", "--", call)
        except Conflict:
            return False
        return True

    def save_checkpoint(self, workflow_id: str, state: Mapping[str, Any]) -> Steps[str]:
        check_workflow_id(workflow_id)
        said = yield from self.call("checkpoint", "save", "--json", "--file", "-", "--", workflow_id, stdin=_json(state, "checkpoint"))
        return str(said["path"])

    def get_checkpoint(self, workflow_id: str, path: Optional[str]) -> Steps[Any]:
        check_workflow_id(workflow_id)
        if path is None:
            found = yield from self.call("checkpoint", "show", "--json", "--", workflow_id)
        else:
            found = yield from self.call("checkpoint", "get", "--json", "--", workflow_id, path)
        return found

    def changes(self, workflow_id: Optional[str], interval: float, timeout: Optional[float]) -> Iterator[Union[Round, Pause]]:
        """Yields each round that is new or in another state, and pauses between the looks."""
        if workflow_id is not None:
            check_workflow_id(workflow_id)
        if not 0.05 <= interval <= 60:
            raise Usage(f"interval: {interval!r} is not between 0.05 and 60 seconds", "leave interval out")
        end = math.inf if timeout is None else time.monotonic() + timeout
        known: Dict[str, Tuple[Any, Optional[Round]]] = {}
        followed: Dict[Tuple[str, str], str] = {}
        while True:
            waiting = [one for one in self.folder.pending(known) if workflow_id in (None, one.workflow_id)]
            now = {(one.workflow_id, one.question_id): one for one in waiting}
            # A round that has left pending/ is followed until it is over.
            looks = [now.get(key) or self.folder.round(*key) for key in followed]
            new = [one for key, one in now.items() if key not in followed]
            for one in [*(look for look in looks if look), *new]:
                key = (one.workflow_id, one.question_id)
                if followed.get(key) != one.folder:
                    followed[key] = one.folder
                    yield one
            gone = [key for key, look in zip(list(followed), looks) if look is None]
            for key in [*gone, *(key for key, folder in followed.items() if folder == "closed")]:
                followed.pop(key, None)
            left = end - time.monotonic()
            if left <= 0:
                return
            yield Pause(min(interval, left))


def resumed(source: Optional[IO[Any]] = None) -> Optional[Run]:
    """Returns what the runner gave to this program: the round, with its answer, and what is known of earlier attempts.

    It reads the file `$ASKBOX_ROUND`. None if this program was not started by a runner of the kind `program` or by `relaunch exec`.
    `source`, such as `sys.stdin`, is read instead if the variable is missing.
    """
    path = os.environ.get("ASKBOX_ROUND")
    if not path and source is None:
        return None
    try:
        content = read_file(path, 128 * MIB) if path else _bytes(source)
        if content is None:
            raise NotFound(f"ASKBOX_ROUND: {path} does not exist", "unset ASKBOX_ROUND outside of a run")
        if not content.strip():
            return None
        given = parse_round(content)
    except Bad as error:
        raise Invalid(f"ASKBOX_ROUND: {path or 'the standard input'} {error}", "unset ASKBOX_ROUND outside of a run") from error
    return given


def parse_round(content: bytes) -> Run:
    # The document may be as deep as a document may be, one level below.
    try:
        given = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise Bad(f"is not JSON: {error}") from error
    if not isinstance(given, dict) or given.get("v") != 1:
        raise Invalid(
            f"v: the round has version {given.get('v') if isinstance(given, dict) else None!r}, and this client reads 1",
            "update the package askbox; exit with status 5",
        )
    try:
        document = given["document"]
        shown = Round(given["workflow_id"], given["question_id"], "running", document)
        once: List[str] = list(given.get("once") or [])
        return Run(
            shown.workflow_id, shown.question_id, given["attempt"], given["why"], shown, given.get("checkpoint"), given.get("earlier"), once
        )
    except (KeyError, TypeError) as error:
        raise Bad(f"lacks the field {error}") from error


def _bytes(source: Optional[IO[Any]]) -> bytes:
    content = (source or sys.stdin).read()
    return content.encode() if isinstance(content, str) else bytes(content)


def _json(value: Any, what: str) -> bytes:
    if not isinstance(value, Mapping):
        raise Invalid(f"{what}: {type(value).__name__} is not a mapping", f"pass the {what} as a dict")
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise Invalid(f"{what}: it is not JSON in UTF-8: {error}", "use texts, numbers, lists and dicts") from error
