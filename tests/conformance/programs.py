"""The harness of askbox's own programs, which are on `PATH`."""

import json

from harness import Refused, program, serve


def call(request, words, stdin=""):
    return json.loads(program([words[0], "--mailbox", request["mailbox"], "--json", *words[1:]], stdin))


def post(request):
    said = call(request, ["ask-post", "--file", "-"], json.dumps(request["question"]))
    return {"question_id": said["question_id"], "repeated": said["repeated"]}


def answer(request):
    words = [f"--by={request['by']}"] if request.get("by") else []
    words += [f"--round={request['question_id']}"] if request.get("question_id") else []
    if request.get("declined"):
        said = call(request, ["ask-answer", "decline", *words, f"--note={request.get('note', '')}", "--", request["workflow_id"]])
    else:
        said = call(request, ["ask-answer", *words, "--file", "-", "--", request["workflow_id"]], json.dumps(request["value"]))
    return {"question_id": said["question_id"]}


def withdraw(request):
    why = [f"--why={request['why']}"] if request.get("why") else []
    said = call(request, ["ask-answer", "cancel", *why, "--", request["workflow_id"]])
    return {"question_id": said["question_id"]}


def find(request):
    try:
        said = call(request, ["ask-answer", "show", "--", request["workflow_id"]])
    except Refused as refused:
        if refused.kind != "not_found":
            raise
        return {"state": "none"}
    if request.get("question_id") not in (None, said["question_id"]):
        # `show` finds a workflow's last round only.
        return {"state": "none"}
    return {"state": said["state"], "question_id": said["question_id"], "document": said["document"]}


def pending(request):
    rows = program(["ask-answer", "--mailbox", request["mailbox"], "--json", "list"]).splitlines()
    rows = [row for row in map(json.loads, rows) if row.get("question_id")]
    return {"questions": [{"workflow_id": row["workflow_id"], "question_id": row["question_id"]} for row in rows]}


def save(request):
    call(request, ["checkpoint", "save", "--file", "-", "--", request["workflow_id"]], json.dumps(request["checkpoint"]))
    return {}


def load(request):
    return {"checkpoint": call(request, ["checkpoint", "show", "--", request["workflow_id"]])}


serve({"post": post, "answer": answer, "withdraw": withdraw, "round": find, "pending": pending, "save": save, "load": load})
