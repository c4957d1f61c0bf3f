"""Errors as types. Each one has the exit status of askbox's programs and a hint that says what to do."""

from __future__ import annotations

__all__ = ["AskboxError", "Failed", "Held", "TimedOut", "ProgramMissing", "Usage", "NotFound", "Conflict", "Invalid", "Waiting", "error_of"]


class AskboxError(Exception):
    """A call that did not succeed. `str(error)` is one line; `hint` says what to do about it."""

    exit_status = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        return type(self), (self.message, self.hint)


class Failed(AskboxError):
    """The disk or the system failed, or something else that no other type names. Status 1."""


class Held(Failed):
    """Another process keeps the lock of the workflow. Nothing was changed; the call may be repeated. Status 1."""


class TimedOut(Failed):
    """A program did not end within `Mailbox(limit=…)` and was ended. Look at the round before you repeat the call. Status 1."""


class ProgramMissing(Failed):
    """One of askbox's programs is not installed, and the call cannot be made without it. Status 1."""


class Usage(AskboxError):
    """Wrong arguments, or a call that is only possible inside of a run. Status 2."""

    exit_status = 2


class NotFound(AskboxError):
    """There is no such workflow, question, checkpoint, field or mailbox. Status 3."""

    exit_status = 3


class Conflict(AskboxError):
    """Another question is pending, somebody else was first, or no answer will come. Status 4."""

    exit_status = 4


class Invalid(AskboxError):
    """A document, a value or an id is not valid. The message names the field. Status 5."""

    exit_status = 5


class Waiting(AskboxError):
    """A person has not answered yet. A program that a runner started exits with this status. Status 6."""

    exit_status = 6


def error_of(status: int, message: str, hint: str, kind: object = None) -> AskboxError:
    """Returns the error for the exit status of a program, its words, and the `kind` that it names in JSON."""
    types = {2: Usage, 3: NotFound, 4: Conflict, 5: Invalid, 6: Waiting}
    # A held lock has the status 1, and so has every other failure of the system.
    named = types.get(status) or (Held if kind == "held" else Failed)
    return named(message, hint)
