"""An implementation of the mailbox protocol for `askbox conformance`, from docs/protocol.md alone. `BREAK=CHECK` breaks the one point that
this check is about."""

import datetime, fcntl, hashlib, json, os, re, secrets, stat, string, sys, time, uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../clients/python/src"))
from askbox import hashes, posting, reading  # noqa: E402

BREAK = os.environ.get("BREAK", "")
FOLDERS = "pending answered running parked closed quarantine checkpoints locks runs".split()


class Refused(Exception):
    def __init__(self, kind, message):
        self.kind, self.message = kind, message


def now():
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def check_id(name):
    if not reading.workflow_id_is_valid(name) and BREAK != "hostile-id":
        raise Refused("invalid", f"{name!r} is not an id")
    if BREAK == "valid-id" and "." in name:
        raise Refused("invalid", "no dots here")
    return name


def check_round(name):
    if not re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", name or "") and BREAK != "round-id":
        raise Refused("invalid", f"{name!r} is not a UUID")
    return name


def fsync(folder):
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(fd)
    os.close(fd)


def in_parts(write, content, pause):
    """Writes in two parts with a pause between them, so that others find half."""
    write(content[: len(content) // 2])
    time.sleep(pause)
    write(content[len(content) // 2 :])


def temporary(folder, content, order):
    """A synced file with a temporary name in the folder."""
    path = f"{folder}/.tmp" + "".join(secrets.choice(string.ascii_letters) for _ in range(12))
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644 if BREAK == "permissions" else 0o600)
    os.write(fd, content)
    if BREAK != order:
        os.fsync(fd)
    os.close(fd)
    return path


def new_file(folder, name, content, order, torn):
    path = f"{folder}/{name}"
    if BREAK == torn:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        in_parts(lambda part: os.write(fd, part), content, 0.02)
        os.fsync(fd)
        os.close(fd)
        fsync(folder)
        return True
    half = temporary(folder, content, order)
    try:
        if BREAK == "race-post" and order == "order-post":
            time.sleep(0.002)
            os.rename(half, path)
            half = None
        else:
            os.link(half, path, follow_symlinks=False)
    except FileExistsError:
        return False
    finally:
        if half and BREAK != "one-file":
            os.unlink(half)
    fsync(folder)
    return True


def replace(folder, name, content, order):
    os.rename(temporary(folder, content, order), f"{folder}/{name}")
    fsync(folder)


class Box:
    def __init__(self, path):
        self.path = path
        self.folder = reading.Folder(path)
        try:
            self.there = os.path.isdir(path) if BREAK == "unsafe-folder" else self.folder.exists()
        except Exception as error:
            raise Refused("failed", str(error))

    def below(self, *names):
        return os.path.join(self.path, *names)

    def make(self):
        for name in ("", *FOLDERS):
            path = self.below(name)
            if not os.path.isdir(path):
                os.makedirs(path, 0o700)
                fsync(os.path.dirname(path.rstrip("/")))
        if not os.path.exists(self.below("locks/synced")):
            above = self.path
            while above != "/":
                fsync(above)
                above = os.path.dirname(above)
            open(self.below("locks/synced"), "w").close()

    def stripe(self, name):
        h = 0xCBF29CE484222325
        for byte in name.encode():
            h = (h ^ byte) * 0x100000001B3 & (1 << 64) - 1
        return f"{(h ^ h >> 32) & 0xFF:02x}" if BREAK != "other-lock" else "00"

    def lock(self, name):
        path = self.below("locks", self.stripe(name))
        if BREAK == "lock-file" and os.path.exists(path):
            os.unlink(path)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if BREAK not in ("lock", "race-answer", "race-withdraw"):
            fcntl.flock(fd, fcntl.LOCK_EX)
        return fd

    def read(self, path, limit):
        if BREAK in ("pipe", "link", "damaged"):
            if BREAK != "pipe" and not os.path.exists(path) or not os.path.lexists(path):
                return None
            return open(path, "rb").read()
        try:
            return reading.read_file(path, limit)
        except reading.Bad as error:
            raise Refused("invalid", str(error))

    def document(self, folder, name):
        content = self.read(self.below(folder, name), reading.LIMITS[folder])
        if content is None:
            return None
        try:
            found = json.loads(content) if BREAK in ("depth", "damaged") else reading.parse(content)
        except (reading.Bad, ValueError) as error:
            raise Refused("invalid", str(error))
        if not isinstance(found, dict):
            raise Refused("invalid", "not an object")
        workflow = name[:-5] if folder in ("pending", "answered") else name[:-5].rpartition(".")[0]
        if found.get("workflow_id") != workflow and BREAK != "named-for":
            raise Refused("invalid", "not named for its workflow")
        return found

    def id_of(self, document):
        return document.get("question_id") or self.folder.id_of(document)

    def state_of(self, workflow, question_id):
        answered = self.below("answered", f"{workflow}.json")
        if os.path.lexists(answered) and self.id_of(self.document("answered", f"{workflow}.json")) == question_id:
            return "answered"
        return next((s for s in ("running", "parked", "closed") if os.path.lexists(self.below(s, f"{workflow}.{question_id}.json"))), None)

    def waiting(self, workflow):
        """The pending question, if it can be decided."""
        found = self.document("pending", f"{workflow}.json")
        if found is None:
            raise Refused("not_found", "nothing is pending")
        self.refuse_newer(found)
        asked = found.get("questions") or [found]
        if not all(isinstance(part.get("question"), str) and part["question"].strip() for part in asked) and BREAK != "damaged":
            raise Refused("invalid", "there is no question")
        if BREAK != "leftover" and ("closed" in found or self.state_of(workflow, self.id_of(found))):
            if not (BREAK.endswith("is-over") and self.state_of(workflow, self.id_of(found))):
                raise Refused("conflict", "it is over")
        return found

    def refuse_newer(self, found):
        if found.get("schema_version", 1) != 1 and BREAK != "newer-version":
            raise Refused("conflict", "it is of a newer version")

    def complete(self, workflow):
        """Completes what a dead process left half done."""
        found = self.document("pending", f"{workflow}.json")
        if found is None:
            return
        self.refuse_newer(found)
        question_id = self.id_of(found)
        if "closed" in found and BREAK != "leftover":
            self.move(workflow, question_id)
        elif os.path.exists(self.below("answered", f"{workflow}.json")) and BREAK != "race-answer":
            if self.id_of(self.document("answered", f"{workflow}.json")) == question_id:
                os.unlink(self.below("pending", f"{workflow}.json"))

    def move(self, workflow, question_id):
        os.makedirs(self.below("runs", workflow, question_id), 0o700, exist_ok=True)
        for folder in (f"runs/{workflow}", "runs"):
            fsync(self.below(folder))
        pending, closed = self.below("pending", f"{workflow}.json"), self.below("closed", f"{workflow}.{question_id}.json")
        os.link(pending, closed, follow_symlinks=False)
        os.unlink(pending)
        fsync(self.below("closed"))
        fsync(self.below("pending"))


def post(box, request):
    asked = request["question"]
    workflow = check_id(asked.get("workflow_id"))
    if BREAK == "post":
        asked = {name: value for name, value in asked.items() if name not in ("priority", "range")}
    if BREAK == "unknown-fields":
        asked = {name: value for name, value in asked.items() if name != "later_field"}
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


def fitting(question, value):
    """The value in its final form."""
    if BREAK == "value":
        return value
    options = hashes.options_in_form(question.get("options"))
    kind = question.get("type") or ("choice" if options else "text")
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, bool):
        value = "yes" if value else "no"
    if not isinstance(value, str) or not value.strip():
        raise Refused("invalid", "it does not fit")
    trimmed = value.strip()
    if kind == "choice":
        for key, description in options.items():
            if trimmed.lower() in (key.strip().lower(), description.strip().lower()):
                return key
        if question.get("free_text") is False or len(trimmed) == 1:
            raise Refused("invalid", "it is not an option")
        return value
    if kind == "yes_no":
        word = {"yes": "yes", "y": "yes", "true": "yes", "no": "no", "n": "no", "false": "no"}.get(trimmed.lower())
        if not word:
            raise Refused("invalid", "it is not yes or no")
        return word
    if kind == "number":
        if not re.fullmatch(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?", trimmed):
            raise Refused("invalid", "it is not a number")
        number, bounds = float(trimmed), question.get("range") or {}
        steps = (number - (bounds.get("min") or 0)) / bounds.get("step", 1)
        if number < bounds.get("min", number) or number > bounds.get("max", number) or "step" in bounds and abs(steps - round(steps)) > 1e-9:
            raise Refused("invalid", "it is out of range")
        return trimmed
    return value


def answer(box, request):
    workflow = check_id(request["workflow_id"])
    name = f"{workflow}.json"
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
        if BREAK != "into-checkpoint":
            tell_checkpoints(box, workflow, question, question_id, said.get("value"))
        if BREAK == "race-answer":
            os.rename(half, box.below("answered", name))
        else:
            os.link(half, box.below("answered", name), follow_symlinks=False)
            os.unlink(half)
        fsync(box.below("answered"))
        if os.path.exists(box.below("pending", name)):
            os.unlink(box.below("pending", name))
        return {"question_id": question_id}
    finally:
        os.close(fd)


def over(box, workflow, request):
    """What a careless program does with a question that is over."""
    document = {"workflow_id": workflow, "question": "?", "question_id": request.get("question_id"), "answer": {"value": request.get("value")}}
    replace(box.below("answered"), f"{workflow}.json", json.dumps(document).encode(), "")
    return {"question_id": request.get("question_id")}


def tell_checkpoints(box, workflow, question, question_id, value):
    for path in {question.get("checkpoint"), box.below("checkpoints", f"{workflow}.json")} - {None}:
        content = reading.read_file(path, 48 << 20) if not os.path.islink(path) else None
        checkpoint = reading.parse(content) if content is not None else {}
        if checkpoint.get("workflow_id") == workflow:
            told = {**checkpoint, "user_answer": value, "user_answer_to": question_id}
            replace(os.path.dirname(path), os.path.basename(path), json.dumps(told, ensure_ascii=False).encode(), "")


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
        for state in ("pending", "answered"):
            found = box.document(state, f"{workflow}.json")
            if found and wanted in (None, box.id_of(found)):
                return {"state": state, "question_id": box.id_of(found), "document": found}
        for state in ("running", "parked", "closed"):
            if wanted and (found := box.document(state, f"{workflow}.{wanted}.json")):
                return {"state": "closed" if BREAK == "state" else state, "question_id": wanted, "document": found}
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
            found.append({"workflow_id": question.get("workflow_id"), "question_id": question.get("question_id")})
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
    if BREAK == "checkpoint":
        checkpoint.pop("state_variables", None)
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
    for check, broken in {"question-hash": "question_hash", "shown-hash": "seen", "answer-hash": "answer_hash", "derived-id": "derived_id"}.items():
        if BREAK == check and broken in found:
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
