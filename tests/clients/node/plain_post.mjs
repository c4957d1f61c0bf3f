// Posts each document of a file, one a line, without askbox's programs; then once more. Prints the ids.
import assert from "node:assert/strict";
import fs from "node:fs";
import { Mailbox } from "@askbox/client";

const box = new Mailbox(undefined, { programs: "/nowhere" });
for (const line of fs.readFileSync(process.argv[2], "utf8").trim().split("\n")) {
  const posted = await box.post(JSON.parse(line));
  const again = await box.post(JSON.parse(line));
  assert.deepEqual([posted.repeated, again.repeated, again.questionId], [false, true, posted.questionId]);
  console.log(posted.questionId);
}
