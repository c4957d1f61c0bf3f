#!/usr/bin/env python3
"""Checks the test vectors in this folder, or the files named, from docs/protocol.md alone. Needs Python 3.9; signatures need `cryptography`."""
import base64, datetime, hashlib, json, pathlib, sys, uuid

try:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
except ImportError:
    Ed25519PublicKey = None

SEEN = """question type options free_text range questions workflow_id timestamp asked_by context expires_at on_expiry default until
    remind_every priority cwd parent in_reply_to approval elicited_by to_session""".split()
OF_ITS_MACHINE = "checkpoint session_id config_dir asked_in tool_call prompt reads results".split()
APPROVAL = {"once": "allow exactly this call, one time",
            "workflow": "allow exactly this call whenever this workflow makes it, until you revoke it: relaunch approve --revoke ID"}

def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()

def sha256(value):
    return hashlib.sha256(compact(value)).hexdigest()

def uuid5(namespace, name):
    return str(uuid.UUID(bytes=hashlib.sha1(uuid.UUID(namespace).bytes + name).digest()[:16], version=5))

def time(text, unit="auto"):
    at = datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(datetime.timezone.utc)
    unit = "milliseconds" if unit == "auto" and at.microsecond % 1000 == 0 and at.microsecond else unit
    return at.isoformat(timespec=unit).replace("+00:00", "Z")

def options(written):
    pairs = [{"label": k, "description": v} for k, v in written.items()] if isinstance(written, dict) else written or []
    pairs = [{"label": one} if isinstance(one, str) else one for one in pairs]
    found = [{"label": one.get("label") or one.get("key") or one.get("value"), "description": one.get("description") or "",
              **({"preview": one["preview"]} if one.get("preview") is not None else {})} for one in pairs]
    return found if any("preview" in one for one in found) else {one["label"]: one["description"] for one in found}

def in_order(written, fields):
    """The fields that are there, each in the form in which it is hashed."""
    form = {"options": options, "expires_at": time, "questions": lambda parts: [in_order(part, PART) for part in parts],
            "range": lambda r: {k: float(r[k]) if k != "unit" else r[k] for k in ("min", "max", "step", "unit") if r.get(k) is not None},
            "until": lambda u: {"at": time(u["at"])} if u.get("at") else {"file": u["file"]}, "in_reply_to": lambda i: str(uuid.UUID(i))}
    found = {name: form.get(name, lambda value: value)(written[name]) for name in fields if written.get(name) is not None}
    return {k: v for k, v in found.items() if v or k not in ("question", "options", "questions", "multiSelect", "to_session")}

PART = "id question header type multiSelect options free_text range".split()

def check(vector):
    q, a = vector["question"], vector["answer"]
    found = {"question_hash": uuid5("6ba7b812-9dad-11d1-80b4-00c04fd430c8", compact([q["workflow_id"], q.get("question") or "", q.get("type"),
        options(q.get("options")), in_order(q, ["questions"]).get("questions", []), q.get("timestamp")]))}
    found["seen"] = sha256(in_order(q, SEEN))
    found["of_its_machine"] = sha256([q.get(name) or ([] if name in ("reads", "results") else None) for name in OF_ITS_MACHINE])
    found["shown"] = sha256([found["seen"], found["of_its_machine"]])
    said = [a.get("outcome") or "answered", a.get("value"), a.get("note")]
    found["answer_hash"] = uuid5(found["question_hash"], compact(said))
    found["signed_bytes"] = "askbox answer v1\n" + compact([q["workflow_id"], q["question_id"], a["question_hash"], found["seen"],
        found["of_its_machine"], *said, a.get("asks_back", False), a["by"], a["channel"], a.get("through"), time(a["at"], "milliseconds")]).decode()
    wrong = [name for name, value in found.items() if vector[name] != value]
    counts = a["question_hash"] == found["question_hash"] and a["shown"] == found["shown"] and bool(a.get("signature"))
    counts = counts and (not q.get("approval") or options(q["options"]) == APPROVAL)
    if counts and Ed25519PublicKey:
        raw = [base64.b64decode(text.removeprefix("ed25519:")) for text in (vector["trusted_key"], a["signature"])]
        try:
            Ed25519PublicKey.from_public_bytes(raw[0]).verify(raw[1], found["signed_bytes"].encode())
        except InvalidSignature:
            counts = False
    is_known = Ed25519PublicKey or not counts  # Only a signature can still be wrong.
    return wrong + (["verdict"] if is_known and counts != (vector["verdict"] == "accepted") else [])

files = [pathlib.Path(name) for name in sys.argv[1:]] or sorted(pathlib.Path(__file__).parent.glob("*.json"))
wrong = {file.name: found for file in files if (found := check(json.loads(file.read_text(encoding="utf-8"))))}
print(f"{len(files)} vectors, {len(wrong)} wrong", "" if Ed25519PublicKey else "(signatures skipped: no module `cryptography`)", wrong or "")
sys.exit(bool(wrong))
