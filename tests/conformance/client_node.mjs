// The harness of the client for TypeScript. With `alone` as its argument, the client finds no programs.
import readline from "node:readline";
import { AskboxError, hashes, Mailbox, ProgramMissing } from "../../clients/typescript/index.js";
import { parse } from "../../clients/typescript/lib/json.js";

const KINDS = { 1: "failed", 2: "usage", 3: "not_found", 4: "conflict", 5: "invalid" };
const programs = process.argv[2] === "alone" ? "/nowhere" : undefined;
const named = (round) => ({ workflow_id: round.workflowId, question_id: round.questionId });

const operations = {
  async post(box, { question }) {
    const posted = await box.post(question);
    return { ...named(posted), repeated: posted.repeated };
  },
  withdraw: async (box, { workflow_id, why }) => named(await box.withdraw(workflow_id, { why })),
  async round(box, { workflow_id, question_id }) {
    const found = await box.round(workflow_id, question_id ?? undefined);
    return found ? { state: found.folder, question_id: found.questionId, document: found.document } : { state: "none" };
  },
  pending: async (box) => ({ questions: (await box.pending()).map(named) }),
  async save(box, { workflow_id, checkpoint }) {
    await box.checkpoint.save(workflow_id, checkpoint);
    return {};
  },
  load: async (box, { workflow_id }) => ({ checkpoint: await box.checkpoint.get(workflow_id) }),
  // The hashes need the question as it is written: JavaScript loses the order of keys that are integers.
  async hash(_, { n = 0 }, line) {
    const request = parse(line, 66);
    const [question, answer] = [request.get("question"), request.get("answer")];
    return {
      question_hash: hashes.questionHash(question),
      seen: hashes.seen(question),
      of_its_machine: hashes.ofItsMachine(question),
      shown: hashes.shown(question),
      derived_id: hashes.derivedId(question, n),
      ...(answer && { answer_hash: hashes.answerHash(question, answer) }),
    };
  },
};

for await (const line of readline.createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  let reply;
  try {
    const operation = operations[request.do];
    reply = operation ? await operation(new Mailbox(request.mailbox, { programs }), request, line) : { unsupported: true };
  } catch (error) {
    if (error instanceof ProgramMissing) reply = { unsupported: true };
    else if (error instanceof AskboxError) reply = { error: KINDS[error.exitStatus], message: error.message };
    else throw error;
  }
  process.stdout.write(`${JSON.stringify(reply)}\n`);
}
