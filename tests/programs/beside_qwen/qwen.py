#!/usr/bin/env python3
"""Plays Qwen for `askbox live qwen`. A line of ~/told is a dialog, its end at the terminal, or a line for the events. ~/log has what happens."""
import json
import os
import signal
import sys
import time

HOME = os.environ["HOME"]
SESSION = "a965bd4c-c2c2-4b24-989f-22f274774bd5"


def log(**entry):
    with open(f"{HOME}/log", "a") as file:
        file.write(json.dumps(entry) + "\n")


class Events:
    def __init__(self, path):
        self.file = os.open(path, os.O_WRONLY | os.O_NONBLOCK) if path else None

    def write(self, line):
        if self.file is None:
            return
        try:
            os.write(self.file, (json.dumps(line) + "\n").encode())
        except BrokenPipeError:
            # The real one goes on in the same way.
            log(broken=True)
            self.file = None


def added(path, at):
    """The whole lines behind this place in a file, and its end."""
    with open(path) as file:
        file.seek(at)
        text = file.read()
    text = text[: text.rfind("\n") + 1]
    return [json.loads(line) for line in text.splitlines()], at + len(text)


args = sys.argv[1:]
has_files = args[:1] == ["--json-file"] and args[2:3] == ["--input-file"]
signal.signal(signal.SIGINT, lambda *_: log(interrupted=True))
open(f"{HOME}/told", "a").close()
events, replies = Events(args[1] if has_files else None), args[3] if has_files else os.devnull
log(args=args, pid=os.getpid())
data = {"session_id": SESSION, "cwd": os.getcwd(), "protocol_version": 2, "version": "0.24.4"}
events.write({"type": "system", "subtype": "session_start", "session_id": SESSION, "data": data})
waiting, told_at, replies_at = set(), 0, 0


def response(request, **more):
    events.write({"type": "control_response", "response": {"request_id": request, **more}})


def decide(request, allowed):
    waiting.discard(request)
    log(**{"ran" if allowed else "refused": request})
    # Qwen says nothing about a refusal.
    if allowed:
        response(request, subtype="success", response={"allowed": True})


while True:
    told, told_at = added(f"{HOME}/told", told_at)
    for line in told:
        if "ask" in line:
            waiting.add(line["ask"])
            suggestions = [{"type": "allow", "label": line["label"], "description": f"Execute: {line['command']}"}]
            request = {"subtype": "can_use_tool", "tool_name": line["tool"], "tool_use_id": f"call_{line['ask']}",
                       "input": {"command": line["command"]}, "permission_suggestions": suggestions, "blocked_path": None}
            events.write({"type": "control_request", "request_id": line["ask"], "request": request})
        elif "terminal" in line:
            decide(line["terminal"], line["allowed"])
        elif "event" in line:
            events.write(line["event"])
        elif "end" in line:
            sys.exit(line["end"])
    more, replies_at = added(replies, replies_at)
    for reply in more:
        request = reply["request_id"]
        log(heard=reply)
        if request in waiting:
            decide(request, reply["allowed"])
        else:
            response(request, subtype="error", error="tool call is no longer awaiting approval")
    time.sleep(0.02)
