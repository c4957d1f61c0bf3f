"""Computes every hash of the vectors in a folder."""

import json, pathlib, sys

from askbox import hashes

files = sorted(pathlib.Path(sys.argv[1]).glob("*.json"))
for file in files:
    vector = json.loads(file.read_text(encoding="utf-8"))
    for name in ("question_hash", "seen", "of_its_machine", "shown"):
        assert getattr(hashes, name)(vector["question"]) == vector[name], (file.name, name)
    assert hashes.answer_hash(vector["question"], vector["answer"]) == vector["answer_hash"], file.name
assert hashes.derived_id({"question": "Q8?", "workflow_id": "wf8"}, 1) == "fc00eee5-7501-58aa-aa4a-016f502cbd81"
print(len(files))
