// A round of a workflow, with its answer.

import { optionsInForm } from "./hashes.js";
import { parse } from "./json.js";

/** The complete answer of a document. Null if there is none, or only a draft made by hand. */
export function answerOf(document) {
  const a = document.answer;
  if (a === null || typeof a !== "object" || !a.at || !a.question_hash) return null;
  const { value = null, by = null, note = null, channel = null, through = null, at } = a;
  return { outcome: a.outcome || "answered", value, by, note, asksBack: a.asks_back === true, channel, through, at, fields: a };
}

export class Round {
  #text;

  /** `text` is the document as JSON. */
  constructor(workflowId, questionId, folder, text, repeated = false) {
    this.workflowId = workflowId;
    this.questionId = questionId;
    this.folder = folder;
    this.document = JSON.parse(text);
    this.repeated = repeated;
    this.#text = text;
  }

  get state() {
    if (this.folder === "pending" && this.document.until) return "waiting";
    return (this.folder === "closed" && this.document.closed?.state) || this.folder;
  }

  get answer() {
    return answerOf(this.document);
  }

  get value() {
    return this.answer?.value ?? null;
  }

  get outcome() {
    return this.answer?.outcome ?? (this.folder === "closed" ? this.state : null);
  }

  /** The options in the asker's order: `document.options` may have lost it. */
  get options() {
    const form = optionsInForm(parse(this.#text).get("options"));
    const list = form instanceof Map ? [...form].map(([label, description]) => ({ label, description })) : form.map(Object.fromEntries);
    return list.map(({ label, ...more }) => ({ key: label, ...more }));
  }

  /** The document as JSON, with its fields in order. */
  get text() {
    return this.#text;
  }
}
