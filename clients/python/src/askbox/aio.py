"""The client for asyncio: the names of `Mailbox`, and the same operations."""

from __future__ import annotations

import asyncio
from typing import Any, AsyncIterator, List, Mapping, Optional, Sequence, Union

from .client import _MISSING
from .documents import Options, Question, Round
from .errors import NotFound
from .operations import Operations, Path
from .programs import Pause, run_async


class AsyncCheckpoints:
    """The states from which the next process begins. See `Checkpoints`."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations

    async def save(self, workflow_id: str, state: Mapping[str, Any]) -> str:
        return await run_async(self._operations.save_checkpoint(workflow_id, state))

    async def get(self, workflow_id: str, path: Optional[str] = None, default: Any = _MISSING) -> Any:
        try:
            return await run_async(self._operations.get_checkpoint(workflow_id, path))
        except NotFound:
            if default is _MISSING:
                raise
            return default


class AsyncMailbox:
    """`Mailbox` for asyncio. A task that is cancelled ends the program that it waits for."""

    def __init__(self, path: Optional[Path] = None, *, programs: Optional[Path] = None, limit: float = 60.0) -> None:
        self._operations = Operations(path, programs=programs, limit=limit)
        self.path = self._operations.folder.path
        self.checkpoint = AsyncCheckpoints(self._operations)

    async def post(
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
        fields = {
            "workflow_id": workflow_id,
            "options": options,
            "type": type,
            "context": context,
            "asked_by": asked_by,
            "checkpoint": checkpoint,
        }
        return await run_async(self._operations.post(question, fields, supersede, attach))

    async def round(self, workflow_id: str, question_id: Optional[str] = None) -> Optional[Round]:
        return await run_async(self._operations.round(workflow_id, question_id))

    async def wait(self, workflow_id: str, timeout: Optional[float] = None) -> Round:
        return await run_async(self._operations.wait(workflow_id, timeout))

    async def withdraw(self, workflow_id: str, why: Optional[str] = None) -> Round:
        return await run_async(self._operations.withdraw(workflow_id, why))

    async def once(self, call: str) -> bool:
        return await run_async(self._operations.once(call))

    async def pending(self) -> List[Round]:
        return self._operations.folder.pending({})

    async def watch(
        self, workflow_id: Optional[str] = None, *, interval: float = 1.0, timeout: Optional[float] = None
    ) -> AsyncIterator[Round]:
        for found in self._operations.changes(workflow_id, interval, timeout):
            if isinstance(found, Pause):
                await asyncio.sleep(found.seconds)
            else:
                yield found
