"""Every type of error, with its exit status and its hint. The mailbox's lock of the workflow `held` is held by the test."""

import functools, os, subprocess, sys, threading

import askbox

box = askbox.Mailbox()
without = askbox.Mailbox(programs="/nowhere")


def fails(kind, status, words, call, *given, **named):
    try:
        found = call(*given, **named)
    except askbox.AskboxError as error:
        assert type(error) is kind and error.exit_status == status, (type(error), error)
        assert words in str(error) and error.hint and "\n" not in str(error), (str(error), error.hint)
        return
    raise AssertionError(f"{kind.__name__} was expected: {found}")


def held():
    fails(askbox.Held, 1, "stayed locked", box.withdraw, "held")


box.post("Held?", "held")
# The test takes the lock when it reads `ready`, and writes a line when it holds it.
print("ready", flush=True)
sys.stdin.readline()
waits = threading.Thread(target=held)
waits.start()

fails(askbox.NotFound, 3, "nothing", box.withdraw, "nothing")
fails(askbox.NotFound, 3, "nothing", box.wait, "nothing")
fails(askbox.NotFound, 3, "no checkpoint", box.checkpoint.get, "nothing")
box.post("Which?", "one", options={"a": None})
fails(askbox.Conflict, 4, "another question", box.post, "Other?", "one")
fails(askbox.Waiting, 6, "nobody has answered one", box.wait, "one", 0.05)
subprocess.run(["ask-answer", "one", "a"], check=True, capture_output=True)
fails(askbox.Conflict, 4, "answered", box.withdraw, "one")
assert box.wait("one").value == "a"
fails(askbox.Conflict, 4, "delivered", box.wait, "one")
box.post("Gone?", "two")
threading.Timer(0.2, lambda: subprocess.run(["ask-answer", "cancel", "two"], check=False, capture_output=True)).start()
fails(askbox.Conflict, 4, "withdrawn", box.wait, "two", 20)
fails(askbox.Usage, 2, "no run", box.once, "call")
fails(askbox.Usage, 2, "interval", lambda: list(box.watch(interval=0)))
for name in ("../x", ".x", "", "a/b", "a..b", "x" * 129, "--help", "a\n", None):
    if name is not None:
        fails(askbox.Invalid, 5, "workflow_id", box.post, "Which?", name)
    fails(askbox.Invalid, 5, "workflow_id", box.round, name)
    fails(askbox.Invalid, 5, "workflow_id", box.withdraw, name)
fails(askbox.Invalid, 5, "question_id", box.round, "one", "../../x")
fails(askbox.Invalid, 5, "checkpoint", box.checkpoint.save, "one", {"x": float("nan")})
fails(askbox.ProgramMissing, 1, "ask-answer", without.withdraw, "one")
fails(askbox.ProgramMissing, 1, "attach", without.post, "Which?", "one", attach=["x"])
fails(askbox.ProgramMissing, 1, "supersede", without.post, "Which?", "one", supersede=True)

# A post without the programs refuses these, and names the field. The programs refuse them, too.
for field, value in [
    ("type", "chose"),
    ("type", ["choice"]),
    ("options", {" ": None}),
    ("options", ["a", "a"]),
    ("options", 5),
    ("options", [{"label": "a", "key": "a"}]),
    ("options", [{"label": "a", "description": None}]),
    ("checkpoint", "relative"),
    ("priority", 2**31),
    ("expires_at", "tomorrow"),
    ("on_expiry", "later"),
    ("on_expiry", "cancel"),
    ("remind_every", "10ms"),
    ("questions", [{"question": " "}]),
    ("questions", ["x"]),
    ("questions", [{"question": "?", "id": "q2"}, {"question": "?"}]),
    ("question", " \n"),
    ("session_id", "x"),
    ("parent", "../x"),
    ("free_text", "no"),
    ("range", {"min": 2, "max": 1}),
    ("range", {"step": 0}),
    ("answer", "a"),
    ("approval", {"tool": "x", "sha256": "0" * 64}),
    ("to_session", True),
    ("context", 5),
    ("context", "\ud800"),
    ("context", "x" * (2 << 20)),
    ("more", functools.reduce(lambda inner, _: [inner], range(80), [])),
]:
    wrong = {"workflow_id": "wrong", "question": "Which?", field: value}
    fails(askbox.Invalid, 5, "question" if field in ("more", "context") and value != 5 else field, without.post, wrong)
    if field != "checkpoint":
        fails(askbox.Invalid, 5, "", box.post, wrong)
assert not os.path.exists(os.path.join(box.path, "pending", "wrong.json"))
for field, value in [("default", "a"), ("until", {"at": "2099-01-01T00:00:00Z"}), ("attachments", [{}])]:
    fails(askbox.Usage, 2, field, without.post, {"workflow_id": "wrong", "question": "Which?", field: value})

# A program that does not end, and one that cannot be understood.
os.mkdir("slow")
for name, script in (
    ("ask-answer", "exec sleep 60"),
    ("askbox", "echo junk; exit 9"),
    ("checkpoint", "kill -9 $$"),
    ("relaunch", "echo junk"),
):
    path = os.path.join("slow", name)
    subprocess.run(["/bin/sh", "-c", 'printf "#!/bin/sh\n%s\n" "$2" > "$1"; chmod 755 "$1"', "sh", path, script], check=True)
slow = askbox.Mailbox(programs=os.path.abspath("slow"), limit=0.3)
fails(askbox.TimedOut, 1, "0.3 s", slow.withdraw, "one")
broken = askbox.Mailbox(programs=os.path.abspath("slow"))
fails(askbox.Failed, 1, "status 9", broken.once, "call")
fails(askbox.Failed, 1, "signal 9", broken.checkpoint.save, "one", {})

os.symlink(box.path, "link")
fails(askbox.Failed, 1, "symbolic link", askbox.Mailbox("link").pending)
os.mkdir("open")
os.chmod("open", 0o777)
fails(askbox.Failed, 1, "written by others", askbox.Mailbox("open", programs="/nowhere").post, "Which?", "one")

os.environ["ASKBOX_ROUND"] = os.path.abspath("round")
fails(askbox.NotFound, 3, "ASKBOX_ROUND", askbox.resumed)
for text in ("{", "[]", '{"v":2}', '{"v":1}'):
    with open("round", "w", encoding="utf-8") as file:
        file.write(text)
    fails(askbox.Invalid, 5, "v:" if "2" in text or text == "[]" else "ASKBOX_ROUND", askbox.resumed)
waits.join()
assert box.round("held").state == "pending"
print("done")
