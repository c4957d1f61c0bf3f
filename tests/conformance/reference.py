"""An implementation of the mailbox protocol for `askbox conformance`, from docs/dev/protocol.md alone. `BREAK=CHECK` breaks the one point
that this check is about. Other values of `BREAK` break single rules: tests/clients/conformance.rs lists them."""

import hashlib, json, os, re, sys, time, uuid

from reference_box import BREAK, Box, Refused, check_id, check_round, fsync, hashes, in_parts, new_file, now, posting, reading
from reference_box import replace, temporary
from reference_values import fitting


def post(box, request):
    asked = request["question"]
    workflow = check_id(asked.get("workflow_id"))
    if BREAK == "post":
        asked = {name: value for name, value in asked.items() if name not in ("priority", "range")}
    if BREAK == "unknown-fields":
        asked = {name: value for name, value in asked.items() if name != "later_field"}
    never_null = () if BREAK == "null-posted" else reading.NEVER_NULL
    asked = {name: value for name, value in asked.items() if value is not None or name in never_null}
    if BREAK == "trace-not-posted" and not isinstance((asked.get("trace") or {}), dict):
        raise Refused("invalid", "the trace is malformed")
    if BREAK == "expires-not-posted" and not (asked.get("expires_at") or "Z").endswith("Z"):
        raise Refused("invalid", "the time is not in UTC")
    document = {"schema_version": 1, **asked}
    document.setdefault("question_id", str(uuid.uuid4()))
    document.setdefault("timestamp", now())
    content = json.dumps(document, ensure_ascii=False).encode()
    if BREAK not in ("invalid", "hostile-id", "round-id"):
        check_round(document["question_id"])
        try:
            checked = {**document, "context": "", "later": 0} if BREAK in ("depth", "size") else document
            posting._checked({**checked, "question": "x"} if BREAK == "size" else checked)
        except Exception as error:
            raise Refused("invalid", str(error))
    box.make()
    if BREAK == "post-lock":
        fd = box.lock(workflow)
    if BREAK != "used-id" and "question_id" in asked and box.state_of(workflow, document["question_id"]):
        raise Refused("conflict", "the id is in use")
    try:
        if BREAK == "race-post" and os.path.exists(box.below("pending", f"{workflow}.json")):
            made = False
        else:
            made = new_file(box.below("pending"), f"{workflow}.json", content, "order-post", "killed-post")
    finally:
        if BREAK == "post-lock":
            os.close(fd)
    if made:
        return {"question_id": document["question_id"], "repeated": False}
    there = box.document("pending", f"{workflow}.json")
    box.refuse_newer(there or {})
    same = there is not None and all(
        (list(there[n]) if isinstance(there.get(n), dict) else 0, there.get(n))
        == (list(document[n]) if isinstance(document.get(n), dict) else 0, document.get(n))
        for n in ("question", "type", "options", "questions", "checkpoint", "context", "until")
    )
    if BREAK == "repeated":
        replace(box.below("pending"), f"{workflow}.json", content, "")
    elif not same or box.state_of(workflow, there["question_id"]):
        raise Refused("conflict", "another question waits")
    return {"question_id": there["question_id"], "repeated": True}


def answer(box, request):
    workflow = check_id(request["workflow_id"])
    name = f"{workflow}.json"
    if BREAK in ("answer-makes-mailbox", "not-made"):
        box.make()
    if not box.there:
        raise Refused("not_found", "there is no mailbox")
    if request.get("by", "").lower() in ("default", "event") and BREAK != "person":
        raise Refused("invalid", "that is not the name of a person")
    fd = box.lock(workflow)
    try:
        if BREAK not in ("answered-is-over",):
            box.complete(workflow)
        if BREAK.endswith("-is-over") and not os.path.exists(box.below("pending", name)):
            return over(box, workflow, request)
        question = box.waiting(workflow)
        question_id = box.id_of(question)
        if request.get("question_id") not in (None, question_id) and BREAK != "other-round":
            raise Refused("conflict", "another round waits")
        if os.path.lexists(box.below("answered", name)) and BREAK != "race-answer":
            raise Refused("conflict", "an earlier answer waits for its run")
        kept = {k: v for k, v in question.items() if BREAK != "unknown-fields" or k != "later_field"}
        said = {"by": request.get("by", "me"), "channel": "reference", "through": "terminal", "at": now()}
        if BREAK == "through-missing":
            del said["through"]
        if request.get("declined"):
            said.update({"outcome": "declined", "note": request.get("note")}, **({"value": "none"} if BREAK == "decline" else {}))
        else:
            said.update({"outcome": "answered", "value": fitting(question, request["value"])})
        said["question_hash"] = hashes.question_hash(question)
        said["shown"] = hashes.shown(question)
        if BREAK == "answer":
            said["shown"] = hashes.shown({**question, "context": "other"})
        content = json.dumps({**kept, "question_id": question_id, "answer": said}, ensure_ascii=False).encode()
        half = temporary(box.below("answered"), content, "order-answer")
        if BREAK in ("race-answer", "race-withdraw"):
            time.sleep(0.003)
        if BREAK in ("killed-answer", "killed-at-call"):
            os.unlink(box.below("pending", name))
            time.sleep(0.03)
        earlier = tell_checkpoints(box, workflow, question, question_id, said.get("value"))
        try:
            if BREAK == "race-answer":
                os.rename(half, box.below("answered", name))
            else:
                os.link(half, box.below("answered", name), follow_symlinks=False)
                os.unlink(half)
        except OSError:
            os.unlink(half)
            for path, content in earlier.items() if BREAK not in ("put-back", "named-not-put-back") else ():
                replace(os.path.dirname(path), os.path.basename(path), content, "")
            raise
        fsync(box.below("answered"))
        if os.path.exists(box.below("pending", name)):
            os.unlink(box.below("pending", name))
        return {"question_id": question_id}
    finally:
        os.close(fd)


def over(box, workflow, request):
    """What a careless program does with a question that is over."""
    said = {"question_id": request.get("question_id"), "answer": {"value": request.get("value")}}
    document = {"workflow_id": workflow, "question": "?", **said}
    replace(box.below("answered"), f"{workflow}.json", json.dumps(document).encode(), "")
    return {"question_id": request.get("question_id")}


def tell_checkpoints(box, workflow, question, question_id, value):
    """Writes the answer into the checkpoints of the workflow. Returns what they were before."""
    named = None if BREAK == "named-forgotten" else question.get("checkpoint")
    earlier = {}
    for path in {named, box.below("checkpoints", f"{workflow}.json")} - {None}:
        content = reading.read_file(path, 48 << 20) if not os.path.islink(path) else None
        checkpoint = reading.parse(content) if content is not None else {}
        if checkpoint.get("workflow_id") == workflow and BREAK != "into-checkpoint":
            told = {**checkpoint, "user_answer": value, "user_answer_to": question_id}
            if BREAK == "answer-to-forgotten":
                del told["user_answer_to"]
            if BREAK == "refusal-forgotten" and value is None:
                del told["user_answer"]
            replace(os.path.dirname(path), os.path.basename(path), json.dumps(told, ensure_ascii=False).encode(), "")
            earlier[path] = content
    return earlier


def withdraw(box, request):
    workflow = check_id(request["workflow_id"])
    if not box.there:
        raise Refused("not_found", "there is no mailbox")
    fd = box.lock(workflow)
    try:
        box.complete(workflow)
        if BREAK.endswith("-is-over") and not os.path.exists(box.below("pending", f"{workflow}.json")):
            return over(box, workflow, request)
        question = box.waiting(workflow)
        question_id = box.id_of(question)
        if BREAK == "race-withdraw":
            time.sleep(0.003)
        closed = {"state": "gone" if BREAK == "withdraw" else "withdrawn", "at": now(), "by": "me", "why": request.get("why")}
        kept = {k: v for k, v in question.items() if BREAK != "unknown-fields" or k != "later_field"}
        document = {**kept, "question_id": question_id, "closed": {k: v for k, v in closed.items() if v is not None}}
        content = json.dumps(document, ensure_ascii=False).encode()
        if BREAK == "killed-withdraw":
            os.unlink(box.below("pending", f"{workflow}.json"))
            time.sleep(0.03)
        replace(box.below("pending"), f"{workflow}.json", content, "order-withdraw")
        box.move(workflow, question_id)
        return {"question_id": question_id}
    finally:
        os.close(fd)


def find(box, request):
    workflow = check_id(request["workflow_id"])
    if not box.there:
        return {"state": "none"}
    wanted = request.get("question_id")
    if wanted is not None:
        check_round(wanted)
    for _ in range(2):
        last = None
        for state in ("pending", "answered"):
            found = box.document(state, f"{workflow}.json")
            if found and wanted in (None, box.id_of(found)):
                last = {"state": state, "question_id": box.id_of(found), "document": found}
        for state in ("running", "parked", "closed"):
            if wanted and (found := box.document(state, f"{workflow}.{wanted}.json")):
                last = {"state": "closed" if BREAK == "state" else state, "question_id": wanted, "document": found}
        if last:
            return last
    if BREAK == "round-id" and wanted:
        path = os.path.join(box.path, "pending", wanted + ".json")
        path = path if os.path.exists(path) else box.below(wanted + ".json")
        if os.path.exists(path):
            return {"state": "pending", "question_id": wanted, "document": json.load(open(path))}
    return {"state": "none"}


def pending(box, request):
    found = []
    for name in sorted(os.listdir(box.below("pending"))):
        hidden = name.startswith(".") or not name.endswith(".json")
        if hidden and BREAK != "other-names":
            continue
        workflow = name[:-5] if name.endswith(".json") else name
        try:
            if hidden:
                question = json.load(open(box.below("pending", name)))
            else:
                question = box.waiting(workflow)
            found.append({"workflow_id": question.get("workflow_id"), "question_id": box.id_of(question)})
        except (Refused, ValueError):
            if BREAK == "damaged":
                raise
    return {"questions": found}


def save(box, request):
    workflow, checkpoint = check_id(request["workflow_id"]), dict(request["checkpoint"])
    texts = "workflow_type current_step context next_action".split()
    ok = all(isinstance(checkpoint.get(name), (str, type(None))) for name in texts)
    for name in ("completed_steps", "pending_steps"):
        ok = ok and (name not in checkpoint or isinstance(checkpoint[name], list) and all(isinstance(one, str) for one in checkpoint[name]))
    for name in ("files", "state_variables"):
        ok = ok and (name not in checkpoint or isinstance(checkpoint[name], dict))
    ok = ok and all(isinstance(path, str) and path.startswith("/") for path in checkpoint.get("files", {}).values())
    if checkpoint.setdefault("workflow_id", workflow) != workflow:
        ok = False
    if not ok and BREAK != "bad-checkpoint":
        raise Refused("invalid", "it is not a checkpoint")
    if BREAK in ("checkpoint", "save-forgets-files"):
        checkpoint.pop("state_variables" if BREAK == "checkpoint" else "files", None)
    box.make()
    fd = box.lock(workflow)
    try:
        content = json.dumps(checkpoint, ensure_ascii=False).encode()
        folder, name = box.below("checkpoints"), f"{workflow}.json"
        if BREAK in ("race-checkpoint", "killed-save"):
            with open(f"{folder}/{name}", "wb") as file:
                in_parts(lambda part: (file.write(part), file.flush()), content, 0.02)
        else:
            replace(folder, name, content, "order-save")
        return {}
    finally:
        os.close(fd)


def load(box, request):
    workflow = check_id(request["workflow_id"])
    content = reading.read_file(box.below("checkpoints", f"{workflow}.json"), 48 << 20)
    if content is None:
        raise Refused("not_found", "there is no checkpoint")
    return {"checkpoint": reading.parse(content)}


def compute(box, request):
    question = request["question"]
    found = {
        "question_hash": hashes.question_hash(question),
        "seen": hashes.seen(question),
        "of_its_machine": hashes.of_its_machine(question),
        "shown": hashes.shown(question),
        "derived_id": hashes.derived_id(question, request.get("n", 0)),
    }
    if request.get("answer"):
        found["answer_hash"] = hashes.answer_hash(question, request["answer"])
    for broken in found:
        if BREAK == {"seen": "shown-hash"}.get(broken, broken.replace("_", "-")):
            found[broken] = hashlib.sha256(found[broken].encode()).hexdigest()
    return found


OPERATIONS = {
    "post": post, "answer": answer, "withdraw": withdraw, "round": find, "pending": pending, "save": save, "load": load, "hash": compute,
}

for line in sys.stdin:
    request = json.loads(line)
    operation = OPERATIONS.get(request["do"])
    try:
        box = Box(request["mailbox"])
        if operation and request["do"] == "pending" and not box.there:
            reply = {"questions": []}
        else:
            reply = operation(box, request) if operation else {"unsupported": True}
    except Refused as refused:
        reply = {"error": refused.kind, "message": refused.message}
    except reading.Bad as error:
        reply = {"error": "invalid", "message": str(error)}
    except OSError as error:
        reply = {"error": "failed", "message": str(error)}
    print(json.dumps(reply), flush=True)
