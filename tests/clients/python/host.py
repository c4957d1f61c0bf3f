"""A program that asks, acts once, is killed behind its act, and asks what became of it."""

import json, os, signal, sys

import askbox

box, run = askbox.Mailbox(), askbox.resumed()


def log(line):
    with open(os.path.join(os.environ["HOME"], "log"), "a", encoding="utf-8") as file:
        file.write(line + "\n")


if run is None:
    box.checkpoint.save("ship-1", {"current_step": "deploy"})
    box.post("Deploy?", "ship-1", type="yes_no")
    sys.exit(askbox.Waiting.exit_status)
log(f"{run.why} {run.attempt} {run.value} {run.checkpoint['current_step']} {(run.earlier or {}).get('signal')} {','.join(run.once)}")
if run.round.document["question"] == "Deploy?":
    if box.once("deploy"):
        log("effect")
        os.kill(os.getpid(), signal.SIGKILL)
    box.post("Was it deployed?", "ship-1", type="yes_no")
    sys.exit(askbox.Waiting.exit_status)
print(json.dumps({"type": "result", "text": f"deployed: {run.value}"}))
