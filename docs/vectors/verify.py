#!/usr/bin/env python3
"""Checks the test vectors in this folder, or the files named, from docs/dev/protocol.md alone. Needs Python 3.9; signatures need `cryptography`."""
import base64, datetime, decimal, hashlib, json, pathlib, sys, uuid

try:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
except ImportError:
    Ed25519PublicKey = None

SEEN = """question type options free_text range questions workflow_id timestamp asked_by context expires_at on_expiry default until
    remind_every priority cwd parent in_reply_to approval elicited_by to_session live attachments""".split()
OF_ITS_MACHINE = "checkpoint session_id config_dir asked_in tool_call prompt reads results".split()
APPROVAL = {"once": "allow exactly this call, one time",
            "workflow": "allow exactly this call whenever this workflow makes it, until you revoke it: relaunch approve --revoke ID"}

def number(value):
    sign, digits, exponent = decimal.Decimal(repr(value)).normalize().as_tuple()
    text = "".join(map(str, digits))
    point = len(text) + exponent
    if value == 0 or 0 < point <= 16:
        return "-" * (value < 0) + (f"{text[:point].ljust(point, '0')}.{text[point:] or '0'}" if value else "0.0")
    return "-" * sign + (f"0.{'0' * -point}{text}" if -5 < point <= 0 else f"{text[0]}{'.' * (text[1:] > '')}{text[1:]}e{point - 1}")

def compact(value):
    def written(value):
        if isinstance(value, dict):
            return "{" + ",".join(f"{written(key)}:{written(one)}" for key, one in value.items()) + "}"
        if isinstance(value, list):
            return "[" + ",".join(map(written, value)) + "]"
        return number(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)
    return written(value).encode()

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
            "default": lambda value: format(decimal.Decimal(repr(value)).normalize(), "f") if isinstance(value, float) else value,
            "until": lambda u: {"at": time(u["at"])} if u.get("at") else {"file": u["file"]}, "in_reply_to": lambda i: str(uuid.UUID(i)),
            "attachments": lambda files: [{name: file[name] for name in ("name", "type", "size", "sha256")} for file in files]}
    found = {name: form.get(name, lambda value: value)(written[name]) for name in fields if written.get(name) is not None}
    return {k: v for k, v in found.items() if v or k not in ("question", "options", "questions", "multiSelect", "to_session", "attachments")}

def text(bytes):
    """A text in the encoding of SSH, and the bytes behind it."""
    end = 4 + int.from_bytes(bytes[:4], "big")
    return bytes[4:end], bytes[end:]

def key_and_signed(trusted, signature, signed):
    """The bytes of the key and of the signature, and the bytes that it is for. None if they do not belong together."""
    if not signature.startswith("sshsig:"):
        return *[base64.b64decode(t.removeprefix("ed25519:")) for t in (trusted, signature)], signed
    blob, parts = base64.b64decode(signature.removeprefix("sshsig:")), []
    head, rest = blob[:10], blob[10:]
    while rest:
        part, rest = text(rest)
        parts.append(part)
    if head != b"SSHSIG\0\0\0\1" or parts[0] != base64.b64decode(trusted.split()[1]) or parts[1] != b"askbox-answer":
        return None
    hashed = hashlib.new(parts[3].decode(), signed).digest()
    wrapped = b"SSHSIG" + b"".join(len(part).to_bytes(4, "big") + part for part in (*parts[1:4], hashed))
    return text(text(parts[0])[1])[0], text(text(parts[4])[1])[0], wrapped

PART = "id question header type multiSelect options free_text range".split()

def check(vector):
    q, a = vector["question"], vector["answer"]
    found = {"question_hash": uuid5("6ba7b812-9dad-11d1-80b4-00c04fd430c8", compact([q["workflow_id"], q.get("question") or "", q.get("type"),
        options(q.get("options")), in_order(q, ["questions"]).get("questions", []), q.get("timestamp")]))}
    found["seen"] = sha256(in_order(q, SEEN))
    found["of_its_machine"] = sha256([q.get(name) or ([] if name in ("reads", "results") else None) for name in OF_ITS_MACHINE])
    found["shown"] = sha256([found["seen"], found["of_its_machine"]])
    said = [a.get("outcome") or "answered", a.get("value"), a.get("note")]
    later = ([a["edited"]] if a.get("edited") is not None else []) + ([True] if a.get("always") else []) + (["stops"] if a.get("stops") else [])
    found["answer_hash"] = uuid5(found["question_hash"], compact(said + later))
    found["signed_bytes"] = "askbox answer v1\n" + compact([q["workflow_id"], q["question_id"], a["question_hash"], found["seen"],
        found["of_its_machine"], *said, a.get("asks_back", False), a["by"], a["channel"], a.get("through"), time(a["at"], "milliseconds"), *later]).decode()
    wrong = [name for name, value in found.items() if vector[name] != value]
    counts = a["question_hash"] == found["question_hash"] and a["shown"] == found["shown"] and bool(a.get("signature"))
    counts = counts and (not q.get("approval") or options(q["options"]) == APPROVAL)
    if counts and Ed25519PublicKey:
        of = key_and_signed(vector["trusted_key"], a["signature"], found["signed_bytes"].encode())
        try:
            counts = of is not None
            counts and Ed25519PublicKey.from_public_bytes(of[0]).verify(*of[1:])
        except InvalidSignature:
            counts = False
    is_known = Ed25519PublicKey or not counts  # Only a signature can still be wrong.
    return wrong + (["verdict"] if is_known and counts != (vector["verdict"] == "accepted") else [])

files = [pathlib.Path(name) for name in sys.argv[1:]] or sorted(pathlib.Path(__file__).parent.glob("*.json"))
wrong = {file.name: found for file in files if (found := check(json.loads(file.read_text(encoding="utf-8"))))}
print(f"{len(files)} vectors, {len(wrong)} wrong", "" if Ed25519PublicKey else "(signatures skipped: no module `cryptography`)", wrong or "")
sys.exit(bool(wrong))
