// Reads the round that a runner gives to the program that it starts.

import { Invalid, NotFound } from "./errors.js";
import { parse, stringify } from "./json.js";
import { Bad, MIB, readFile } from "./reading.js";
import { Round } from "./round.js";

/** Resolves to the round of this run; null outside of a run. `source`, such as `process.stdin`, is read if `$ASKBOX_ROUND` is missing. */
export async function resumed(source) {
  const file = process.env.ASKBOX_ROUND;
  if (!file && !source) return null;
  const of = `ASKBOX_ROUND: ${file ?? "the standard input"}`;
  const hint = "unset ASKBOX_ROUND outside of a run";
  let given;
  let text;
  try {
    const content = file ? readFile(file, 128 * MIB) : await bytes(source);
    if (content === undefined) throw new NotFound(`${of} does not exist`, hint);
    text = content.toString().trim();
    if (!text) return null;
    given = JSON.parse(text);
  } catch (error) {
    if (error instanceof Bad) throw new Invalid(`${of} ${error.message}`, hint);
    if (error instanceof SyntaxError) throw new Invalid(`${of} is not JSON: ${error.message}`, hint);
    throw error;
  }
  if (given?.v !== 1)
    throw new Invalid(
      `v: the round has version ${given?.v}, and this client reads 1`,
      "update the package @askbox/client; exit with status 5",
    );
  if (given.document === null || typeof given.document !== "object") throw new Invalid(`${of} lacks the field document`, hint);
  const round = new Round(given.workflow_id, given.question_id, "running", stringify(parse(text, 65).get("document")));
  return {
    workflowId: given.workflow_id,
    questionId: given.question_id,
    attempt: given.attempt,
    why: given.why,
    round,
    answer: round.answer,
    value: round.value,
    checkpoint: given.checkpoint ?? null,
    earlier: given.earlier ?? null,
    once: given.once ?? [],
  };
}

async function bytes(source) {
  const chunks = [];
  for await (const chunk of source) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}
