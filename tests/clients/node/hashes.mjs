// Computes every hash of the vectors in a folder: of the text as it stands, and of the object.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { hashes } from "@askbox/client";

const folder = process.argv[2];
const files = fs.readdirSync(folder).filter((name) => name.endsWith(".json"));
for (const name of files) {
  const vector = JSON.parse(fs.readFileSync(path.join(folder, name), "utf8"));
  for (const question of [vector.question, JSON.stringify(vector.question)]) {
    assert.equal(hashes.questionHash(question), vector.question_hash, name);
    assert.equal(hashes.seen(question), vector.seen, name);
    assert.equal(hashes.ofItsMachine(question), vector.of_its_machine, name);
    assert.equal(hashes.shown(question), vector.shown, name);
    assert.equal(hashes.answerHash(question, vector.answer), vector.answer_hash, name);
  }
}
assert.equal(hashes.derivedId('{"question": "Q8?", "workflow_id": "wf8"}', 1), "fc00eee5-7501-58aa-aa4a-016f502cbd81");
console.log(files.length);
