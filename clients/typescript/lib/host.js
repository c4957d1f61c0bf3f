// The parts that the helpers for SDKs share: the calls that await a person, the state that is saved before they are asked, and the answer.
// A helper is a function of one run. It goes on with the answer that its runner gives, or begins. When the SDK pauses, it saves the state,
// posts the question and throws Waiting.

import { isDeepStrictEqual } from "node:util";
import { Mailbox } from "../index.js";
import { Conflict, Invalid, Waiting } from "./errors.js";
import { resumed } from "./resumed.js";

/** The version of what a helper saves. A helper refuses any other one with Invalid, so the round is parked. */
const VERSION = 1;

const MAYBE =
  "This call may have been made already, by an earlier attempt that did not come to its end. It was not made again now. " +
  "Look for its effect before you go on, or ask the person.";

/** The part of a question that shows a call whole and asks whether it may be made. */
export function permission(id, name, input) {
  const shown = JSON.stringify(input, null, 2).replaceAll(/^/gm, "    ");
  return { id, question: `Allow ${name}?\n\n${shown}`, type: "choice", options: ["allow", "deny"], free_text: false };
}

/** One run of a helper. */
export class Host {
  #sdk;
  #box;
  #workflowId;
  #run;
  /** The parts of the answer, by the ids of the calls. */
  decisions = new Map();

  static async of(sdk, workflowId, box = new Mailbox()) {
    const run = await resumed();
    return new Host(sdk, workflowId, box, run?.workflowId === workflowId ? run : null);
  }

  constructor(sdk, workflowId, box, run) {
    this.#sdk = sdk;
    this.#workflowId = workflowId;
    this.#box = box;
    this.#run = run;
  }

  /** The saved state that the answer of this run is about; null if the helper begins. Throws Waiting if its question awaits a person. */
  async goOn() {
    const saved = await this.#saved();
    if (!saved) return null;
    const run = this.#run;
    if (run && saved.by !== run.questionId) {
      const { document } = run.round;
      if (!run.answer || !document.sdk) return null;
      if (!asks(document, saved))
        throw new Invalid(
          `the answer to ${run.questionId} is about other calls than those that ${this.#workflowId} has saved`,
          "see both: ask-answer show and checkpoint show",
        );
      this.decisions = decisionsOf(document, run.answer);
      return saved.state;
    }
    // This state was saved on the way to a question: by an earlier attempt of this round, or by a program outside of a run.
    const found = await this.#box.round(this.#workflowId);
    if (!found || !asks(found.document, saved)) await this.#post(saved.question);
    if (!run && found.folder === "closed") return null;
    if (!run && found.folder !== "pending")
      throw new Conflict(
        `${this.#workflowId} is ${found.state}: a runner goes on with the answer`,
        `see it: relaunch status ${this.#workflowId}`,
      );
    throw this.#waiting();
  }

  async #saved() {
    const found = (await this.#box.checkpoint.get(this.#workflowId, undefined, null))?.state_variables?.[this.#sdk];
    if (found == null) return null;
    if (found.v !== VERSION)
      throw new Invalid(
        `the saved state of ${this.#workflowId} has version ${found.v}, and this helper reads ${VERSION}`,
        "go on with the version of the package @askbox/client that saved it",
      );
    return found;
  }

  /** Saves the state durably, posts the question, and throws Waiting. `parts` are the calls, by their own ids. */
  async ask(parts, state) {
    const { id: _, ...only } = parts[0];
    const sdk = { name: this.#sdk, calls: parts.map((part) => part.id) };
    const question = { workflow_id: this.#workflowId, ...(parts.length === 1 ? only : { questions: parts }), sdk };
    const before = (await this.#box.checkpoint.get(this.#workflowId, undefined, null)) ?? { current_step: "a person is awaited" };
    const saved = { v: VERSION, by: this.#run?.questionId ?? null, question, state };
    const variables = { ...before.state_variables, [this.#sdk]: saved };
    await this.#box.checkpoint.save(this.#workflowId, { ...before, state_variables: variables });
    await this.#post(question);
  }

  /** Null if the call may be made now, and it is marked by then. Otherwise the words for the model. */
  async whyNot(id) {
    const { value, note, asksBack } = this.decisions.get(id);
    if (value === "allow") return (await this.#box.once(`${this.#sdk} ${id}`)) ? null : MAYBE;
    if (asksBack) return `The person asks before they decide: ${note}`;
    return `The person did not allow this call.${note ? ` They say: ${note}` : ""}`;
  }

  async #post(question) {
    await this.#box.post(question);
    throw this.#waiting();
  }

  #waiting() {
    return new Waiting(
      `a person is awaited: ${this.#workflowId}`,
      `exit with status 6; the person answers with ask-answer ${this.#workflowId}`,
    );
  }
}

/** Whether a document asks exactly the question that was saved. */
function asks(document, saved) {
  return ["sdk", "question", "questions"].every((name) => isDeepStrictEqual(document[name], saved.question[name]));
}

function decisionsOf(document, { value, note, asksBack }) {
  const of = (call) => (document.questions ? value?.[call] : value);
  return new Map(document.sdk.calls.map((call) => [call, { value: of(call), note, asksBack }]));
}
