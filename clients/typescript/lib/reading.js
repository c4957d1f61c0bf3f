// Reading a mailbox. Nothing here writes, takes a lock or follows a link below the mailbox.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { Failed, Invalid } from "./errors.js";
import { derivedId, uuidForm } from "./hashes.js";
import { Num, parse, stringify } from "./json.js";
import { Round } from "./round.js";

export const MIB = 1 << 20;
/** The folders behind `pending`, in the order in which a round passes through them. */
export const LATER = ["answered", "running", "parked", "closed"];
const FOLDERS = ["pending", ...LATER, "quarantine", "checkpoints", "locks", "runs"];
/** The fields of a question that null does not leave out. */
export const NEVER_NULL = ["question", "questions", "attachments", "late_answers"];
/** The fields of a document whose own fields the protocol names. */
const NESTED = ["options", "range", "questions", "attachments", "until", "approval", "answer", "closed", "late_answers"];
const limitOf = (state) => (state === "pending" ? 4 : 32) * MIB;

export const isWorkflowId = (name) => typeof name === "string" && /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(name) && !name.includes("..");

export function checkWorkflowId(name, field = "workflowId") {
  if (isWorkflowId(name)) return name;
  throw new Invalid(
    `${field}: ${JSON.stringify(String(name).slice(0, 140))} is not the id of a workflow`,
    "use 1 to 128 of A-Z a-z 0-9 . _ - , starting with a letter or digit, without `..`",
  );
}

export function checkQuestionId(name, field = "questionId") {
  const id = uuidForm(name);
  if (id) return id;
  throw new Invalid(`${field}: ${JSON.stringify(String(name).slice(0, 60))} is not a UUID`, "pass the questionId of a Round");
}

/** `$ASKBOX_DIR` if it is not empty, else `~/.claude/questions`. */
export const defaultPath = () => process.env.ASKBOX_DIR || path.join(os.homedir(), ".claude", "questions");

/** False if the folder does not exist. Throws if this user must not trust it. */
export function refuseUnsafeFolder(name) {
  let found;
  try {
    found = fs.lstatSync(name);
  } catch (error) {
    if (error.code === "ENOENT") return false;
    throw new Failed(`cannot look at ${name}: ${error.code}`, `see the folder: ls -ld ${name}`);
  }
  const another = "name another folder, with new Mailbox(path) or $ASKBOX_DIR";
  if (found.isSymbolicLink())
    throw new Failed(`${name} is a symbolic link`, "name the folder that it points to, with new Mailbox(path) or $ASKBOX_DIR");
  if (!found.isDirectory()) throw new Failed(`${name} is not a folder`, another);
  if (found.uid !== process.geteuid()) throw new Failed(`${name} belongs to another user (uid ${found.uid})`, another);
  if (found.mode & 0o022)
    throw new Failed(`${name} may be written by others (mode ${(found.mode & 0o7777).toString(8).padStart(4, "0")})`, `chmod go-w ${name}`);
  return true;
}

/** A file that no reader uses: not a regular file of this user, too long, or not a valid document. */
export class Bad extends Error {}

/** The bytes of a regular file of this user or of root. Undefined if there is no file. */
export function readFile(name, limit) {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = fs.constants;
  let fd;
  try {
    fd = fs.openSync(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    throw new Bad(`cannot be read: ${error.code}`);
  }
  try {
    const found = fs.fstatSync(fd);
    if (!found.isFile() || (found.uid !== 0 && found.uid !== process.geteuid())) throw new Bad("is not a regular file of this user");
    if (found.size > limit) throw new Bad(`is longer than ${limit} bytes`);
    // One byte more than the size: a file that grows meanwhile is not read for ever.
    const content = Buffer.alloc(found.size + 1);
    let length = 0;
    for (let read = 1; read > 0 && length < content.length; length += read)
      read = fs.readSync(fd, content, length, content.length - length, null);
    if (length > found.size) throw new Bad("was changed at this moment");
    return content.subarray(0, length);
  } finally {
    fs.closeSync(fd);
  }
}

/** The object that the bytes hold, as a Map that keeps its order. */
export function parseDocument(content) {
  let found;
  try {
    found = parse(new TextDecoder("utf-8", { fatal: true }).decode(content));
  } catch (error) {
    throw new Bad(`is not JSON in UTF-8: ${error.message}`);
  }
  if (!(found instanceof Map)) throw new Bad("is not a JSON object");
  if (found.hasTwice || NESTED.some((name) => isTwice(found.get(name)))) throw new Bad("has a field twice");
  return found;
}

function isTwice(value) {
  const inner = value instanceof Map ? [...value.values()] : Array.isArray(value) ? value : [];
  return value?.hasTwice === true || inner.some(isTwice);
}

/** The name of a field that is null and must not be. */
export function nullField(document) {
  const parts = document.get("questions");
  const places = [
    [document, NEVER_NULL],
    [document.get("answer"), ["by", "channel"]],
    ...(Array.isArray(parts) ? parts : []).map((part) => [part, ["question", "multiSelect"]]),
  ];
  return places.flatMap(([fields, names]) => (fields instanceof Map ? names.filter((name) => fields.get(name) === null) : []))[0];
}

/** The files of one mailbox. */
export class Folder {
  constructor(name) {
    this.path = path.resolve(name ?? defaultPath());
  }

  below(...names) {
    return path.join(this.path, ...names);
  }

  /** False if there is no mailbox yet. Throws if this user must not trust it or one of its folders. */
  exists() {
    if (!refuseUnsafeFolder(this.path)) return false;
    return FOLDERS.map((name) => refuseUnsafeFolder(this.below(name))).includes(true);
  }

  /** A document. Undefined if there is none. Throws Bad if the file is not one of this workflow. */
  document(state, workflowId, questionId) {
    const name = state === "pending" || state === "answered" ? `${workflowId}.json` : `${workflowId}.${questionId}.json`;
    const content = readFile(this.below(state, name), limitOf(state));
    if (content === undefined) return undefined;
    const found = parseDocument(content);
    if (found.get("workflow_id") !== workflowId) throw new Bad("is not named for its workflow");
    if (nullField(found)) throw new Bad(`has null as ${nullField(found)}`);
    for (const [name, value] of found) if (value === null) found.delete(name);
    return found;
  }

  /** The ids of the rounds of a workflow that were claimed or closed. */
  roundIds(workflowId) {
    return this.#list("runs", workflowId).filter((name) => name.length === 36 && uuidForm(name) === name);
  }

  #list(...below) {
    try {
      return fs.readdirSync(this.below(...below));
    } catch (error) {
      if (error.code === "ENOENT" || error.code === "ENOTDIR") return [];
      throw new Failed(`cannot list ${this.below(...below)}: ${error.code}`, `see the folder: ls -ld ${this.below(...below)}`);
    }
  }

  /** The id of a round. A document that was written by hand may have none; then it is derived. */
  idOf(document) {
    const written = document.get("question_id");
    if (typeof written === "string") {
      const id = uuidForm(written);
      if (!id) throw new Bad("has a question_id that is not a UUID");
      return id;
    }
    for (let n = 0; ; n++) {
      let found;
      try {
        found = derivedId(document, n);
      } catch {
        throw new Bad("is not a valid question");
      }
      const name = `${document.get("workflow_id")}.${found}.json`;
      if (!["running", "parked", "closed"].some((state) => fs.existsSync(this.below(state, name)))) return found;
    }
  }

  /** A round of a workflow by its id. Undefined if the mailbox does not know it. */
  round(workflowId, questionId) {
    // A file may move between two looks. It moves forward, but for an answer that is taken back and a round that is tried again.
    for (let look = 0; look < 3; look++) {
      const found = this.#inState("pending", workflowId, questionId);
      // A crash may have left a copy of a round that is in a later state.
      const later = this.later(workflowId, questionId);
      if (later) return later;
      if (found && !("closed" in found.document)) return found;
    }
    return undefined;
  }

  later(workflowId, questionId) {
    for (const state of LATER) {
      const found = this.#inState(state, workflowId, questionId);
      if (found) return found;
    }
    return undefined;
  }

  #inState(state, workflowId, questionId) {
    try {
      const found = this.document(state, workflowId, questionId);
      return found && this.idOf(found) === questionId ? new Round(workflowId, questionId, state, stringify(found)) : undefined;
    } catch (error) {
      if (error instanceof Bad) return undefined;
      throw error;
    }
  }

  /** The round of a workflow that is not over yet: the question that waits, else the answer that does. */
  liveRound(workflowId) {
    const ids = [];
    for (const state of ["pending", "answered"]) {
      try {
        const found = this.document(state, workflowId);
        if (found) ids.push(this.idOf(found));
      } catch (error) {
        if (!(error instanceof Bad)) throw error;
      }
    }
    for (const state of ["running", "parked"]) {
      const names = this.names(state).map((name) => name.slice(0, -5));
      ids.push(
        ...names.filter((name) => name.slice(0, name.lastIndexOf(".")) === workflowId).map((name) => name.slice(workflowId.length + 1)),
      );
    }
    return ids.map((id) => this.round(workflowId, id)).find((found) => found && found.folder !== "closed");
  }

  /** The names of documents in a folder. */
  names(state) {
    return this.#list(state)
      .filter((name) => name.endsWith(".json") && !name.startsWith("."))
      .sort();
  }

  /** The round of a workflow that ended last. It reads each of them. */
  newestClosed(workflowId) {
    const rounds = this.roundIds(workflowId)
      .map((id) => this.round(workflowId, id))
      .filter(Boolean);
    const ended = (found) => (found.folder === "closed" ? String(found.document.closed?.at ?? "") : "~");
    return rounds.reduce((last, found) => (!last || ended(found) > ended(last) ? found : last), undefined);
  }

  /** The questions that wait, by priority and then by age. `known` keeps what was read until a file changes. */
  pending(known = new Map()) {
    const before = new Map(known);
    known.clear();
    if (!this.exists()) return [];
    for (const name of this.names("pending")) {
      const s = fs.lstatSync(this.below("pending", name), { bigint: true, throwIfNoEntry: false });
      if (!s) continue;
      const of = `${s.ino} ${s.mtimeNs} ${s.ctimeNs} ${s.size}`;
      const last = before.get(name);
      known.set(name, last?.of === of ? last : { of, round: this.#waiting(name.slice(0, -5)) });
    }
    const rounds = [...known.values()].flatMap(({ round }) => (round && !this.later(round.workflowId, round.questionId) ? [round] : []));
    const priority = ({ document }) => (Number.isInteger(document.priority) ? document.priority : 0);
    const age = ({ document }) => (typeof document.timestamp === "string" ? document.timestamp : "");
    const order = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
    return rounds.sort((a, b) => priority(b) - priority(a) || order(age(a), age(b)) || order(a.workflowId, b.workflowId));
  }

  /** The question of a file in `pending/`. Undefined if it is not a question that this version can show. */
  #waiting(workflowId) {
    try {
      const found = isWorkflowId(workflowId) ? this.document("pending", workflowId) : undefined;
      const version = found?.get("schema_version");
      if (!found || (version !== undefined && !(version instanceof Num && version.raw === "1")) || found.has("closed") || !isShaped(found))
        return undefined;
      return new Round(workflowId, this.idOf(found), "pending", stringify(found));
    } catch (error) {
      if (error instanceof Bad) return undefined;
      throw error;
    }
  }
}

/** Whether a document has what a question needs to be shown. The programs check all the rest. */
function isShaped(document) {
  const parts = document.get("questions") ?? [];
  if (!Array.isArray(parts)) return false;
  const asked = parts.length ? parts.map((part) => (part instanceof Map ? part.get("question") : undefined)) : [document.get("question")];
  return asked.every((text) => typeof text === "string" && text.trim() !== "");
}
