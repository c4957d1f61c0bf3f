"""Every call, in the sync and the async class."""

import asyncio, json, os, subprocess, threading

import askbox


def later(*words):
    """Runs a program in a moment, as a person would."""
    threading.Timer(0.2, lambda: subprocess.run(words, check=False, capture_output=True)).start()


def sync(box):
    asked = box.post("Which?", "one", options={"a": "A", "b": None}, context="*why*", asked_by="tester")
    assert (asked.workflow_id, asked.state, asked.repeated, asked.outcome, asked.value) == ("one", "pending", False, None, None), asked
    assert asked.document["context"] == "*why*" and list(asked.document["options"]) == ["a", "b"]
    assert box.post("Which?", "one", options={"a": "A", "b": None}, context="*why*").repeated
    other = box.post("Instead?", "one", supersede=True)
    assert box.round("one", asked.question_id).outcome == "superseded" and box.round("one").question_id == other.question_id
    urgent = box.post(
        {"workflow_id": "two", "priority": 3, "questions": [{"question": "How many?", "type": "number"}, {"question": "Why?"}]}
    )
    assert [found.workflow_id for found in box.pending()] == ["two", "one"]
    later("ask-answer", "two", "q1=3", "q2=because")
    taken = box.wait("two", 20)
    assert (taken.state, taken.outcome, taken.value) == ("delivered", "answered", {"q1": "3", "q2": "because"}), taken
    assert taken.answer.at and taken.answer.through == "terminal" and taken.question_id == urgent.question_id
    later("ask-answer", "decline", "one", "--note", "not now")
    refused = box.wait("one", 20)
    assert (refused.outcome, refused.value, refused.answer.note) == ("declined", None, "not now")
    box.post("More?", "three")
    subprocess.run(["ask-answer", "ask-back", "three", "what for?"], check=True, capture_output=True)
    assert box.round("three").state == "answered"
    asked_back = box.wait("three")
    assert asked_back.answer.asks_back and asked_back.answer.note == "what for?", asked_back
    file = os.path.join(os.getcwd(), "notes.txt")
    with open(file, "w", encoding="utf-8") as notes:
        notes.write("look\n")
    box.post("See?", "four", attach=[file])
    later("ask-answer", "four", "seen")
    assert box.wait("four", 20).value == "seen", "a question with a file is not posted again"
    box.post("Gone?", "five")
    withdrawn = box.withdraw("five", why="--not an option")
    assert (withdrawn.outcome, withdrawn.document["closed"]["why"]) == ("withdrawn", "--not an option")
    states(box)
    assert box.round("five").outcome == "withdrawn" and box.round("nothing") is None
    path = box.checkpoint.save("one", {"current_step": "é", "state_variables": {"pages": [1, 2]}})
    assert os.path.isfile(path) and box.checkpoint.get("one")["current_step"] == "é"
    assert box.checkpoint.get("one", "state_variables.pages") == [1, 2] and box.checkpoint.get("one", "nope", default=7) == 7
    assert askbox.resumed() is None


def states(box):
    """A client says the same words as `relaunch status --json`."""

    def alike(workflow, word):
        told = json.loads(subprocess.run(["relaunch", "status", workflow, "--json"], check=True, capture_output=True).stdout)
        assert (box.round(workflow).state, told["state"]) == (word, word), (workflow, word, told)

    subprocess.run(["ask-post", "-w", "event", "--until-file", "/nowhere/built"], capture_output=True)
    box.post("On?", "on")
    alike("event", "waiting")
    alike("on", "pending")
    subprocess.run(["ask-answer", "on", "yes"], check=True, capture_output=True)
    alike("on", "answered")
    question_id = box.round("on").question_id
    os.makedirs(os.path.join(box.path, "runs", "on", question_id), 0o700)
    os.rename(os.path.join(box.path, "answered", "on.json"), os.path.join(box.path, "parked", f"on.{question_id}.json"))
    alike("on", "parked")
    closed = os.path.join(box.path, "closed", f"five.{box.round('five').question_id}.json")
    with open(closed, encoding="utf-8") as file:
        document = json.load(file)
    for word in ("delivered", "expired", "superseded", "dropped", "withdrawn"):
        document["closed"]["state"] = word
        with open(closed, "w", encoding="utf-8") as file:
            json.dump(document, file)
        alike("five", word)
    box.withdraw("event")


def watched(box):
    box.post("First?", "w1")
    seen = []
    for found in box.watch(interval=0.05, timeout=20):
        seen.append((found.workflow_id, found.state))
        if len(seen) == 1:
            box.post("Second?", "w2")
        if seen[-1] == ("w2", "pending"):
            subprocess.run(["ask-answer", "w1", "yes"], check=True, capture_output=True)
        if seen[-1] == ("w1", "answered"):
            box.withdraw("w2")
        if seen[-1] == ("w2", "withdrawn"):
            break
    assert seen == [("w1", "pending"), ("w2", "pending"), ("w1", "answered"), ("w2", "withdrawn")], seen
    assert [found.state for found in box.watch("w1", interval=0.05, timeout=0.1)] == []


async def alike(box):
    asked = await box.post("Async?", "aio", options=["x", "y"])
    assert [found.question_id for found in await box.pending()] == [asked.question_id]
    waiting = asyncio.ensure_future(box.wait("aio"))
    await asyncio.sleep(0.5)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert waiting.cancelled() and (await box.round("aio")).state == "pending"
    seen = []
    async for found in box.watch("aio", interval=0.05, timeout=20):
        seen.append(found.state)
        if len(seen) == 1:
            later("ask-answer", "aio", "x")
            assert (await box.wait("aio", 20)).value == "x"
        else:
            break
    assert seen[0] == "pending", seen
    await box.post("Gone?", "aio")
    assert (await box.withdraw("aio")).outcome == "withdrawn"
    await box.checkpoint.save("aio", {"current_step": "s"})
    assert await box.checkpoint.get("aio", "current_step") == "s" and await box.checkpoint.get("aio", "nope", None) is None
    try:
        await box.once("x")
    except askbox.Usage:
        return
    raise AssertionError("once outside of a run")


box = askbox.Mailbox()
sync(box)
watched(box)
for left in box.pending():
    box.withdraw(left.workflow_id)
asyncio.run(alike(askbox.AsyncMailbox()))
