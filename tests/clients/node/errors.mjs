// Every type of error, with its exit status and its hint. The mailbox's lock of the workflow `held` is held by the test.
import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import readline from "node:readline";
import { Conflict, Failed, Held, Invalid, Mailbox, NotFound, ProgramMissing, resumed, TimedOut, Usage, Waiting } from "@askbox/client";

const box = new Mailbox();
const without = new Mailbox(undefined, { programs: "/nowhere" });

async function fails(Kind, status, words, call) {
  let error;
  try {
    error = `${Kind.name} was expected: ${JSON.stringify(await call())}`;
  } catch (thrown) {
    error = thrown;
  }
  assert.equal(error.constructor, Kind, String(error.stack ?? error));
  assert.equal(error.exitStatus, status);
  assert.ok(error.message.includes(words) && error.hint && !error.message.includes("\n"), `${error.message} | ${error.hint}`);
}

await box.post("Held?", { workflowId: "held" });
// The test takes the lock when it reads `ready`, and writes a line when it holds it.
const input = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]();
console.log("ready");
await input.next();
const held = fails(Held, 1, "stayed locked", () => box.withdraw("held"));

await fails(NotFound, 3, "nothing", () => box.withdraw("nothing"));
await fails(NotFound, 3, "nothing", () => box.wait("nothing"));
await fails(NotFound, 3, "no checkpoint", () => box.checkpoint.get("nothing"));
await box.post("Which?", { workflowId: "one", options: { a: null } });
await fails(Conflict, 4, "another question", () => box.post("Other?", { workflowId: "one" }));
await fails(Waiting, 6, "nobody has answered one", () => box.wait("one", { timeout: 50 }));
execFileSync("ask-answer", ["one", "a"], { stdio: "ignore" });
await fails(Conflict, 4, "answered", () => box.withdraw("one"));
assert.equal((await box.wait("one")).value, "a");
await fails(Conflict, 4, "delivered", () => box.wait("one"));
await box.post("Gone?", { workflowId: "two" });
setTimeout(() => execFile("ask-answer", ["cancel", "two"], () => {}), 200);
await fails(Conflict, 4, "withdrawn", () => box.wait("two", { timeout: 20_000 }));
await fails(Usage, 2, "no run", () => box.once("call"));
await fails(Usage, 2, "interval", () => box.watch({ interval: 0 }).next());
for (const name of ["../x", ".x", "", "a/b", "a..b", "x".repeat(129), "--help", "a\n", null]) {
  if (name !== null) await fails(Invalid, 5, "workflowId", () => box.post("Which?", { workflowId: name }));
  await fails(Invalid, 5, "workflowId", () => box.round(name));
  await fails(Invalid, 5, "workflowId", () => box.withdraw(name));
}
await fails(Invalid, 5, "questionId", () => box.round("one", "../../x"));
await fails(Invalid, 5, "checkpoint", () => box.checkpoint.save("one", { x: NaN }));
await fails(ProgramMissing, 1, "ask-answer", () => without.withdraw("one"));
await fails(ProgramMissing, 1, "attach", () => without.post("Which?", { workflowId: "one", attach: ["x"] }));
await fails(ProgramMissing, 1, "supersede", () => without.post("Which?", { workflowId: "one", supersede: true }));

// A post without the programs refuses these, and names the field. The programs refuse them, too.
let deep = [];
for (let level = 0; level < 80; level++) deep = [deep];
for (const [field, value] of [
  ["type", "chose"],
  ["type", ["choice"]],
  ["options", { " ": null }],
  ["options", ["a", "a"]],
  ["options", 5],
  ["options", [{ label: "a", key: "a" }]],
  ["options", { 10: "ten", 9: "nine" }],
  ["options", [{ label: "a", description: null }]],
  ["checkpoint", "relative"],
  ["priority", 2 ** 31],
  ["expires_at", "tomorrow"],
  ["on_expiry", "later"],
  ["on_expiry", "cancel"],
  ["remind_every", "10ms"],
  ["questions", [{ question: " " }]],
  ["questions", ["x"]],
  ["questions", [{ question: "?", id: "q2" }, { question: "?" }]],
  ["question", " \n"],
  ["session_id", "x"],
  ["parent", "../x"],
  ["free_text", "no"],
  ["range", { min: 2, max: 1 }],
  ["range", { step: 0 }],
  ["answer", "a"],
  ["approval", { tool: "x", sha256: "0".repeat(64) }],
  ["to_session", true],
  ["context", 5],
  ["context", "\ud800"],
  ["context", "x".repeat(2 << 20)],
  ["more", deep],
]) {
  const wrong = { workflow_id: "wrong", question: "Which?", [field]: value };
  const words = field === "more" || (field === "context" && value !== 5) ? "question" : field;
  await fails(Invalid, 5, words, () => without.post(wrong));
  if (field !== "checkpoint") await fails(Invalid, 5, "", () => box.post(wrong));
}
assert.ok(!fs.existsSync(path.join(box.path, "pending/wrong.json")));
for (const [field, value] of [
  ["default", "a"],
  ["until", { at: "2099-01-01T00:00:00Z" }],
  ["attachments", [{}]],
]) {
  await fails(Usage, 2, field, () => without.post({ workflow_id: "wrong", question: "Which?", [field]: value }));
}

// A program that does not end, and one that cannot be understood.
fs.mkdirSync("slow");
for (const [name, script] of [
  ["ask-answer", "exec sleep 60"],
  ["askbox", "echo junk; exit 9"],
  ["checkpoint", "kill -9 $$"],
]) {
  execFileSync("/bin/sh", ["-c", 'printf "#!/bin/sh\\n%s\\n" "$2" > "$1"; chmod 755 "$1"', "sh", path.join("slow", name), script]);
}
const slow = new Mailbox(undefined, { programs: path.resolve("slow"), limit: 300 });
await fails(TimedOut, 1, "0.3 s", () => slow.withdraw("one"));
const broken = new Mailbox(undefined, { programs: path.resolve("slow") });
await fails(Failed, 1, "status 9", () => broken.once("call"));
await fails(Failed, 1, "SIGKILL", () => broken.checkpoint.save("one", {}));

fs.symlinkSync(box.path, "link");
await fails(Failed, 1, "symbolic link", () => new Mailbox("link").pending());
fs.mkdirSync("open");
fs.chmodSync("open", 0o777);
await fails(Failed, 1, "written by others", () => new Mailbox("open", { programs: "/nowhere" }).post("Which?", { workflowId: "one" }));

process.env.ASKBOX_ROUND = path.resolve("round");
await fails(NotFound, 3, "ASKBOX_ROUND", () => resumed());
for (const text of ["{", "[]", '{"v":2}', '{"v":1}']) {
  fs.writeFileSync("round", text);
  await fails(Invalid, 5, text.includes("2") || text === "[]" ? "v:" : "ASKBOX_ROUND", () => resumed());
}
await held;
assert.equal((await box.round("held")).state, "pending");
console.log("done");
process.exit(0);
