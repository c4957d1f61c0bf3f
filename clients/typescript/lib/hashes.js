// The hashes of the protocol: which question was asked, what the person saw, and what they answered. A question is its text as JSON, or an
// object. The text is exact; in an object, JavaScript has lost the order of keys that are integers.

import { createHash } from "node:crypto";
import { Num, parse, plain, shortest, stringify } from "./json.js";

const OID = "6ba7b812-9dad-11d1-80b4-00c04fd430c8";
const SEEN = `question type options free_text range questions workflow_id timestamp asked_by context expires_at on_expiry default until
 remind_every priority cwd parent in_reply_to approval elicited_by to_session live attachments`.split(/\s+/);
const OF_ITS_MACHINE = "checkpoint session_id config_dir asked_in tool_call prompt reads results".split(" ");
const PART = "id question header type multiSelect options free_text range".split(" ");
const LEFT_OUT_IF_EMPTY = ["question", "options", "questions", "multiSelect", "to_session", "attachments"];

const ordered = (given) =>
  given instanceof Map ? given : parse(typeof given === "string" ? given.replace(/^\uFEFF/, "") : JSON.stringify(given));

/** The hash of what is asked: a UUID. */
export function questionHash(question) {
  const q = ordered(question);
  const parts = inOrder(q, ["questions"]).get("questions") ?? [];
  const asked = [
    q.get("workflow_id"),
    q.get("question") || "",
    q.get("type") ?? null,
    optionsInForm(q.get("options")),
    parts,
    q.get("timestamp") ?? null,
  ];
  return uuid5(OID, Buffer.from(stringify(asked)));
}

/** The id of the nth round of a question that has no `question_id`. */
export function derivedId(question, n) {
  const name = Buffer.alloc(4);
  name.writeUInt32BE(n);
  return uuid5(questionHash(question), name);
}

/** The hash of the fields that a person sees on any machine. */
export function seen(question) {
  return sha256(inOrder(ordered(question), SEEN));
}

/** The hash of the fields that stay on the machine of the question. */
export function ofItsMachine(question) {
  const q = ordered(question);
  return sha256(OF_ITS_MACHINE.map((name) => q.get(name) ?? (name === "reads" || name === "results" ? [] : null)));
}

/** The hash of all that is shown of a question. An answer names the one that it decided on. */
export function shown(question) {
  return sha256([seen(question), ofItsMachine(question)]);
}

/** The hash of what was answered: a UUID. */
export function answerHash(question, answer) {
  const a = ordered(answer);
  const said = [a.get("outcome") || "answered", a.get("value") ?? null, a.get("note") ?? null];
  if (a.get("edited") != null) said.push(a.get("edited"));
  if (a.get("always") === true) said.push(true);
  if (a.get("stops") === true) said.push("stops");
  return uuid5(questionHash(question), Buffer.from(stringify(said)));
}

/** Options as they are hashed: a Map of descriptions, or a list of Maps if one has a preview. */
export function optionsInForm(written) {
  const given =
    written instanceof Map
      ? [...written].map(
          ([label, description]) =>
            new Map([
              ["label", label],
              ["description", description],
            ]),
        )
      : (written ?? []);
  const found = given.map((one) => {
    const option = one instanceof Map ? one : new Map([["label", one]]);
    const form = new Map([
      ["label", option.get("label") ?? option.get("key") ?? option.get("value")],
      ["description", option.get("description") ?? ""],
    ]);
    if (option.get("preview") != null) form.set("preview", option.get("preview"));
    return form;
  });
  return found.some((one) => one.has("preview")) ? found : new Map(found.map((one) => [one.get("label"), one.get("description")]));
}

const FORMS = {
  options: optionsInForm,
  questions: (parts) => parts.map((part) => inOrder(part, PART)),
  range: (range) => {
    const there = ["min", "max", "step", "unit"].filter((name) => range.get(name) != null);
    return new Map(there.map((name) => [name, name === "unit" ? range.get(name) : new Num(shortest(Number(range.get(name).raw)))]));
  },
  expires_at: utc,
  until: (until) => (until.get("at") ? new Map([["at", utc(until.get("at"))]]) : new Map([["file", until.get("file")]])),
  default: readValue,
  remind_every: wholeUnits,
  in_reply_to: (id) => uuidForm(id),
  attachments: (files) => files.map((file) => new Map(["name", "type", "size", "sha256"].map((name) => [name, file.get(name)]))),
};

/** The fields that are there, each in the form in which it is hashed. */
function inOrder(written, fields) {
  const there = fields.filter((name) => written.get(name) != null);
  const found = there.map((name) => [name, FORMS[name] ? FORMS[name](written.get(name)) : written.get(name)]);
  const isEmpty = (value) => value === "" || value === false || value.length === 0 || value.size === 0;
  return new Map(found.filter(([name, value]) => !(LEFT_OUT_IF_EMPTY.includes(name) && isEmpty(value))));
}

function readValue(value) {
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (value instanceof Num) {
    if (value.isInteger && BigInt(value.raw) >= -(2n ** 63n) && BigInt(value.raw) < 2n ** 64n) return String(BigInt(value.raw));
    return plain(Number(value.raw));
  }
  if (Array.isArray(value)) return value.map(readValue);
  return value instanceof Map ? new Map([...value].map(([key, one]) => [key, readValue(one)])) : value;
}

/** A time as UTC with `Z`, with none, three, six or nine digits of a second's fraction. */
export function utc(text) {
  const found = /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)$/.exec(text);
  const at = found ? new Date(`${found[1]}T${found[2]}${found[4].toUpperCase()}`) : new Date(NaN);
  if (Number.isNaN(at.getTime())) throw new RangeError(`${text} is not a time of RFC 3339`);
  const nanos = (found[3] ?? "").padEnd(9, "0").slice(0, 9);
  const width = [0, 3, 6, 9].find((digits) => /^0*$/.test(nanos.slice(digits)));
  return at.toISOString().slice(0, 19) + (width ? `.${nanos.slice(0, width)}` : "") + "Z";
}

const SECOND = 10n ** 9n;
const UNITS = {
  ns: 1n,
  us: 1000n,
  ms: 10n ** 6n,
  s: SECOND,
  m: 60n * SECOND,
  h: 3600n * SECOND,
  d: 86400n * SECOND,
  w: 604800n * SECOND,
  M: 2630016n * SECOND,
  y: 31557600n * SECOND,
};
const WORDS = { sec: "s", second: "s", min: "m", minute: "m", hour: "h", hr: "h", day: "d", week: "w", month: "M", year: "y" };

/** The length of a duration such as `90s` or `1h 30m` as a BigInt. Undefined if the text is not one. */
export function nanoseconds(text) {
  if (!/^\s*(?:\d+(?:\.\d+)?\s*[A-Za-z]+\s*)+$/.test(text)) return undefined;
  let total = 0n;
  for (const [, whole, fraction, unit] of text.matchAll(/(\d+)(?:\.(\d+))?\s*([A-Za-z]+)/g)) {
    const of = UNITS[unit] ?? UNITS[WORDS[unit] ?? WORDS[unit.replace(/s$/, "")]];
    if (of === undefined) return undefined;
    total += BigInt(whole) * of + (fraction ? (BigInt(fraction) * of) / 10n ** BigInt(fraction.length) : 0n);
  }
  return total;
}

function wholeUnits(text) {
  let left = nanoseconds(text);
  if (left === undefined) throw new RangeError(`${text} is not a duration such as 4h`);
  const found = [];
  for (const [word, of] of [
    ["year", UNITS.y],
    ["month", UNITS.M],
    ["day", UNITS.d],
    ...["h", "m", "s", "ms", "us", "ns"].map((unit) => [unit, UNITS[unit]]),
  ]) {
    const many = left / of;
    if (many) found.push(`${many}${word}${word.length > 2 && many > 1n ? "s" : ""}`);
    left %= of;
  }
  return found.join(" ") || "0s";
}

/** A UUID in lower case with dashes. Undefined if the text is not one. */
export function uuidForm(text) {
  const digits = typeof text === "string" && (text.length === 32 || text.length === 36) ? text.replaceAll("-", "").toLowerCase() : "";
  if (!/^[0-9a-f]{32}$/.test(digits)) return undefined;
  return [digits.slice(0, 8), digits.slice(8, 12), digits.slice(12, 16), digits.slice(16, 20), digits.slice(20)].join("-");
}

function sha256(value) {
  return createHash("sha256").update(stringify(value)).digest("hex");
}

function uuid5(namespace, name) {
  const bytes = createHash("sha1")
    .update(Buffer.from(namespace.replaceAll("-", ""), "hex"))
    .update(name)
    .digest()
    .subarray(0, 16);
  bytes[6] = (bytes[6] & 0x0f) | 0x50;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  return uuidForm(bytes.toString("hex"));
}
