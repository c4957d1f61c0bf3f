"""The client for programs that wait where they stand. `AsyncMailbox` has the same names."""

from __future__ import annotations

import time
from typing import Any, Iterator, List, Mapping, Optional, Sequence, Union

from .documents import Options, Question, Round
from .errors import NotFound
from .operations import Operations, Path
from .programs import Pause, run_sync

_MISSING = object()


class Checkpoints:
    """The states from which the next process begins."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations

    def save(self, workflow_id: str, state: Mapping[str, Any]) -> str:
        """Saves the state of a workflow, durably, in place of the one before. Returns the path of the file."""
        return run_sync(self._operations.save_checkpoint(workflow_id, state))

    def get(self, workflow_id: str, path: Optional[str] = None, default: Any = _MISSING) -> Any:
        """Returns the whole state, or one value such as `state_variables.page`. `default` is for a state or a value that is not there."""
        try:
            return run_sync(self._operations.get_checkpoint(workflow_id, path))
        except NotFound:
            if default is _MISSING:
                raise
            return default


class Mailbox:
    """A mailbox: `path`, else `$ASKBOX_DIR`, else `~/.claude/questions`.

    `programs` is the folder of askbox's programs; without it they are looked up on `PATH`. `limit` is how many seconds one of them may
    take. Every method raises a kind of `AskboxError`.
    """

    def __init__(self, path: Optional[Path] = None, *, programs: Optional[Path] = None, limit: float = 60.0) -> None:
        self._operations = Operations(path, programs=programs, limit=limit)
        self.path = self._operations.folder.path
        self.checkpoint = Checkpoints(self._operations)

    def post(
        self,
        question: Union[str, Question],
        workflow_id: Optional[str] = None,
        *,
        options: Optional[Options] = None,
        type: Optional[str] = None,
        context: Optional[str] = None,
        asked_by: Optional[str] = None,
        checkpoint: Optional[str] = None,
        supersede: bool = False,
        attach: Sequence[Path] = (),
    ) -> Round:
        """Asks a person. The question is on the disk when this returns. The same question again returns the round that waits.

        `question` is a text or a whole document. Without `workflow_id`, `$WORKFLOW_ID` and `$ASKBOX_WORKFLOW_ID` are used, else a new id.
        """
        fields = {
            "workflow_id": workflow_id,
            "options": options,
            "type": type,
            "context": context,
            "asked_by": asked_by,
            "checkpoint": checkpoint,
        }
        return run_sync(self._operations.post(question, fields, supersede, attach))

    def round(self, workflow_id: str, question_id: Optional[str] = None) -> Optional[Round]:
        """Returns a round: the one with this id, else the one that is not over yet, else the last one. None if there is none."""
        return run_sync(self._operations.round(workflow_id, question_id))

    def wait(self, workflow_id: str, timeout: Optional[float] = None) -> Round:
        """Waits for the answer and takes it: nothing is launched with it. Raises `Waiting` when `timeout` seconds are over.

        A refusal is an answer: look at `outcome`. Raises `Conflict` if there will be no answer, or if a watcher was first.
        """
        return run_sync(self._operations.wait(workflow_id, timeout))

    def withdraw(self, workflow_id: str, why: Optional[str] = None) -> Round:
        """Withdraws the question that waits. Raises `Conflict` if somebody has answered it."""
        return run_sync(self._operations.withdraw(workflow_id, why))

    def once(self, call: str) -> bool:
        """Marks a call before it is made. True for the first caller in the round; False if the call may have been made already.

        Only inside of a run, else `Usage`.
        """
        return run_sync(self._operations.once(call))

    def pending(self) -> List[Round]:
        """Returns the questions that wait, by priority and then by age. Files that are not valid questions are passed over."""
        return self._operations.folder.pending({})

    def watch(self, workflow_id: Optional[str] = None, *, interval: float = 1.0, timeout: Optional[float] = None) -> Iterator[Round]:
        """Yields each question that waits, then each new one, and each of these again whenever its state changes, until it is closed.

        It looks every `interval` seconds (0.05 to 60) and ends after `timeout` seconds.
        """
        for found in self._operations.changes(workflow_id, interval, timeout):
            if isinstance(found, Pause):
                time.sleep(found.seconds)
            else:
                yield found
