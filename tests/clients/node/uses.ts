// The types of the client, as a user meets them. It is compiled and not run. Each line behind `@ts-expect-error` must be an error.
import {
  AskboxError,
  Conflict,
  hashes,
  Mailbox,
  resumed,
  Round,
  Waiting,
  type Answer,
  type Outcome,
  type Run,
  type Value,
} from "@askbox/client";

const box = new Mailbox("/tmp/questions", { programs: "/usr/bin", limit: 5000 });

async function main(): Promise<number> {
  const run: Run | null = await resumed();
  if (!run) {
    const asked: Round = await box.post("Which?", { workflowId: "w", options: { a: "A", b: null }, type: "choice" });
    await box.post({
      questions: [{ question: "How many?", type: "number", range: { min: 1 } }],
      options: [{ label: "10" }, "9"],
      later_field: 1,
    });
    const options: string[] = asked.options.map((one) => one.key);
    // @ts-expect-error: there is no such type of a question
    await box.post("Which?", { type: "chose" });
    // @ts-expect-error: rounds are made by the client
    new Round("w");
    return options.length ? Waiting.exitStatus : 1;
  }
  const answer: Answer | null = run.answer;
  const value: Value | null = (await box.wait("w", { timeout: 1000, signal: AbortSignal.timeout(5) })).value;
  for await (const round of box.watch({ interval: 100 })) {
    const outcome: Outcome | null = round.outcome;
    if (outcome === "withdrawn") break;
  }
  try {
    await box.withdraw("w", { why: "late" });
  } catch (error) {
    if (error instanceof Conflict) return error.exitStatus;
    if (error instanceof AskboxError) console.log(error.hint);
  }
  const once: boolean = await box.once("call");
  const path: string = await box.checkpoint.save("w", { current_step: "x" });
  const hash: string = hashes.shown({ workflow_id: "w" });
  // @ts-expect-error: the value may be missing
  value.length;
  return [answer, once, path, hash].length;
}
main();
