"""Withdraws a question while somebody answers it, many times: exactly one of both counts."""

import os, random, subprocess, sys, time

import askbox

box, ends = askbox.Mailbox(), {"answered": 0, "withdrawn": 0}
for number in range(int(sys.argv[1])):
    name = f"race-{number}"
    question_id = box.post("Which?", name, options={"a": None}).question_id
    words = ["/bin/sh", "-c", 'sleep "$0"; exec ask-answer "$1" a', str(random.random() / 100), name]
    person = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(random.random() / 100)
    try:
        box.withdraw(name)
        withdrawn = True
    except (askbox.Conflict, askbox.NotFound):
        withdrawn = False
    answered = person.wait() == 0
    there = {
        state: os.path.exists(os.path.join(box.path, state, file))
        for state, file in (("pending", f"{name}.json"), ("answered", f"{name}.json"), ("closed", f"{name}.{question_id}.json"))
    }
    assert answered != withdrawn, (name, answered, withdrawn)
    assert there == {"pending": False, "answered": answered, "closed": withdrawn}, (name, there)
    assert box.round(name, question_id).outcome == ("answered" if answered else "withdrawn")
    ends["answered" if answered else "withdrawn"] += 1
print(ends)
