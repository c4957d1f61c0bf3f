// Withdraws a question while somebody answers it, many times: exactly one of both counts.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Conflict, Mailbox, NotFound } from "@askbox/client";

const box = new Mailbox();
const ends = { answered: 0, withdrawn: 0 };
for (let number = 0; number < Number(process.argv[2]); number++) {
  const name = `race-${number}`;
  const { questionId } = await box.post("Which?", { workflowId: name, options: { a: null } });
  const words = ["-c", 'sleep "$0"; exec ask-answer "$1" a', String(Math.random() / 100), name];
  const person = once(spawn("/bin/sh", words, { stdio: "ignore" }), "exit");
  await pause(Math.random() * 10);
  const withdrawn = await box.withdraw(name).then(
    () => true,
    (error) => {
      if (error instanceof Conflict || error instanceof NotFound) return false;
      throw error;
    },
  );
  const answered = (await person)[0] === 0;
  const there = (state, file) => fs.existsSync(path.join(box.path, state, file));
  assert.notEqual(answered, withdrawn, name);
  assert.deepEqual(
    [there("pending", `${name}.json`), there("answered", `${name}.json`), there("closed", `${name}.${questionId}.json`)],
    [false, answered, withdrawn],
    name,
  );
  assert.equal((await box.round(name, questionId)).outcome, answered ? "answered" : "withdrawn");
  ends[answered ? "answered" : "withdrawn"]++;
}
console.log(JSON.stringify(ends));
