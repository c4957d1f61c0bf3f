// Says what a model is told, for every case of the table.
import assert from "node:assert/strict";
import fs from "node:fs";

const [file, source] = process.argv.slice(2);
const { Decision, waitsBehind } = await import(source);
const table = JSON.parse(fs.readFileSync(file, "utf8"));
function check({ about, name, arguments: args, value, note, asks_back: asksBack, says }, words) {
  const decision = new Decision({ value, note, asksBack }, [name, args]);
  for (const what of words) {
    const expected = says[what === "noAnswer" ? "no_answer" : what];
    // These words are for allowed calls, and for changed ones.
    if (!expected && (["instead", "maybe"].includes(what) || (what === "beside" && (says.unclear ?? says.refusal ?? says.no_answer))))
      continue;
    assert.deepEqual(decision[what], expected ?? null, `${about}: ${what}`);
  }
}

for (const one of table.calls) check(one, ["unclear", "refusal", "changed", "beside", "instead", "maybe"]);
for (const one of table.questions) check(one, ["noAnswer", "beside"]);
for (const [title, words] of Object.entries(table.waits_behind)) assert.equal(waitsBehind(title), words);
console.log(table.calls.length);
