/** The helper for the OpenAI Agents SDK. It needs the package `@openai/agents`, which this package does not bring. */

import type { Agent, AgentInputItem, NonStreamRunOptions, RunResult, RunStreamEvent, StreamedRunResult } from "@openai/agents";
import type { Mailbox } from "./index.js";

type Options<TContext> = Omit<NonStreamRunOptions<TContext>, "stream"> & { mailbox?: Mailbox };

/**
 * Runs the agent until it ends, and resolves to its result. Rejects with `Waiting` if calls of tools with `needsApproval` await a person,
 * also those of nested agents: all of them in one question. With `onEvent`, the run is a stream, and each event of it is given.
 *
 * In the run that has the answer, it goes on from the saved `RunState`, and `input` is not used. Each allowed call is marked with `once`
 * before it is made. Rejects with `Invalid` if this program cannot read the saved state, so its round is parked.
 */
export function run<TAgent extends Agent<any, any>, TContext = undefined>(
  agent: TAgent,
  input: string | AgentInputItem[],
  workflowId: string,
  options: Options<TContext> & { onEvent: (event: RunStreamEvent) => unknown },
): Promise<StreamedRunResult<TContext, TAgent>>;
export function run<TAgent extends Agent<any, any>, TContext = undefined>(
  agent: TAgent,
  input: string | AgentInputItem[],
  workflowId: string,
  options?: Options<TContext>,
): Promise<RunResult<TContext, TAgent>>;
