"""The harness of `examples/ask.sh`, which posts and saves. Its argument is the shell."""

import json, os, sys

from harness import Refused, Unsupported, program, serve

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/ask.sh")
SHELL = sys.argv[1:] or ["sh"]
CAN_POST = {"schema_version", "workflow_id", "question", "options", "timestamp", "type"}


def call(request, words, stdin=""):
    return program([*SHELL, SCRIPT, words[0], f"--mailbox={request['mailbox']}", *words[1:]], stdin)


def post(request):
    question = request["question"]
    options = question.get("options", {})
    texts = [question.get("question", ""), *options.values()] if isinstance(options, dict) else [None]
    # The script asks with words of its command line: it has no other fields, and makes the time itself.
    if set(question) - CAN_POST or question.get("schema_version", 1) != 1 or not all(isinstance(text, str) for text in texts):
        raise Unsupported
    if question.get("type") is not None:
        raise Unsupported
    words = [word for key, text in options.items() for word in ("-o", f"{key}={text}")]
    said = call(request, ["post", f"--workflow={question['workflow_id']}", *words, "-"], question.get("question", "") + "\n")
    if said != f"QUESTION_POSTED:{question['workflow_id']}\n":
        raise Refused(1, said)
    return {}


def save(request):
    call(request, ["save", "--", request["workflow_id"]], json.dumps(request["checkpoint"]))
    return {}


serve({"post": post, "save": save})
