"""Starting askbox's programs: a list of words, never a shell, and never without a limit."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import time
from dataclasses import dataclass
from typing import Any, Dict, Generator, Optional, Sequence, TypeVar, Union

from .errors import AskboxError, Failed, ProgramMissing, TimedOut, error_of

T = TypeVar("T")


@dataclass(frozen=True)
class Call:
    """One program to run to its end."""

    words: Sequence[str]
    stdin: bytes
    limit: float
    env: Dict[str, str]


@dataclass(frozen=True)
class Ended:
    status: int
    stdout: bytes
    stderr: bytes


@dataclass(frozen=True)
class Pause:
    seconds: float


Steps = Generator[Union[Call, Pause], Optional[Ended], T]
"""An operation of the client: it names each program that is to run, and gets its end. The sync and the async client run the same ones."""


def find(name: str, folder: Optional[str]) -> Optional[str]:
    """Returns the path of a program; None if it is not installed."""
    return shutil.which(name, path=folder)


def call(name: str, words: Sequence[str], *, folder: Optional[str], mailbox: str, limit: float, stdin: bytes = b"") -> Steps[Any]:
    """Runs a program with `--json` and returns what it printed. Raises the error that it reports."""
    path = find(name, folder)
    if path is None:
        raise ProgramMissing(
            f"the program {name} is not on PATH", "install askbox, or name the folder of its programs: Mailbox(programs=…)"
        )
    # An option of ours that stands in front could not be taken for a value of the caller.
    ended = yield Call([path, *words], stdin, limit, {**os.environ, "ASKBOX_DIR": mailbox})
    assert ended is not None
    lines = ended.stdout.decode("utf-8", "replace").strip()
    try:
        said = json.loads(lines) if lines else None
    except ValueError:
        said = None
    if ended.status == 0:
        return said
    if isinstance(said, dict) and "error" in said:
        hint = str(said.get("hint") or "").replace("--supersede", "post(…, supersede=True)")
        raise error_of(ended.status, str(said["error"]), hint, said.get("kind"))
    if isinstance(said, dict) and ended.status == 4:
        return said
    raise _by_words(name, ended)


def _by_words(name: str, ended: Ended) -> AskboxError:
    """Returns the error of a program that printed no JSON: wrong arguments, or an end by a signal."""
    lines = ended.stderr.decode("utf-8", "replace").splitlines()
    message = next((line[7:] for line in lines if line.startswith("error: ")), "")
    hint = next((line[6:] for line in lines if line.startswith("hint: ")), "")
    if ended.status < 0:
        return Failed(f"{name} was ended by signal {-ended.status}", "look at the round before you repeat the call")
    return error_of(ended.status, message or f"{name} ended with status {ended.status}", hint or "try the same command in a shell")


def _late(asked: Call) -> TimedOut:
    name = os.path.basename(asked.words[0])
    return TimedOut(
        f"{name} did not end within {asked.limit:g} s", "look at the round before you repeat the call; Mailbox(limit=…) sets the limit"
    )


def run_sync(steps: Steps[T]) -> T:
    """Runs an operation in this thread."""
    ended: Optional[Ended] = None
    try:
        while True:
            asked = steps.send(ended)
            if isinstance(asked, Pause):
                time.sleep(asked.seconds)
                ended = None
                continue
            try:
                done = subprocess.run(
                    list(asked.words), input=asked.stdin, capture_output=True, timeout=asked.limit, env=asked.env, check=False
                )
            except subprocess.TimeoutExpired:
                raise _late(asked) from None
            except OSError as error:
                raise Failed(f"cannot start {asked.words[0]}: {error.strerror}", "install askbox again") from error
            ended = Ended(done.returncode, done.stdout, done.stderr)
    except StopIteration as stop:
        result: T = stop.value
        return result
    finally:
        steps.close()


async def run_async(steps: Steps[T]) -> T:
    """Runs an operation in the event loop. If the task is cancelled, the program is ended with it."""
    ended: Optional[Ended] = None
    try:
        while True:
            asked = steps.send(ended)
            if isinstance(asked, Pause):
                await asyncio.sleep(asked.seconds)
                ended = None
                continue
            ended = await _run_async(asked)
    except StopIteration as stop:
        result: T = stop.value
        return result
    finally:
        steps.close()


async def _run_async(asked: Call) -> Ended:
    pipe = asyncio.subprocess.PIPE
    try:
        child = await asyncio.create_subprocess_exec(*asked.words, stdin=pipe, stdout=pipe, stderr=pipe, env=asked.env)
    except OSError as error:
        raise Failed(f"cannot start {asked.words[0]}: {error.strerror}", "install askbox again") from error
    try:
        stdout, stderr = await asyncio.wait_for(child.communicate(asked.stdin), asked.limit)
    except asyncio.TimeoutError:
        raise _late(asked) from None
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    assert child.returncode is not None
    return Ended(child.returncode, stdout, stderr)
