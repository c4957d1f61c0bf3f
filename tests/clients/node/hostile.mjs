// Files of strangers and texts that mean harm: readers pass over the first and give the second back as they are.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { Conflict, Failed, Mailbox } from "@askbox/client";

const box = new Mailbox();
const pending = path.join(box.path, "pending");
const good = await box.post("Fine?", { workflowId: "good" });
const write = (name, content) => fs.writeFileSync(path.join(pending, name), content, { mode: 0o600 });
const question = (name, more) => JSON.stringify({ workflow_id: name, question: "?", ...more });

const secret = path.join(box.path, "../secret");
fs.writeFileSync(secret, question("linked"));
fs.symlinkSync(secret, path.join(pending, "linked.json"));
execFileSync("mkfifo", [path.join(pending, "fifo.json")]);
fs.mkdirSync(path.join(pending, "folder.json"));
write("torn.json", question("torn").slice(0, -5));
write("bytes.json", Buffer.from('{"workflow_id":"bytes","question":"\xff"}', "latin1"));
write("deep.json", `{"workflow_id":"deep","question":"?","x":${"[".repeat(100000)}${"]".repeat(100000)}}`);
write("long.json", question("long", { context: "x".repeat(5 << 20) }));
write("other.json", question("not-other"));
write("newer.json", question("newer", { schema_version: 2 }));
write("number.json", '{"workflow_id":"number","question":5}');
write("nan.json", '{"workflow_id":"nan","question":"?","priority":NaN}');
write("huge.json", '{"workflow_id":"huge","question":"?","range":{"min":1e999}}');
write("list.json", "[1]");
write("empty.json", "");
write("bad id.json", question("bad id"));
write("id.json", question("id", { question_id: "../../x" }));
write(".tmpabcdefghijkl", question("hidden"));
// Two MiB with a byte order mark is what a reader reads, and a field of a later version is kept.
write("large.json", `\uFEFF${question("large", { context: "x".repeat(2 << 20), field_of_a_later_version: 1 })}`);
write("proto.json", '{"workflow_id":"proto","question":"?","__proto__":{"x":1},"constructor":2,"options":{"10":"ten","9":"nine"}}');

const found = Object.fromEntries((await box.pending()).map((one) => [one.workflowId, one]));
assert.deepEqual(Object.keys(found).sort(), ["good", "large", "proto"]);
assert.equal(found.large.document.field_of_a_later_version, 1);
assert.deepEqual(
  found.proto.options.map((one) => one.key),
  ["10", "9"],
);
assert.equal({}.x, undefined);
for (const name of ["linked", "fifo", "folder", "torn", "bytes", "deep", "long", "other", "list", "empty", "id"]) {
  assert.equal(await box.round(name), null, name);
  const refused = (error) => error instanceof Conflict || error instanceof Failed;
  await assert.rejects(new Mailbox(undefined, { programs: "/nowhere" }).post("?", { workflowId: name }), refused, name);
}
assert.equal(fs.readFileSync(secret, "utf8"), question("linked"));

const words = 'red \x1b[31m\x07\u202e\ufeff é 🙂 "quoted" $(touch hacked) `touch hacked` \' ; | & \\ -- --help';
await box.post({ workflow_id: "words", question: words, context: words, asked_by: words });
assert.equal((await box.round("words")).document.question, words);
execFileSync("ask-answer", ["words", "-"], { input: words, stdio: ["pipe", "ignore", "ignore"] });
assert.equal((await box.wait("words")).value, words);
await box.post("?", { workflowId: "note" });
assert.equal((await box.withdraw("note", { why: words })).document.closed.why, words);
assert.equal(await box.checkpoint.get("words", undefined, null), null);
await box.checkpoint.save("words", { context: words, state_variables: { [words]: 1 } });
assert.deepEqual((await box.checkpoint.get("words")).state_variables, { [words]: 1 });
assert.ok(!fs.existsSync("hacked"));
assert.equal((await box.round("good")).questionId, good.questionId);
