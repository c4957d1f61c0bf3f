// Every call.
import assert from "node:assert/strict";
import { execFile, execFileSync, spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { Mailbox, resumed, Round } from "@askbox/client";

const box = new Mailbox();
/** Runs a program in a moment, as a person would. */
const later = (program, ...words) => setTimeout(() => execFile(program, words, () => {}), 200);
const now = (program, ...words) => execFileSync(program, words, { stdio: "ignore" });

const options = [{ label: "10", description: "ten" }, "9"];
const asked = await box.post("Which?", { workflowId: "one", options, context: "*why*", askedBy: "tester" });
assert.ok(asked instanceof Round);
assert.deepEqual([asked.workflowId, asked.state, asked.repeated, asked.outcome, asked.value], ["one", "pending", false, null, null]);
assert.deepEqual(asked.options, [
  { key: "10", description: "ten" },
  { key: "9", description: "" },
]);
assert.equal((await box.post("Which?", { workflowId: "one", options, context: "*why*" })).repeated, true);
const other = await box.post("Instead?", { workflowId: "one", supersede: true });
assert.equal((await box.round("one", asked.questionId)).outcome, "superseded");
assert.equal((await box.round("one")).questionId, other.questionId);
const urgent = await box.post({
  workflow_id: "two",
  priority: 3,
  questions: [{ question: "How many?", type: "number" }, { question: "Why?" }],
});
assert.deepEqual(
  (await box.pending()).map((found) => found.workflowId),
  ["two", "one"],
);
later("ask-answer", "two", "q1=3", "q2=because");
const taken = await box.wait("two", { timeout: 20_000 });
assert.deepEqual(
  [taken.state, taken.outcome, taken.value, taken.questionId],
  ["delivered", "answered", { q1: "3", q2: "because" }, urgent.questionId],
);
assert.ok(taken.answer.at && taken.answer.through === "terminal");
later("ask-answer", "decline", "one", "--note", "not now");
const refused = await box.wait("one", { timeout: 20_000 });
assert.deepEqual([refused.outcome, refused.value, refused.answer.note], ["declined", null, "not now"]);
await box.post("More?", { workflowId: "three" });
now("ask-answer", "ask-back", "three", "what for?");
assert.equal((await box.round("three")).state, "answered");
const back = (await box.wait("three")).answer;
assert.deepEqual([back.asksBack, back.note], [true, "what for?"]);
fs.writeFileSync("notes.txt", "look\n");
await box.post("See?", { workflowId: "four", attach: ["notes.txt"] });
later("ask-answer", "four", "seen");
assert.equal((await box.wait("four", { timeout: 20_000 })).value, "seen", "a question with a file is not posted again");
await box.post("Gone?", { workflowId: "five" });
const withdrawn = await box.withdraw("five", { why: "--not an option" });
assert.deepEqual([withdrawn.outcome, withdrawn.document.closed.why], ["withdrawn", "--not an option"]);
assert.equal((await box.round("five")).outcome, "withdrawn");
assert.equal(await box.round("nothing"), null);
const saved = await box.checkpoint.save("one", { current_step: "é", state_variables: { pages: [1, 2] } });
assert.ok(fs.existsSync(saved) && path.isAbsolute(saved));
assert.equal((await box.checkpoint.get("one")).current_step, "é");
assert.deepEqual(await box.checkpoint.get("one", "state_variables.pages"), [1, 2]);
assert.equal(await box.checkpoint.get("one", "nope", 7), 7);
assert.equal(await resumed(), null);

// A client says the same words as `relaunch status --json`.
const alike = async (workflow, word) => {
  const told = JSON.parse(execFileSync("relaunch", ["status", workflow, "--json"])).state;
  assert.deepEqual([(await box.round(workflow)).state, told], [word, word]);
};
spawnSync("ask-post", ["-w", "event", "--until-file", "/nowhere/built"]);
await box.post("On?", { workflowId: "on" });
await alike("event", "waiting");
await alike("on", "pending");
now("ask-answer", "on", "yes");
await alike("on", "answered");
const { questionId } = await box.round("on");
fs.mkdirSync(path.join(box.path, "runs", "on", questionId), { recursive: true, mode: 0o700 });
fs.renameSync(path.join(box.path, "answered", "on.json"), path.join(box.path, "parked", `on.${questionId}.json`));
await alike("on", "parked");
const gone = await box.round("five");
for (const word of ["delivered", "expired", "superseded", "dropped", "withdrawn"]) {
  const closed = { ...gone.document, closed: { ...gone.document.closed, state: word } };
  fs.writeFileSync(path.join(box.path, "closed", `five.${gone.questionId}.json`), JSON.stringify(closed));
  await alike("five", word);
}
await box.withdraw("event");

await box.post("Aborted?", { workflowId: "six" });
await assert.rejects(box.wait("six", { signal: AbortSignal.timeout(500) }), { name: "TimeoutError" });
assert.equal((await box.withdraw("six")).outcome, "withdrawn");

await box.post("First?", { workflowId: "w1" });
const seen = [];
for await (const found of box.watch({ interval: 50, timeout: 20_000 })) {
  seen.push(`${found.workflowId} ${found.state}`);
  if (seen.length === 1) await box.post("Second?", { workflowId: "w2" });
  if (seen.at(-1) === "w2 pending") now("ask-answer", "w1", "yes");
  if (seen.at(-1) === "w1 answered") await box.withdraw("w2");
  if (seen.at(-1) === "w2 withdrawn") break;
}
assert.deepEqual(seen, ["w1 pending", "w2 pending", "w1 answered", "w2 withdrawn"]);
for await (const found of box.watch({ workflowId: "w1", interval: 50, timeout: 100 })) assert.fail(found.state);
