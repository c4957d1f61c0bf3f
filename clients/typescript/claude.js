// The helper for the Claude Agent SDK (`@anthropic-ai/claude-agent-sdk`): tool calls and AskUserQuestion of a session await a person.
// `claude.d.ts` describes it.

import { createHash } from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { getSessionMessages, query } from "@anthropic-ai/claude-agent-sdk";
import { Conflict, Failed, Invalid, Usage } from "./lib/errors.js";
import { Host, permission } from "./lib/host.js";
import { waitsBehind } from "./lib/words.js";

const SESSIONS = Buffer.from("8f1f5b0e6d0a5f0e9d3c2a6f0c1b7e44", "hex");
const ASK_USER = "AskUserQuestion";
/** Milliseconds between two looks whether another process makes the open call of a session. */
const LOOK_EVERY = 1000;

export function sessionOf(workflowId, begun = 0) {
  const hash = createHash("sha1").update(SESSIONS).update(`${workflowId}/${begun}`).digest().subarray(0, 16);
  // A UUID of version 5.
  hash[6] = (hash[6] & 0x0f) | 0x50;
  hash[8] = (hash[8] & 0x3f) | 0x80;
  return hash.toString("hex").replace(/(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

export async function run(prompt, workflowId, { ask = `Bash|${ASK_USER}`, options = {}, onMessage, mailbox } = {}) {
  if (options.sessionStore) throw new Usage("sessionStore: the helper reads the transcripts of this machine", "leave sessionStore out");
  const host = await Host.of("claude_agent_sdk", workflowId, mailbox);
  const goesOn = (await host.goOn()) !== null;
  const folder = options.cwd ?? process.cwd();
  const before = await host.saved();
  let begun = before?.state.begun ?? 0;
  let session = sessionOf(workflowId, begun);
  let open = await openCalls(session, folder);
  if (!goesOn && before?.question.sdk.calls.some((part) => open?.has(part.split("/")[0]))) {
    // The question was withdrawn or expired, and its call is still open there: this prompt needs a session of its own.
    session = sessionOf(workflowId, ++begun);
    open = await openCalls(session, folder);
  }
  if (goesOn && !open)
    throw new Invalid(
      `the session ${session} of ${workflowId} is not there`,
      `start the program in the folder where it began, with the same CLAUDE_CONFIG_DIR: not in ${folder}`,
    );
  // A session that is resumed without a message goes on with its open call. Without such a call, it would never end.
  const isNew = (host.run?.attempt ?? 1) === 1;
  const text = open?.size ? undefined : !goesOn && (!open || isNew) ? prompt : "Continue.";
  const turn = new Turn(host, options, ask, onMessage);
  const last = await turn.take(open ? { resume: session } : { sessionId: session }, text, () => openCalls(session, folder));
  if (last.deferred_tool_use) {
    const { id, name, input } = last.deferred_tool_use;
    sync(session);
    await host.ask(partsOf(id, name, input), { begun, session });
  }
  return last;
}

/** One turn of a session, with the hook that defers calls and decides those that were answered. */
class Turn {
  #host;
  #onMessage;
  #options;
  #stop = new AbortController();
  #failure;
  #hasBegun = false;
  #deferred;

  constructor(host, given, ask, onMessage) {
    this.#host = host;
    this.#onMessage = onMessage;
    const { signal } = given.abortController ?? {};
    signal?.addEventListener("abort", () => this.#stop.abort(signal.reason), { once: true });
    this.#options = {
      ...given,
      abortController: this.#stop,
      hooks: { ...given.hooks, PreToolUse: [{ matcher: ask, hooks: [this.#hook.bind(this)] }, ...(given.hooks?.PreToolUse ?? [])] },
      // AskUserQuestion is offered only to a host with this callback.
      canUseTool: given.canUseTool ?? (async () => ({ behavior: "deny", message: "No rule permits this call." })),
      // A background task would end with this process, and nothing would go on with its question.
      env: { CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: "1", ...(given.env ?? process.env) },
    };
  }

  async take(which, text, openCallsNow) {
    let over;
    const isOver = new Promise((resolve) => (over = resolve));
    async function* messages() {
      if (text !== undefined) yield { type: "user", message: { role: "user", content: text }, parent_tool_use_id: null };
      // The replies of the hook go through the same pipe. An early end of it would refuse the call in the person's name.
      await isOver;
    }
    const look = text === undefined ? setInterval(() => this.#lookForAnother(openCallsNow), LOOK_EVERY) : undefined;
    let last;
    try {
      for await (const message of query({ prompt: messages(), options: { ...this.#options, ...which } })) {
        this.#hasBegun ||= message.type !== "system";
        await this.#onMessage?.(message);
        if (message.type !== "result") continue;
        last = message;
        over();
      }
    } catch (error) {
      throw this.#failure ?? error;
    } finally {
      clearInterval(look);
      over();
    }
    if (this.#failure) throw this.#failure;
    if (!last) throw new Failed("claude ended without a result", "see its standard error");
    return last;
  }

  /** Stops the turn if another process has made the open call. This session then has nothing to go on with, and would never end. */
  async #lookForAnother(openCallsNow) {
    if (this.#hasBegun || (await openCallsNow())?.size || this.#hasBegun) return;
    const { workflowId } = this.#host;
    this.#failure = new Conflict(
      `another process goes on with the session of ${workflowId}`,
      `see what became of it: relaunch status ${workflowId}`,
    );
    this.#stop.abort();
  }

  async #hook(call, callId) {
    this.#hasBegun = true;
    try {
      return await this.#decide(call, callId);
    } catch (error) {
      // The SDK would only tell the session that its hook has failed.
      this.#failure = error;
      return { continue: false, ...decision("deny", { why: "askbox failed" }) };
    }
  }

  async #decide({ agent_id: agent, tool_name: name, tool_input: input }, callId) {
    if (agent) return decision("deny", { why: "A subagent cannot wait for a person. Return your question to your caller." });
    const parts = partsOf(callId, name, input);
    const decisions = parts.map((part) => this.#host.decisions.get(part.id));
    const [first] = decisions;
    if (!first) return this.#defer(parts[0]);
    const beside = first.beside ? { additionalContext: first.beside } : {};
    if (name !== ASK_USER) {
      const why = await this.#host.whyNot(callId);
      return why === null
        ? decision("allow", { ...(first.changed && { updatedInput: first.changed }), ...beside })
        : decision("deny", { why });
    }
    if (first.noAnswer !== null) return decision("deny", { why: first.noAnswer });
    const answers = Object.fromEntries(input.questions.map(({ question }, n) => [question, [decisions[n]?.value].flat().join(", ")]));
    return decision("allow", { updatedInput: { ...input, answers }, ...beside });
  }

  /** The SDK tells of one deferred call. The others of its message would have no result and no question. */
  #defer(part) {
    this.#deferred ??= part;
    if (this.#deferred.id === part.id) return decision("defer");
    return decision("deny", { why: waitsBehind([...this.#deferred.question.split("\n")[0]].slice(0, 80).join("")) });
  }
}

function decision(permissionDecision, { why, ...more } = {}) {
  const reason = why === undefined ? {} : { permissionDecisionReason: why };
  return { hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision, ...reason, ...more } };
}

/** The parts of a question about a call. Each of several questions has the id of the call and its number. */
function partsOf(id, name, input) {
  if (name !== ASK_USER) return [permission(id, name, input)];
  const { questions } = input;
  return questions.map(({ question, header, multiSelect, options }, n) => ({
    id: questions.length === 1 ? id : `${id}/${n + 1}`,
    question,
    type: multiSelect ? "multi_choice" : "choice",
    options: options.map((one) =>
      Object.fromEntries(["label", "description", "preview"].filter((field) => one[field]).map((field) => [field, one[field]])),
    ),
    ...(header && { header }),
  }));
}

/** The calls of a session that have no result; null if there is no such session. */
async function openCalls(session, dir) {
  const messages = await getSessionMessages(session, { dir });
  if (!messages.length) return null;
  const blocks = messages.flatMap(({ message }) => (Array.isArray(message?.content) ? message.content : []));
  const open = new Set(blocks.filter(({ type }) => type === "tool_use").map(({ id }) => id));
  for (const block of blocks) if (block.type === "tool_result") open.delete(block.tool_use_id);
  return open;
}

/** Brings the transcript to the disk before the question is posted: without it, the answer would have no call. */
function sync(session) {
  const projects = path.join(process.env.CLAUDE_CONFIG_DIR || path.join(os.homedir(), ".claude"), "projects");
  for (const name of fs.readdirSync(projects)) {
    const folder = path.join(projects, name);
    const file = path.join(folder, `${session}.jsonl`);
    if (!fs.existsSync(file)) continue;
    for (const one of [file, folder]) {
      const fd = fs.openSync(one, "r");
      fs.fsyncSync(fd);
      fs.closeSync(fd);
    }
  }
}
