"""askbox from Python: ask a person, end, and go on in a new process with the answer.

`Mailbox` is for programs that wait where they stand, `AsyncMailbox` for asyncio. `resumed()` tells a program that a runner started which
answer it goes on with. `askbox.claude_agent_sdk`, `askbox.openai_agents` and `askbox.langgraph` are helpers for programs that are written
with these SDKs. Each is imported by its own name, and needs its SDK.
"""

from . import hashes
from .aio import AsyncMailbox
from .client import Mailbox
from .documents import Answer, Option, Part, Question, Range, Round, Run, Value
from .errors import AskboxError, Conflict, Failed, Held, Invalid, NotFound, ProgramMissing, TimedOut, Usage, Waiting
from .exits import exits
from .operations import resumed

__version__ = "0.1.0"
__all__ = [
    "Answer",
    "AskboxError",
    "AsyncMailbox",
    "Conflict",
    "Failed",
    "Held",
    "Invalid",
    "Mailbox",
    "NotFound",
    "Option",
    "Part",
    "ProgramMissing",
    "Question",
    "Range",
    "Round",
    "Run",
    "TimedOut",
    "Usage",
    "Value",
    "Waiting",
    "exits",
    "hashes",
    "resumed",
]
