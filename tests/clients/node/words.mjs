// Says what a model is told, for every case of the table.
import assert from "node:assert/strict";
import fs from "node:fs";

const [file, source] = process.argv.slice(2);
const { Decision, MAYBE } = await import(source);
const table = JSON.parse(fs.readFileSync(file, "utf8"));
for (const { about, name, arguments: args, value, note, asks_back: asksBack, says } of table.calls) {
  const decision = new Decision({ value, note, asksBack }, [name, args]);
  for (const what of ["unclear", "refusal", "changed", "beside", "instead"]) {
    if ((what === "instead" && !says.instead) || (what === "beside" && (says.unclear ?? says.refusal))) continue;
    assert.deepEqual(decision[what], says[what] ?? null, `${about}: ${what}`);
  }
}
assert.equal(MAYBE, table.maybe);
console.log(table.calls.length);
