"""The files and locks of the implementation in `reference.py`. `BREAK=CHECK` breaks the one point that this check is about."""

import datetime, fcntl, json, os, re, secrets, string, time

from reference_values import BREAK, Refused, check_approval, hashes
from askbox import posting, reading

FOLDERS = "pending answered running parked closed quarantine checkpoints locks runs".split()


NOT_CHECKED = ("approval", "default", "until", "attachments", "closed", "answer", "late_answers")


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


def parse(content):
    """The object of a document."""
    if BREAK in ("depth", "damaged", "duplicate"):
        return json.loads(content.decode("utf-8-sig"), parse_constant=None if BREAK == "damaged" else reading._refuse_constant)
    if BREAK in ("bom-refused", "tolerated") and content.startswith(b"\xef\xbb\xbf"):
        raise reading.Bad("it begins with a byte order mark")
    if BREAK == "duplicate-inside":
        fields = json.loads(content.decode("utf-8-sig"), object_pairs_hook=lambda pairs: Pairs(pairs))
        if not isinstance(fields, Pairs) or len(dict(fields)) < len(fields):
            raise reading.Bad("a field is there twice")
        content = json.dumps(json.loads(content.decode("utf-8-sig"))).encode()
    return reading.parse(content)


class Pairs(list):
    pass


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
        is_old = os.path.isdir(self.path)
        for name in ("", *FOLDERS):
            path = self.below(name)
            if not os.path.isdir(path):
                os.makedirs(path, 0o700)
                fsync(os.path.dirname(path.rstrip("/")))
        if not os.path.exists(self.below("locks/synced")) and BREAK != "synced" and not (BREAK == "synced-once" and is_old):
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
            found = parse(content)
        except (reading.Bad, ValueError) as error:
            raise Refused("invalid", str(error))
        if not isinstance(found, dict):
            raise Refused("invalid", "not an object")
        if reading.null_field(found) and BREAK not in ("null-read", "damaged"):
            raise Refused("invalid", "a field is null")
        if None in found.values() and BREAK == "null-refused":
            raise Refused("invalid", "a field is null")
        found = {name: value for name, value in found.items() if value is not None}
        workflow = name[:-5] if folder in ("pending", "answered") else name[:-5].rpartition(".")[0]
        if found.get("workflow_id") != workflow and BREAK != "named-for":
            raise Refused("invalid", "not named for its workflow")
        return found

    def id_of(self, document):
        return check_round(document["question_id"]) if document.get("question_id") else self.folder.id_of(document)

    def state_of(self, workflow, question_id):
        answered = self.below("answered", f"{workflow}.json")
        if os.path.lexists(answered) and self.id_of(self.document("answered", f"{workflow}.json")) == question_id:
            return "answered"
        return next((s for s in ("running", "parked", "closed") if os.path.lexists(self.below(s, f"{workflow}.{question_id}.json"))), None)

    def waiting(self, workflow):
        """The pending question, if it can be decided."""
        found = self.document("pending", f"{workflow}.json")
        if found is None:
            went_on = os.path.lexists(self.below("answered", f"{workflow}.json")) or os.path.isdir(self.below("runs", workflow))
            if BREAK == "status-4":
                went_on = True
            raise Refused("conflict" if went_on and BREAK != "status-3" else "not_found", "nothing is pending")
        self.refuse_newer(found)
        if BREAK not in ("damaged", "not-checked"):
            self.check(found)
        if BREAK != "leftover" and ("closed" in found or self.state_of(workflow, self.id_of(found))):
            if not (BREAK.endswith("is-over") and self.state_of(workflow, self.id_of(found))):
                raise Refused("conflict", "it is over")
        return found

    def check(self, found):
        """Refuses a question that is not valid."""
        if BREAK == "trace-refused" and not isinstance(found.get("trace", {}), dict):
            raise Refused("invalid", "the trace is malformed")
        attachments = found.get("attachments", [])
        if not isinstance(attachments, list) or not all(isinstance(one, dict) for one in attachments):
            raise Refused("invalid", "an attachment is not an object")
        try:
            posting._checked({**{name: value for name, value in found.items() if name not in NOT_CHECKED}, "schema_version": 1})
            check_round(self.id_of(found))
        except Exception as error:
            raise Refused("invalid", str(error))
        if "approval" in found:
            check_approval(found)

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
