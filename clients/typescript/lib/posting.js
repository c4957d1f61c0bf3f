// A post without askbox's programs, by the protocol alone: it needs no lock, because a name is taken only once.

import { randomBytes, randomInt } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { Conflict, Failed, Invalid, NotFound, Usage } from "./errors.js";
import { nanoseconds, optionsInForm, questionHash, utc, uuidForm } from "./hashes.js";
import { parse, stringify } from "./json.js";
import { Bad, checkQuestionId, checkWorkflowId, LATER, MIB, NEVER_NULL, nullField, refuseUnsafeFolder } from "./reading.js";
import { Round } from "./round.js";

const TYPES = ["choice", "multi_choice", "yes_no", "text", "number"];
const OF_THE_PROGRAMS = [
  "approval",
  "tool_call",
  "elicited_by",
  "to_session",
  "continues_in",
  "prompt",
  "reads",
  "results",
  "answer",
  "closed",
  "taken_back",
  "late_answers",
];
const NEED_A_PROGRAM = ["default", "until", "attachments"];
const TEXTS = ["question", "context", "asked_by", "timestamp", "cwd", "config_dir", "checkpoint"];

/** A value as JSON. Throws Invalid where JSON would lose something. */
export function toJson(value, what) {
  if (value === null || typeof value !== "object" || Array.isArray(value))
    throw new Invalid(`${what}: it is not an object`, `pass the ${what} as an object`);
  const bad = (text) => typeof text === "string" && /\p{Surrogate}/u.test(text);
  const check = (key, one) => {
    if (bad(key) || bad(one))
      throw new Invalid(
        `${what}: ${JSON.stringify(key)} is not UTF-8: it has half of a surrogate pair`,
        "use String.prototype.toWellFormed",
      );
    if (typeof one === "number" && !Number.isFinite(one))
      throw new Invalid(`${what}: ${JSON.stringify(key)} is ${one}, which JSON does not have`, "pass it as text");
    return one;
  };
  try {
    return JSON.stringify(value, check);
  } catch (error) {
    if (error instanceof Invalid) throw error;
    throw new Invalid(`${what}: it is not JSON: ${error.message}`, "use texts, numbers, lists and objects");
  }
}

/** Refuses options whose order JavaScript has lost. */
export function refuseReordered(question) {
  for (const asked of [question, ...(Array.isArray(question.questions) ? question.questions : [])]) {
    const keys = asked?.options && !Array.isArray(asked.options) ? Object.keys(asked.options) : [];
    if (keys.length > 1 && keys.some((key) => /^(0|[1-9]\d*)$/.test(key))) {
      throw new Invalid(
        "options: JavaScript moves keys that are integers to the front",
        'pass a list: [{ label: "10", description: "…" }, …]',
      );
    }
  }
}

/** Writes a question as a new file. `make` permits to make a mailbox that does not exist. */
export function post(folder, question, make) {
  const document = filledIn(question);
  const text = checked(document);
  const { workflow_id: workflowId, question_id: questionId } = document;
  prepare(folder, make);
  const wentOn = (id) => LATER.includes(folder.round(workflowId, id)?.folder);
  if (question.question_id && wentOn(questionId))
    throw new Conflict(
      `question_id ${questionId} is in use: ${workflowId} has asked that question before`,
      "leave question_id out: every post gets a new one",
    );
  if (newFile(folder.below("pending"), `${workflowId}.json`, text)) return new Round(workflowId, questionId, "pending", text);
  return thatWaits(folder, text, workflowId, wentOn);
}

function filledIn(question) {
  const isThere = ([name, value]) => value !== undefined && (value !== null || NEVER_NULL.includes(name));
  const fields = Object.fromEntries(Object.entries(question).filter(isThere));
  const workflowId =
    fields.workflow_id ?? (process.env.WORKFLOW_ID || process.env.ASKBOX_WORKFLOW_ID || `q-${randomBytes(8).toString("hex")}`);
  return {
    schema_version: 1,
    timestamp: new Date().toISOString(),
    cwd: process.cwd(),
    ...trace(),
    ...fields,
    workflow_id: checkWorkflowId(workflowId, "workflow_id"),
    question_id: fields.question_id === undefined ? uuid7() : checkQuestionId(fields.question_id, "question_id"),
  };
}

/** The trace that this process belongs to. A malformed one is no trace. */
function trace() {
  const { TRACEPARENT: traceparent = "", TRACESTATE: tracestate = "" } = process.env;
  if (!/^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/.test(traceparent)) return {};
  return { trace: tracestate && tracestate.length <= 512 ? { traceparent, tracestate } : { traceparent } };
}

function uuid7() {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(Date.now(), 0, 6);
  bytes[6] = (bytes[6] & 0x0f) | 0x70;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  return uuidForm(bytes.toString("hex"));
}

/** The text of a document that every reader accepts. */
function checked(document) {
  for (const name of OF_THE_PROGRAMS)
    if (document[name]) throw new Invalid(`${name}: only askbox's own programs write this field`, `leave ${name} out`);
  for (const name of NEED_A_PROGRAM) {
    if (document[name] != null)
      throw new Usage(
        `${name}: a post with this field needs the program ask-post, which is not on PATH`,
        "install askbox, or name its folder: new Mailbox(path, { programs })",
      );
  }
  if (document.schema_version !== 1) throw new Invalid("schema_version: this client writes version 1", "leave schema_version out");
  for (const name of TEXTS) need(name, document[name], "string", "a text");
  for (const name of ["checkpoint", "cwd", "config_dir"]) {
    if (document[name] !== undefined && !path.isAbsolute(document[name]))
      throw new Invalid(`${name}: ${document[name]} is not an absolute path`, "use path.resolve");
  }
  if (document.parent !== undefined) checkWorkflowId(document.parent, "parent");
  for (const name of ["session_id", "in_reply_to"]) if (document[name] !== undefined) checkQuestionId(document[name], name);
  const priority = document.priority ?? 0;
  if (!Number.isInteger(priority) || priority < -(2 ** 31) || priority >= 2 ** 31)
    throw new Invalid(`priority: ${priority} is not an integer of 32 bits`, "use a small integer; larger ones come first");
  checkDates(document);
  const parts = document.questions ?? [];
  if (
    !Array.isArray(parts) ||
    parts.length > 64 ||
    parts.some((part) => part === null || typeof part !== "object" || Array.isArray(part))
  ) {
    throw new Invalid("questions: a batch is a list of up to 64 objects", "ask more questions in a later round");
  }
  parts.forEach((part, n) => checkAsked(`questions.${n + 1}.`, part, true));
  if (new Set(parts.map((part, n) => part.id ?? `q${n + 1}`)).size !== parts.length)
    throw new Invalid("questions: two parts have one id", "give each part an id of its own");
  if (parts.length === 0) checkAsked("", document, false);
  else needType("", document);
  const text = toJson(document, "question");
  let parsed;
  try {
    parsed = parse(text);
  } catch (error) {
    throw new Invalid(`question: ${error.message}`, "put it into the context, as text");
  }
  const isNull = nullField(parsed);
  if (isNull) throw new Invalid(`${isNull}: is null`, `leave ${isNull} out`);
  const length = Buffer.byteLength(text);
  if (length > MIB)
    throw new Invalid(`question: it is ${length} bytes long, and ${MIB} are the limit`, "shorten context; long texts belong into a file");
  return text;
}

function need(name, value, type, words) {
  if (value != null && typeof value !== type)
    throw new Invalid(`${name}: ${String(JSON.stringify(value)).slice(0, 80)} is not ${words}`, `make ${name} ${words}`);
}

function needType(at, asked) {
  if (asked.type != null && !TYPES.includes(asked.type))
    throw new Invalid(`${at}type: ${JSON.stringify(asked.type)} is not a type`, `use one of ${TYPES.join(", ")}`);
}

function checkDates({ expires_at: expires, on_expiry: expiry, remind_every: remind }) {
  if (expires !== undefined) {
    try {
      utc(expires);
    } catch {
      throw new Invalid(
        `expires_at: ${JSON.stringify(expires)} is not a time`,
        "write it as 2026-11-25T08:00:00Z: Date.prototype.toISOString",
      );
    }
  }
  if (expiry !== undefined && !["keep", "cancel"].includes(expiry))
    throw new Invalid(`on_expiry: ${JSON.stringify(expiry)} is not keep or cancel`, "a default needs the program ask-post");
  if (expiry === "cancel" && expires === undefined)
    throw new Invalid("on_expiry: cancel needs expires_at", "say when the question expires");
  const length = typeof remind === "string" ? nanoseconds(remind) : undefined;
  if (remind !== undefined && !(length >= 10n ** 9n && length <= 3660n * 86400n * 10n ** 9n))
    throw new Invalid(`remind_every: ${JSON.stringify(remind)} is not a duration of a second or more`, "write it as 4h");
}

/** Checks one question. */
function checkAsked(at, asked, isPart) {
  need(`${at}question`, asked.question, "string", "a text");
  need(`${at}free_text`, asked.free_text, "boolean", "true or false");
  if (isPart) {
    need(`${at}id`, asked.id, "string", "a text");
    need(`${at}header`, asked.header, "string", "a text");
    need(`${at}multiSelect`, asked.multiSelect, "boolean", "true or false");
  }
  if (!(asked.question ?? "").trim()) throw new Invalid(`${at}question: there is no question`, "write what the person is to decide");
  needType(at, asked);
  const keys = keysOf(at, asked.options);
  if (keys.length === 0 && (["choice", "multi_choice"].includes(asked.type) || (isPart && asked.multiSelect)))
    throw new Invalid(`${at}options: a choice needs an option`, "add options, or use the type text");
  const range = asked.range ?? {};
  if (typeof range !== "object" || Array.isArray(range))
    throw new Invalid(`${at}range: it is not an object`, "write { min, max, step, unit }");
  for (const name of ["min", "max", "step"]) need(`${at}range.${name}`, range[name], "number", "a number");
  need(`${at}range.unit`, range.unit, "string", "a text");
  if (range.step <= 0 || range.min > range.max)
    throw new Invalid(`${at}range: step is above 0, and min is not above max`, "correct the range");
}

function keysOf(at, options) {
  if (options == null) return [];
  if (typeof options !== "object")
    throw new Invalid(`${at}options: ${JSON.stringify(options)} is not options`, "use { key: description } or a list");
  if (!Array.isArray(options)) Object.values(options).forEach((one) => need(`${at}options`, one, "string", "an object of texts"));
  const keys = Array.isArray(options) ? options.map((one) => (typeof one === "string" ? one : labelOf(at, one))) : Object.keys(options);
  if (!keys.every((key) => typeof key === "string" && key.trim()))
    throw new Invalid(`${at}options: a key is empty`, "give each option a key");
  if (new Set(keys).size !== keys.length || keys.length > 256)
    throw new Invalid(`${at}options: the keys of up to 256 options differ`, "give each option a key of its own");
  return keys;
}

function labelOf(at, option) {
  const names = ["label", "key", "value"].filter((name) => option?.[name] !== undefined);
  if (names.length !== 1 || option.description === null)
    throw new Invalid(`${at}options: ${JSON.stringify(option)} is not an option`, "write { label, description }");
  for (const name of ["description", "preview"]) need(`${at}options.${name}`, option[name], "string", "a text");
  return option[names[0]];
}

/** Makes the folders that are missing, and sees to it that they survive a power cut. */
function prepare(folder, make) {
  if (!folder.exists() && !make)
    throw new NotFound(`the mailbox ${folder.path} is gone`, "another program removed it; make a new Mailbox to begin anew");
  for (const name of [folder.path, folder.below("pending"), folder.below("locks")]) makeFolders(name);
  if (fs.existsSync(folder.below("locks", "synced"))) return;
  // The folder that holds the mailbox is synced whoever owns it, and those above it while they are this user's.
  for (let above = folder.path; ; above = path.dirname(above)) {
    fsync(above);
    if (above === path.dirname(above) || (above !== folder.path && fs.statSync(above).uid !== process.geteuid())) break;
  }
  newFile(folder.below("locks"), "synced", "");
}

function makeFolders(name) {
  if (fs.statSync(name, { throwIfNoEntry: false })?.isDirectory()) return;
  makeFolders(path.dirname(name));
  try {
    fs.mkdirSync(name, 0o700);
  } catch (error) {
    if (error.code !== "EEXIST") throw failed("make", name, error);
    refuseUnsafeFolder(name);
  }
  fsync(path.dirname(name));
}

/** Writes a file that must not exist yet. False if it exists. It is on the disk before this returns. */
function newFile(folder, name, text) {
  const letters = "abcdefghijklmnopqrstuvwxyz0123456789";
  const temporary = path.join(folder, `.tmp${Array.from({ length: 12 }, () => letters[randomInt(letters.length)]).join("")}`);
  const target = path.join(folder, name);
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = fs.constants;
  try {
    const fd = fs.openSync(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    try {
      try {
        fs.writeFileSync(fd, text);
        fs.fsyncSync(fd);
      } finally {
        fs.closeSync(fd);
      }
      fs.linkSync(temporary, target);
    } finally {
      fs.unlinkSync(temporary);
    }
  } catch (error) {
    if (error.code === "EEXIST") return false;
    throw failed("write", target, error);
  }
  try {
    fsync(folder);
  } catch (error) {
    fs.unlinkSync(target);
    throw error;
  }
  return true;
}

function fsync(folder) {
  try {
    const fd = fs.openSync(folder, fs.constants.O_RDONLY | fs.constants.O_DIRECTORY);
    try {
      fs.fsyncSync(fd);
    } finally {
      fs.closeSync(fd);
    }
  } catch (error) {
    throw failed("sync", folder, error);
  }
}

const failed = (verb, name, error) =>
  new Failed(`cannot ${verb} ${name}: ${error.code ?? error.message}`, `see the disk: df ${path.dirname(name)}`);

/** The round whose file has taken the name, if it asks the same question. */
function thatWaits(folder, text, workflowId, wentOn) {
  let there;
  let questionId;
  try {
    there = folder.document("pending", workflowId);
    questionId = there && folder.idOf(there);
  } catch (error) {
    if (!(error instanceof Bad)) throw error;
    throw new Conflict(
      `pending/${workflowId}.json ${error.message}`,
      `read it, and remove it if it is not a question: ${folder.below("pending")}`,
    );
  }
  if (!there) throw new Conflict(`the question of ${workflowId} was settled at this moment`, "post again");
  if ((there.get("schema_version")?.raw ?? "1") !== "1" || there.has("closed") || wentOn(questionId)) {
    throw new Conflict(`the last question of ${workflowId} is not settled yet`, "let one of askbox's programs settle it: ask-answer list");
  }
  if (asked(there) !== asked(parse(text))) {
    const words = String(there.get("question") ?? "")
      .replace(/[\p{C}\p{Zl}\p{Zp}]/gu, " ")
      .slice(0, 80);
    throw new Conflict(
      `${workflowId} already asks another question: ${words}`,
      "wait for its answer, or replace it with post(…, { supersede: true })",
    );
  }
  return new Round(workflowId, questionId, "pending", stringify(there), true);
}

function asked(document) {
  const parts = questionHash(
    new Map([
      ["workflow_id", "x"],
      ["questions", document.get("questions") ?? null],
    ]),
  );
  const more = ["checkpoint", "context", "until", "attachments"].map((name) => document.get(name) ?? null);
  return stringify([document.get("question") || "", document.get("type") ?? null, optionsInForm(document.get("options")), parts, ...more]);
}
