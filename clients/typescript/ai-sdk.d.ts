/** The helper for the AI SDK. It needs the package `ai`, which this package does not bring. */

import type { generateText, streamText, ToolSet } from "ai";
import type { Mailbox } from "./index.js";

/**
 * Calls `generateText` until it ends, and resolves to its result. Rejects with `Waiting` if calls of tools that need approval await a
 * person: all of them in one question.
 *
 * In the run that has the answer, it goes on from the saved messages, and `prompt` and `messages` are not used. Each allowed call is marked
 * with `once` before it is made. Rejects with `Invalid` if this program cannot read the saved state, so its round is parked.
 */
export function generate<TOOLS extends ToolSet>(
  options: Parameters<typeof generateText<TOOLS>>[0],
  workflowId: string,
  more?: { mailbox?: Mailbox },
): Promise<Awaited<ReturnType<typeof generateText<TOOLS>>>>;

/**
 * The same with `streamText`: resolves to its result when the stream has ended. `options.onChunk` gets its parts as they come.
 */
export function stream<TOOLS extends ToolSet>(
  options: Parameters<typeof streamText<TOOLS>>[0],
  workflowId: string,
  more?: { mailbox?: Mailbox },
): Promise<ReturnType<typeof streamText<TOOLS>>>;
