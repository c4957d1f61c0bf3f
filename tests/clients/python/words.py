"""Says what a model is told, for every case of the table."""

import json, sys

from askbox.words import Decision, waits_behind

table = json.load(open(sys.argv[1], encoding="utf-8"))


def of(case, names):
    decision = Decision(case["value"], case["note"], case["asks_back"], case.get("name"), case.get("arguments"))
    says = case["says"]
    for name in names:
        expected = says.get(name)
        # These words are for allowed calls, and for changed ones.
        if expected is None and (name in ("instead", "maybe") or name == "beside" and says.keys() & {"unclear", "refusal", "no_answer"}):
            continue
        assert getattr(decision, name) == expected, (case["about"], name, getattr(decision, name))


for case in table["calls"]:
    of(case, ("unclear", "refusal", "changed", "beside", "instead", "maybe"))
for case in table["questions"]:
    of(case, ("no_answer", "beside"))
for title, words in table["waits_behind"].items():
    assert waits_behind(title) == words, title
print(len(table["calls"]))
