// Says what a model is told, for every case of the table.
import assert from "node:assert/strict";
import fs from "node:fs";

const [file, source] = process.argv.slice(2);
const { Decision } = await import(source);
const table = JSON.parse(fs.readFileSync(file, "utf8"));
for (const { about, name, arguments: args, value, note, asks_back: asksBack, says } of table.calls) {
  const decision = new Decision({ value, note, asksBack }, [name, args]);
  for (const what of ["unclear", "refusal", "changed", "beside", "instead", "maybe"]) {
    // These words are for allowed calls, and for changed ones.
    if (!says[what] && (what === "instead" || what === "maybe" || (what === "beside" && (says.unclear ?? says.refusal)))) continue;
    assert.deepEqual(decision[what], says[what] ?? null, `${about}: ${what}`);
  }
}
console.log(table.calls.length);
