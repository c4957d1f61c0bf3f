"""A channel of an operator's, for tests: channel.py FOLDER.

Notes each line of the watcher in FOLDER/heard, and each of its starts in FOLDER/starts. Says the lines of FOLDER/say, which it takes away.
Gives each notice its receipt, but for the first one if FOLDER/silent is there. Ends without a word while FOLDER/ends is there,
and stays behind the end of its input while FOLDER/stays is.
"""
import json, os, sys, threading, time

folder = sys.argv[1]
place = lambda name: os.path.join(folder, name)


def append(name, text):
    with open(place(name), "a") as out:
        out.write(text + "\n")


def say(line):
    print(json.dumps(line), flush=True)


def say_what_is_there():
    while True:
        if os.path.exists(place("say")):
            os.rename(place("say"), place("said"))
            with open(place("said")) as lines:
                for line in lines:
                    print(line, end="", flush=True)
        time.sleep(0.01)


append("starts", str(os.getpid()))
threading.Thread(target=say_what_is_there, daemon=True).start()
for line in sys.stdin:
    line = json.loads(line)
    append("heard", json.dumps(line))
    if os.path.exists(place("ends")):
        sys.exit(7)
    if "notice" in line and os.path.exists(place("silent")):
        os.remove(place("silent"))
        continue
    if "notice" in line:
        say({"receipt": {"id": line["notice"]["id"]}})
    if "check" in line:
        say({"receipt": {"id": line["check"], "problem": "nobody is there"}})
append("left", str(os.getpid()))
while os.path.exists(place("stays")):
    time.sleep(0.1)
