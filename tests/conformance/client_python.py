"""The harness of the client for Python. With `alone` as its argument, the client finds no programs."""

import os, sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../clients/python/src"))
import askbox  # noqa: E402
from harness import KINDS, Unsupported, serve  # noqa: E402

ALONE = sys.argv[1:] == ["alone"]


def box(request):
    return askbox.Mailbox(request["mailbox"], programs="/nowhere" if ALONE else None)


def post(request):
    posted = box(request).post(request["question"])
    return {"question_id": posted.question_id, "repeated": posted.repeated}


def withdraw(request):
    return {"question_id": box(request).withdraw(request["workflow_id"], request.get("why")).question_id}


def find(request):
    found = box(request).round(request["workflow_id"], request.get("question_id"))
    return {"state": found.folder, "question_id": found.question_id, "document": found.document} if found else {"state": "none"}


def pending(request):
    return {"questions": [{"workflow_id": one.workflow_id, "question_id": one.question_id} for one in box(request).pending()]}


def save(request):
    box(request).checkpoint.save(request["workflow_id"], request["checkpoint"])
    return {}


def load(request):
    return {"checkpoint": box(request).checkpoint.get(request["workflow_id"])}


def compute(request):
    question, answer = request["question"], request.get("answer")
    found = {name: getattr(askbox.hashes, name)(question) for name in ("question_hash", "seen", "of_its_machine", "shown")}
    found["derived_id"] = askbox.hashes.derived_id(question, request.get("n", 0))
    return {**found, **({"answer_hash": askbox.hashes.answer_hash(question, answer)} if answer else {})}


def error_of(error):
    return KINDS[error.exit_status] if isinstance(error, askbox.AskboxError) else None


def or_unsupported(operation):
    def answered(request):
        try:
            return operation(request)
        except askbox.ProgramMissing as error:
            raise Unsupported from error

    return answered


operations = {"post": post, "withdraw": withdraw, "round": find, "pending": pending, "save": save, "load": load, "hash": compute}
serve({name: or_unsupported(operation) for name, operation in operations.items()}, error_of)
