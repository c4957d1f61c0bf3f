"""Posts each document of a file, one a line, without askbox's programs; then once more. Prints the ids."""

import json, sys

import askbox

box = askbox.Mailbox(programs="/nowhere")
with open(sys.argv[1], encoding="utf-8") as lines:
    for document in map(json.loads, lines):
        posted = box.post(document)
        again = box.post(document)
        assert again.repeated and again.question_id == posted.question_id and not posted.repeated
        print(posted.question_id)
