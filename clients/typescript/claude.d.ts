/** The helper for the Claude Agent SDK. It needs the package `@anthropic-ai/claude-agent-sdk`, which this package does not bring. */

import type { Options, SDKMessage, SDKResultMessage } from "@anthropic-ai/claude-agent-sdk";
import type { Mailbox } from "./index.js";

export interface RunOptions {
  /** Matches the names of the tools that a person must allow, as in a hook of Claude Code. `Bash|AskUserQuestion` if missing. */
  ask?: string;
  /** They decide about the calls of other tools. A call that no rule permits is refused, unless there is a `canUseTool`. */
  options?: Omit<Options, "resume" | "sessionId" | "sessionStore">;
  onMessage?: (message: SDKMessage) => unknown;
  mailbox?: Mailbox;
}

/**
 * Runs the session until its turn ends, and resolves to the result. Rejects with `Waiting` if a call awaits a person.
 *
 * In the run that has the answer, the call that was deferred is made, and `prompt` is not used. An allowed call is marked with `once`
 * before it is made. Rejects with `Invalid` if the session is not there, so its round is parked.
 */
export function run(prompt: string, workflowId: string, more?: RunOptions): Promise<SDKResultMessage>;

/** The id of a workflow's session. It follows from the workflow alone, so a crash cannot lose it. */
export function sessionOf(workflowId: string, begun?: number): string;
