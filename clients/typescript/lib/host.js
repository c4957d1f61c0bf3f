// The parts that the helpers for SDKs share: the calls that await a person, the state that is saved before they are asked, and the answer.
// A helper is a function of one run. It goes on with the answer that its runner gives, or begins. When the SDK pauses, it saves the state,
// posts the question and throws Waiting.

import { isDeepStrictEqual } from "node:util";
import { Mailbox } from "../index.js";
import { Conflict, Invalid, Waiting } from "./errors.js";
import { resumed } from "./resumed.js";
import { Decision } from "./words.js";

/** The version of what a helper saves. A helper refuses any other one with Invalid, so the round is parked. */
const VERSION = 1;

/** The part of a question that shows a call whole and asks whether it may be made. Arguments with names may be changed. */
export function permission(id, name, input) {
  const shown = (typeof input === "string" ? input : JSON.stringify(input, null, 2)).replaceAll(/^/gm, "    ");
  const named = input !== null && typeof input === "object" && !Array.isArray(input) && Object.keys(input).length ? input : null;
  const how = named ? "\n\nTo change it, answer with the changed arguments as a JSON object." : "";
  const part = { id, question: `Allow ${name}?\n\n${shown}${how}`, type: "choice", options: ["allow", "deny"] };
  return { ...part, free_text: named !== null, call: [name, named] };
}

/** One run of a helper. */
export class Host {
  #sdk;
  #box;
  #state = null;
  /** The parts of the answer, by the ids of the calls. */
  decisions = new Map();

  static async of(sdk, workflowId, box = new Mailbox()) {
    const run = await resumed();
    return new Host(sdk, workflowId, box, run?.workflowId === workflowId ? run : null);
  }

  constructor(sdk, workflowId, box, run) {
    this.#sdk = sdk;
    this.workflowId = workflowId;
    this.#box = box;
    this.run = run;
  }

  /** The saved state that the answer of this run is about; null if the helper begins. Throws Waiting if its question awaits a person. */
  async goOn() {
    const saved = await this.saved();
    if (!saved) return null;
    const run = this.run;
    if (run && saved.by !== run.questionId) {
      const { document } = run.round;
      if (!run.answer || !document.sdk) return null;
      if (!asks(document, saved))
        throw new Invalid(
          `the answer to ${run.questionId} is about other calls than those that ${this.workflowId} has saved`,
          "see both: ask-answer show and checkpoint show",
        );
      this.#state = saved;
      this.decisions = decisionsOf(saved, run.answer);
      for (const { unclear } of this.decisions.values()) if (unclear !== null) await this.askAgain(unclear);
      return saved.state;
    }
    // This state was saved on the way to a question: by an earlier attempt of this round, or by a program outside of a run.
    const found = await this.#box.round(this.workflowId);
    // The round of this run asks the same, if its answer was unclear and is asked about again.
    if (!found || !asks(found.document, saved) || found.questionId === run?.questionId) await this.#post(saved.question);
    if (!run && found.folder === "closed") return null;
    if (!run && found.folder !== "pending")
      throw new Conflict(
        `${this.workflowId} is ${found.state}: a runner goes on with the answer`,
        `see it: relaunch status ${this.workflowId}`,
      );
    throw this.#waiting();
  }

  /** What was saved last, with its question. Throws Invalid if this version cannot read it. */
  async saved() {
    const found = (await this.#box.checkpoint.get(this.workflowId, undefined, null))?.state_variables?.[this.#sdk];
    if (found == null) return null;
    if (found.v !== VERSION)
      throw new Invalid(
        `the saved state of ${this.workflowId} has version ${found.v}, and this helper reads ${VERSION}`,
        "go on with the version of the package @askbox/client that saved it",
      );
    return found;
  }

  /** Saves the state durably, posts the question, and throws Waiting. `parts` are the calls, by their own ids. */
  async ask(parts, state) {
    const calls = Object.fromEntries(parts.filter(({ call }) => call).map(({ id, call }) => [id, call]));
    const questions = parts.map(({ call: _, ...part }) => part);
    const { id: _, header: __, ...only } = questions[0];
    const sdk = { name: this.#sdk, calls: parts.map((part) => part.id) };
    const question = { workflow_id: this.workflowId, ...(parts.length === 1 ? only : { questions }), sdk };
    await this.#ask({ question, state, calls });
  }

  /** Asks the same question once more, because its answer decides nothing. No call of it is marked yet. */
  async askAgain(why) {
    const { question, state, calls } = this.#state;
    const context = `Your last answer was not used, and nothing was done: ${why}.`;
    await this.#ask({ question: { ...question, context }, state, calls });
  }

  async #ask(asked) {
    const before = (await this.#box.checkpoint.get(this.workflowId, undefined, null)) ?? { current_step: "a person is awaited" };
    const saved = { v: VERSION, by: this.run?.questionId ?? null, ...asked };
    const variables = { ...before.state_variables, [this.#sdk]: saved };
    await this.#box.checkpoint.save(this.workflowId, { ...before, state_variables: variables });
    await this.#post(asked.question);
  }

  /** Null if the call may be made now, and it is marked by then. Otherwise the words for the model. */
  async whyNot(id) {
    const { refusal, maybe } = this.decisions.get(id);
    return refusal ?? ((await this.#box.once(`${this.#sdk} ${id}`)) ? null : maybe);
  }

  async #post(question) {
    await this.#box.post(question);
    throw this.#waiting();
  }

  #waiting() {
    return new Waiting(
      `a person is awaited: ${this.workflowId}`,
      `exit with status 6; the person answers with ask-answer ${this.workflowId}`,
    );
  }
}

/** Whether a document asks exactly the question that was saved. */
function asks(document, saved) {
  return ["sdk", "question", "questions"].every((name) => isDeepStrictEqual(document[name], saved.question[name]));
}

function decisionsOf({ question, calls = {} }, answer) {
  const of = (id) => ({ ...answer, value: question.questions ? answer.value?.[id] : answer.value });
  return new Map(question.sdk.calls.map((id) => [id, new Decision(of(id), calls[id] ?? [null, null])]));
}
