"""The loop of the harnesses in Python: one JSON object a line in, one out. `docs/dev/conformance.md` describes both."""

import json, subprocess, sys

KINDS = {1: "failed", 2: "usage", 3: "not_found", 4: "conflict", 5: "invalid"}


class Unsupported(Exception):
    pass


class Refused(Exception):
    def __init__(self, status, message):
        super().__init__(message)
        self.kind = KINDS.get(status, "failed")


def program(words, stdin="", env=None):
    """Runs a program to its end, and returns what it printed."""
    try:
        ended = subprocess.run(words, input=stdin.encode(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
    except ValueError as error:  # No argument of a program can hold U+0000.
        raise Refused(5, str(error)) from error
    if ended.returncode != 0:
        raise Refused(ended.returncode, (ended.stdout + ended.stderr).decode("utf-8", "replace"))
    return ended.stdout.decode()


def serve(operations, error_of=lambda error: None):
    """Answers each request with its operation. `error_of` gives the kind of an error of the implementation."""
    for line in sys.stdin:
        request = json.loads(line)
        try:
            reply = operations[request["do"]](request)
        except (KeyError, Unsupported):
            reply = {"unsupported": True}
        except Exception as error:
            kind = error.kind if isinstance(error, Refused) else error_of(error)
            if kind is None:
                raise
            reply = {"error": kind, "message": str(error)}
        print(json.dumps(reply), flush=True)
