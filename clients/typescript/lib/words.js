// The decision of a person about a call, and the sentences that tell it to a model. `words.py` says the same, in the same words.
// `tests/clients/words.json` holds the two, and the sentences of the programs, together.

import { isDeepStrictEqual } from "node:util";

const MAYBE =
  "This call may have been made already, by an earlier attempt that did not come to its end. It was not made again now. " +
  "Look for its effect before you go on, or ask the person.";

/** The end of a line, for any reader. */
const END = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/g;

/** The part of an answer that is about one call: `args` of the tool `name`. Both are null for a question of the model. */
export class Decision {
  /** `value` is null if the person declined. */
  constructor({ value, note, asksBack }, [name, args]) {
    Object.assign(this, { value: value ?? null, note, asksBack, name, args });
    this.isPlain = name == null || ["allow", "deny", null].includes(this.value);
  }

  /** The arguments that the person put in place of those of the call; null if they changed nothing. */
  get changed() {
    if (this.isPlain || this.unclear !== null) return null;
    const changed = { ...this.args, ...read(this.value) };
    return isDeepStrictEqual(changed, this.args) ? null : changed;
  }

  /** Why nothing is decided by this value; null if something is. */
  get unclear() {
    if (this.isPlain) return null;
    const names = Object.keys(read(this.value));
    if (!names.length || !this.args)
      return `the answer about the call of ${this.name} is not \`allow\`, \`deny\` or the changed arguments as a JSON object`;
    const other = names.find((name) => !Object.hasOwn(this.args, name));
    return other === undefined ? null : `the call of ${this.name} has no argument ${asJson(other)}`;
  }

  /** The words for the model in place of the call's result; null if the call is allowed. */
  get refusal() {
    if (this.value !== null && this.value !== "deny") return null;
    if (this.asksBack)
      return this.#askedBack(
        "This call is not allowed. Find out what they ask, then make the call again and reply in its description, or ask with your own tool.",
      );
    return (
      `The user refused this call.${this.#reason}Do not try to reach the same in another way: go on without it, or end your turn and say ` +
      "what is missing."
    );
  }

  /** The words for the model in place of the answer to its own question; null if there is one. */
  get noAnswer() {
    if (this.value !== null) return null;
    if (this.asksBack)
      return this.#askedBack(
        "This is no answer: decide nothing. Find out what they ask, then ask your question again with the reply in it.",
      );
    return `The user declined to answer.${this.#reason}Do not guess an answer: go on without it, or end your turn and say what is missing.`;
  }

  /** The words for the model beside the result of the allowed call, or beside the answer to its question. */
  get beside() {
    if (this.name == null) return this.#added.trimStart() || null;
    const name = within(this.name, ",");
    if (!this.changed)
      return this.note ? `Your user allowed this call of ${name}, and says:${atTheEnd(this.note)}\nThis allows no other call.` : null;
    return (
      `Your user changed this call of ${name} before they allowed it. What was run is not what the call said, but this:` +
      `${atTheEnd(asJson(this.changed))}\nThe result is that of the changed call.` +
      `${this.note ? `\nThey say beside it:${atTheEnd(this.note)}` : ""}\nThis allows no other call.`
    );
  }

  /** The words for the model in place of the result, if the SDK cannot be given the changed call. */
  get instead() {
    return (
      "Your call was not made, because your user has changed it, and your program cannot be given a changed call. Make this call instead: " +
      `${asJson(this.changed)}${this.#added}`
    );
  }

  /** The words for the model if the allowed call is marked already. */
  get maybe() {
    return `${MAYBE}${this.changed ? ` Your user had changed it into this:${atTheEnd(asJson(this.changed))}` : ""}${this.#added}`;
  }

  #askedBack(then) {
    return `The user asks back before they decide:${atTheEnd(this.note ?? "")}\n${then}`;
  }

  get #reason() {
    return this.note ? ` They say:${atTheEnd(this.note)}\n` : " ";
  }

  get #added() {
    return this.note ? `\nThe user added:${atTheEnd(this.note)}` : "";
  }
}

/** Another question waits, so nobody was asked about this call. */
export function waitsBehind(title) {
  return (
    `Your user has not answered an earlier question yet: ${within(title, ".")}. A person has to allow this call too: make it again once ` +
    "that answer is there."
  );
}

/** A text behind a `label:` of ours, or quoted below it. None of its lines stands where one of ours stands. */
function atTheEnd(text) {
  const kept = text.replace(new RegExp(`(?:${END.source})$`), "");
  const quoted = kept.replace(END, (end) => `${end}${end.endsWith("\n") ? "" : "\n"}> `);
  return quoted === kept ? ` ${kept}` : `\n> ${quoted}`;
}

/** A text inside one of our lines, where `end` follows. */
function within(text, end) {
  const isClear = text && text.trim() === text && !text.startsWith('"') && !text.includes(end) && text.search(END) < 0;
  return isClear ? text : asJson(text);
}

function asJson(value) {
  const hidden = /[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;
  return JSON.stringify(value).replace(hidden, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** The JSON object in a text; empty if there is none. */
function read(text) {
  try {
    const found = JSON.parse(text);
    return found !== null && typeof found === "object" && !Array.isArray(found) ? found : {};
  } catch {
    return {};
  }
}
