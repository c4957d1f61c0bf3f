"""Files of strangers and texts that mean harm: readers pass over the first and give the second back as they are."""

import json, os, subprocess

import askbox

box = askbox.Mailbox()
pending = os.path.join(box.path, "pending")
good = box.post("Fine?", "good")


def write(name, text, folder="pending"):
    with open(os.path.join(box.path, folder, name), "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())


def question(name, **more):
    return json.dumps({"workflow_id": name, "question": "?", **more})


write("secret", question("linked"), folder="..")
os.symlink(os.path.join(box.path, "..", "secret"), os.path.join(pending, "linked.json"))
os.mkfifo(os.path.join(pending, "fifo.json"))
os.mkdir(os.path.join(pending, "folder.json"))
write("torn.json", question("torn")[:-5])
write("bytes.json", b'{"workflow_id":"bytes","question":"\xff"}')
write("deep.json", '{"workflow_id":"deep","question":"?","x":' + "[" * 100000 + "]" * 100000 + "}")
write("long.json", question("long", context="x" * (5 << 20)))
write("other.json", question("not-other"))
write("newer.json", question("newer", schema_version=2))
write("number.json", '{"workflow_id":"number","question":5}')
write("nan.json", '{"workflow_id":"nan","question":"?","priority":NaN}')
write("huge.json", '{"workflow_id":"huge","question":"?","range":{"min":1e999}}')
write("list.json", "[1]")
write("empty.json", "")
write("bad id.json", question("bad id"))
write("id.json", question("id", question_id="../../x"))
write(".tmpabcdefghijkl", question("hidden"))
# Two MiB with a byte order mark is what a reader reads, and a field of a later version is kept.
write("large.json", b"\xef\xbb\xbf" + question("large", context="x" * (2 << 20), field_of_a_later_version=1).encode())
write("proto.json", '{"workflow_id":"proto","question":"?","__proto__":{"x":1},"constructor":2,"options":{"10":"ten","9":"nine"}}')

found = {one.workflow_id: one for one in box.pending()}
assert sorted(found) == ["good", "large", "proto"], sorted(found)
assert found["large"].document["field_of_a_later_version"] == 1 and list(found["proto"].document["options"]) == ["10", "9"]
for name in ("linked", "fifo", "folder", "torn", "bytes", "deep", "long", "other", "list", "empty", "id"):
    assert box.round(name) is None, name
    try:
        askbox.Mailbox(programs="/nowhere").post("?", name)
        raise AssertionError(name)
    except (askbox.Conflict, askbox.Failed):
        pass
assert open(os.path.join(box.path, "..", "secret"), encoding="utf-8").read() == question("linked")

words = 'red \x1b[31m\x07\u202e\ufeff é 🙂 "quoted" $(touch hacked) `touch hacked` \' ; | & \\ -- --help'
box.post({"workflow_id": "words", "question": words, "context": words, "asked_by": words})
assert box.round("words").document["question"] == words
subprocess.run(["ask-answer", "words", "-"], input=words.encode(), check=True, capture_output=True)
assert box.wait("words").value == words
box.post("?", "note")
assert box.withdraw("note", why=words).document["closed"]["why"] == words
assert box.checkpoint.get("words", default=None) is None
box.checkpoint.save("words", {"context": words, "state_variables": {words: 1}})
assert box.checkpoint.get("words")["state_variables"] == {words: 1}
assert not os.path.exists("hacked")
assert box.round("good").question_id == good.question_id
