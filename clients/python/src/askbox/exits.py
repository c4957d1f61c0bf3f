"""The end of a program as its runner expects it."""

from __future__ import annotations

import contextlib
import sys
from typing import Iterator

from .errors import AskboxError

__all__ = ["exits"]


@contextlib.contextmanager
def exits() -> Iterator[None]:
    """Ends the program with the exit status of an `AskboxError`, and says the error and its hint on standard error.

    `Waiting` becomes the status 6, and `Invalid` the status 5, which parks the round.
    """
    try:
        yield
    except AskboxError as error:
        print(f"error: {error}\nhint: {error.hint}" if error.exit_status != 6 else str(error), file=sys.stderr)
        sys.exit(error.exit_status)
