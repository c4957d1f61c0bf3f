// askbox from Node: ask a person, end, and go on in a new process with the answer. `index.d.ts` describes each call.

import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Conflict, Failed, NotFound, ProgramMissing, Usage, Waiting } from "./lib/errors.js";
import { parse, stringify } from "./lib/json.js";
import { post, refuseReordered, toJson } from "./lib/posting.js";
import * as programs from "./lib/programs.js";
import { checkQuestionId, checkWorkflowId, Folder } from "./lib/reading.js";
import { Round } from "./lib/round.js";

export { AskboxError, Conflict, Failed, Held, Invalid, NotFound, ProgramMissing, TimedOut, Usage, Waiting } from "./lib/errors.js";
export { exits } from "./lib/exits.js";
export * as hashes from "./lib/public-hashes.js";
export { resumed } from "./lib/resumed.js";
export { Round };

const OF_MOVES = ["answer", "closed", "taken_back", "late_answers", "schema_version"];
// `ask-post` refuses these in a document that is brought along: only askbox writes them, or they need the files.
const NOT_POSTED_AGAIN = ["attachments", "approval", "tool_call", "elicited_by", "to_session", "continues_in", "prompt", "reads", "results"];
const HOUR = 3_600_000;

export class Mailbox {
  #folder;
  #programs;
  #limit;
  #used = false;

  constructor(name, { programs: folder, limit = 60_000 } = {}) {
    this.#folder = new Folder(name);
    this.#programs = folder;
    this.#limit = limit;
    this.path = this.#folder.path;
    this.checkpoint = {
      save: (workflowId, state) => this.#save(workflowId, state),
      get: (workflowId, field, ...otherwise) => this.#get(workflowId, field, otherwise),
    };
  }

  async #call(name, words, { stdin, limit = this.#limit, signal } = {}) {
    const said = await programs.call(name, words, { folder: this.#programs, mailbox: this.path, limit, stdin, signal });
    this.#used = true;
    return said;
  }

  async post(question, { workflowId, options, type, context, askedBy, checkpoint, supersede = false, attach = [] } = {}) {
    const given = { workflow_id: workflowId, options, type, context, asked_by: askedBy, checkpoint };
    const fields = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
    const document = { ...(typeof question === "string" ? { question } : question), ...fields };
    refuseReordered(document);
    if (document.workflow_id != null) checkWorkflowId(document.workflow_id);
    if (!programs.find("ask-post", this.#programs)) {
      if (supersede || attach.length) {
        throw new ProgramMissing(
          `${supersede ? "supersede" : "attach"}: a post with it needs the program ask-post, which is not on PATH`,
          "install askbox, or name its folder: new Mailbox(path, { programs })",
        );
      }
      const posted = post(this.#folder, document, !this.#used);
      this.#used = true;
      return posted;
    }
    const files = attach.flatMap((file) => ["--attach", path.resolve(file)]);
    const words = ["--json", "--file", "-", ...files, ...(supersede ? ["--supersede"] : [])];
    const said = JSON.parse(await this.#call("ask-post", words, { stdin: toJson(document, "question") }));
    const found = this.#folder.round(said.workflow_id, said.question_id);
    // If it was answered and pruned within this moment, what was asked is all that there is.
    const text = found?.text ?? JSON.stringify({ ...document, workflow_id: said.workflow_id, question_id: said.question_id });
    return new Round(said.workflow_id, said.question_id, found?.folder ?? "pending", text, said.repeated);
  }

  async round(workflowId, questionId) {
    checkWorkflowId(workflowId);
    if (!this.#folder.exists()) return null;
    if (questionId !== undefined) return this.#folder.round(workflowId, checkQuestionId(questionId)) ?? null;
    const live = this.#folder.liveRound(workflowId);
    if (live || this.#folder.roundIds(workflowId).length === 0) return live ?? null;
    if (!programs.find("ask-answer", this.#programs)) return this.#folder.newestClosed(workflowId) ?? null;
    try {
      // The programs know which round was the last one without reading all.
      const said = parse(await this.#call("ask-answer", ["show", "--json", "--", workflowId]), 65);
      return new Round(workflowId, said.get("question_id"), said.get("state"), stringify(said.get("document")));
    } catch (error) {
      if (error instanceof NotFound) return null;
      throw error;
    }
  }

  async wait(workflowId, { timeout = Infinity, signal } = {}) {
    const end = performance.now() + timeout;
    let found = await this.round(workflowId);
    if (!found) throw new NotFound(`the workflow ${workflowId} has no question`, "post one: post(question, { workflowId })");
    const { questionId } = found;
    for (;;) {
      if (!found || ["running", "parked", "closed"].includes(found.folder)) throw willNotCome(workflowId, questionId, found);
      if (found.folder === "answered") {
        // `done` closes the round under its lock. If two processes come here, one of them gets the status 0.
        const said = JSON.parse(await this.#call("relaunch", ["done", "--json", "--", workflowId]));
        const taken = this.#folder.round(workflowId, questionId);
        if (said.question_id === questionId && taken) return taken;
        throw new Conflict(
          `the answer of ${workflowId} to ${questionId} was taken by another process`,
          `see what became of it: relaunch status ${workflowId}`,
        );
      }
      const left = end - performance.now();
      if (left <= 0) throw new Waiting(`nobody has answered ${workflowId} yet`, `exit with status 6, or wait again: wait("${workflowId}")`);
      if (NOT_POSTED_AGAIN.some((name) => found.document[name])) {
        await pause(Math.min(left, 200), undefined, { signal });
      } else {
        const taken = await this.#standBy(found, Math.min(left, HOUR), signal);
        if (taken) return taken;
      }
      found = this.#folder.round(workflowId, questionId);
    }
  }

  /** Posts the very round that waits once more, and stays. As long as it stays, no watcher takes the answer. */
  async #standBy(asked, milliseconds, signal) {
    const question = parse(asked.text);
    OF_MOVES.forEach((name) => question.delete(name));
    question.set("question_id", asked.questionId);
    const words = ["--json", "--file", "-", `--wait=${Math.max(1, Math.ceil(milliseconds))}ms`];
    try {
      const said = JSON.parse(
        await this.#call("ask-post", words, { stdin: stringify(question), limit: milliseconds + this.#limit, signal }),
      );
      return said.state === "pending" ? undefined : this.#folder.round(asked.workflowId, said.question_id);
    } catch (error) {
      if (!(error instanceof Conflict) || this.#folder.round(asked.workflowId, asked.questionId)?.folder === "pending") throw error;
      return undefined;
    }
  }

  async withdraw(workflowId, { why } = {}) {
    checkWorkflowId(workflowId);
    const said = JSON.parse(
      await this.#call("ask-answer", ["cancel", "--json", ...(why === undefined ? [] : [`--why=${why}`]), "--", workflowId]),
    );
    const found = this.#folder.round(workflowId, said.question_id);
    if (!found) throw new Failed(`${workflowId} was withdrawn, and its round cannot be read`, `see it: ask-answer show ${workflowId}`);
    return found;
  }

  async once(call) {
    try {
      await this.#call("askbox", ["once", "--json", "--", call]);
      return true;
    } catch (error) {
      if (error instanceof Conflict) return false;
      throw error;
    }
  }

  async #save(workflowId, state) {
    checkWorkflowId(workflowId);
    return JSON.parse(
      await this.#call("checkpoint", ["save", "--json", "--file", "-", "--", workflowId], { stdin: toJson(state, "checkpoint") }),
    ).path;
  }

  async #get(workflowId, field, otherwise) {
    checkWorkflowId(workflowId);
    const words = field === undefined ? ["show", "--json", "--", workflowId] : ["get", "--json", "--", workflowId, field];
    try {
      return JSON.parse(await this.#call("checkpoint", words));
    } catch (error) {
      if (error instanceof NotFound && otherwise.length) return otherwise[0];
      throw error;
    }
  }

  async pending() {
    return this.#folder.pending();
  }

  async *watch({ workflowId, interval = 1000, timeout = Infinity, signal } = {}) {
    if (workflowId !== undefined) checkWorkflowId(workflowId);
    if (!(interval >= 50 && interval <= 60_000))
      throw new Usage(`interval: ${interval} is not between 50 and 60000 milliseconds`, "leave interval out");
    const end = performance.now() + timeout;
    const known = new Map();
    const followed = new Map();
    for (;;) {
      const waiting = this.#folder.pending(known).filter((one) => workflowId === undefined || one.workflowId === workflowId);
      const now = new Map(waiting.map((one) => [`${one.workflowId}/${one.questionId}`, one]));
      // A round that has left pending/ is followed until it is over.
      for (const key of [...followed.keys()]) {
        if (now.has(key)) continue;
        const found = this.#folder.round(...key.split("/"));
        if (found) now.set(key, found);
        else followed.delete(key);
      }
      for (const [key, one] of now) {
        if (followed.get(key) === one.folder) continue;
        if (one.folder === "closed") followed.delete(key);
        else followed.set(key, one.folder);
        yield one;
      }
      const left = end - performance.now();
      if (left <= 0) return;
      await pause(Math.min(interval, left), undefined, { signal });
    }
  }
}

function willNotCome(workflowId, questionId, found) {
  if (!found)
    return new Conflict(`the round ${questionId} of ${workflowId} is gone`, `see what became of it: relaunch status ${workflowId}`);
  if (found.answer)
    return new Conflict(
      `the answer of ${workflowId} was taken by another process: it is ${found.state}`,
      `read it with round("${workflowId}", "${questionId}")`,
    );
  return new Conflict(
    `the question of ${workflowId} has ended: it is ${found.outcome ?? found.state}; there will be no answer`,
    "continue without the answer, or ask again",
  );
}
