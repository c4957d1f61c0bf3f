"""The end of a program as its runner expects it."""

from __future__ import annotations

import contextlib
import sys
from typing import Iterator

from .errors import AskboxError, Waiting

__all__ = ["exits"]


@contextlib.contextmanager
def exits() -> Iterator[None]:
    """Ends the program with the exit status of an `AskboxError`, and says the error and its hint on standard error.

    `Waiting` becomes the status 6, and `Invalid` the status 5, which parks the round. Both stand in one line: askbox shows the last one.
    """
    try:
        yield
    except AskboxError as error:
        print(str(error) if isinstance(error, Waiting) else f"error: {error}; hint: {error.hint}", file=sys.stderr)
        sys.exit(error.exit_status)
