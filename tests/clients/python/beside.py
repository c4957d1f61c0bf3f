"""Waits for an answer beside a watcher, which must not launch an agent with it. Posts without the programs against `ask-post`."""
import fcntl, io, json, os, subprocess, sys, threading, time

import askbox

box = askbox.Mailbox()


def is_awaited(name):
    """True if a process holds the lock of the workflow's waiter."""
    try:
        with open(os.path.join(box.path, "runs", name, "waiter")) as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return False
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True


def answer_once_awaited(name):
    while not is_awaited(name):
        time.sleep(0.02)
    subprocess.run(["ask-answer", name, "a"], check=False, capture_output=True)


for number in range(5):
    name = f"wait-{number}"
    box.post("Which?", name, options={"a": None})
    threading.Thread(target=answer_once_awaited, args=(name,)).start()
    taken = box.wait(name, 60)
    assert (taken.value, taken.document["closed"]["by"]) == ("a", "ask-post --wait"), taken

without, ends = askbox.Mailbox(programs="/nowhere"), {True: 0, False: 0}


def post(name):
    """True if the client's question is there."""
    try:
        without.post("By the client?", name)
        return True
    except askbox.Conflict:
        return False


for number in range(30):
    name = f"contest-{number}"
    # Once the client comes first for sure, and every other time the program.
    early = post(name) if number == 0 else None
    other = subprocess.Popen(["ask-post", "-w", name, "By the program?"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if number % 2:
        other.wait()
    is_ours = post(name) if early is None else early
    assert other.wait() == (4 if is_ours else 0), name
    assert box.round(name).document["question"] == ("By the client?" if is_ours else "By the program?")
    ends[is_ours] += 1
assert ends[True] and ends[False], ends

given = {"v": 1, "workflow_id": "w", "question_id": "q", "attempt": 2, "why": "task", "document": {"prompt": "é"}, "once": ["a"]}
run = askbox.resumed(io.BytesIO(json.dumps(given).encode()))
assert (run.why, run.attempt, run.answer, run.value, run.checkpoint, run.once) == ("task", 2, None, None, None, ["a"])
assert askbox.resumed(io.StringIO("")) is None and askbox.resumed(sys.stdin) is None
