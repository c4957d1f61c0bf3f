// Waits for an answer beside a watcher, which must not launch an agent with it. Posts without the programs against `ask-post`.
import assert from "node:assert/strict";
import { execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { Readable } from "node:stream";
import { Conflict, Mailbox, resumed } from "@askbox/client";

const box = new Mailbox();

/** Answers as soon as a process holds the lock of the workflow's waiter. */
const answerOnceAwaited = (workflowId) => {
  const waiter = path.join(box.path, "runs", workflowId, "waiter");
  const isAwaited = fs.existsSync(waiter) && spawnSync("flock", ["-s", "-n", waiter, "true"]).status !== 0;
  if (isAwaited) execFile("ask-answer", [workflowId, "a"], () => {});
  else setTimeout(answerOnceAwaited, 20, workflowId);
};

for (let number = 0; number < 5; number++) {
  const workflowId = `wait-${number}`;
  await box.post("Which?", { workflowId, options: { a: null } });
  answerOnceAwaited(workflowId);
  const taken = await box.wait(workflowId, { timeout: 60_000 });
  assert.deepEqual([taken.value, taken.document.closed.by], ["a", "ask-post --wait"]);
}

const without = new Mailbox(undefined, { programs: "/nowhere" });
const ends = { true: 0, false: 0 };
for (let number = 0; number < 30; number++) {
  const workflowId = `contest-${number}`;
  const start = () => once(spawn("ask-post", ["-w", workflowId, "By the program?"], { stdio: "ignore" }), "exit");
  const post = () =>
    without.post("By the client?", { workflowId }).then(
      () => true,
      (error) => {
        if (error instanceof Conflict) return false;
        throw error;
      },
    );
  // Once the client comes first for sure, and every other time the program.
  const early = number === 0 ? await post() : null;
  const other = start();
  if (number % 2) await other;
  const isOurs = early ?? (await post());
  assert.equal((await other)[0], isOurs ? 4 : 0, workflowId);
  assert.equal((await box.round(workflowId)).document.question, isOurs ? "By the client?" : "By the program?");
  ends[isOurs]++;
}
assert.ok(ends.true && ends.false, JSON.stringify(ends));

const given = { v: 1, workflow_id: "w", question_id: "q", attempt: 2, why: "task", document: { prompt: "é" }, once: ["a"] };
const run = await resumed(Readable.from([Buffer.from(JSON.stringify(given))]));
assert.deepEqual([run.why, run.attempt, run.answer, run.value, run.checkpoint, run.once], ["task", 2, null, null, null, ["a"]]);
assert.equal(await resumed(Readable.from([])), null);
assert.equal(await resumed(process.stdin), null);
