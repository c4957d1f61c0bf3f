// The helper for the OpenAI Agents SDK (`@openai/agents`): tool calls that need approval await a person, in any number and in nested
// agents. `openai-agents.d.ts` describes it.

import { run as runAgent, RunContext, RunState } from "@openai/agents";
import { Host, permission } from "./lib/host.js";
import { Invalid } from "./lib/errors.js";

export async function run(agent, input, workflowId, { mailbox, onEvent, context, ...options } = {}) {
  const host = await Host.of("openai_agents", workflowId, mailbox);
  const saved = await host.goOn();
  let start = input;
  let restore = () => {};
  let result;
  try {
    if (saved !== null) {
      const items = (await read(agent, saved, context)).getInterruptions();
      const rooms = await roomsOf(host, workflowId, items, context);
      const allowed = new Map();
      restore = tell(new Set(items.map((item) => item.agent)), allowed);
      // Once more: the state keeps the tools that it was read with, and the tools of an MCP server are new ones each time.
      start = await read(agent, saved, context);
      for (const item of start.getInterruptions()) {
        const id = idOf(item);
        const decision = host.decisions.get(id);
        const message = decision.changed && !rooms.get(id) ? decision.instead : await host.whyNot(id);
        if (message === null) {
          allowed.set(id, decision);
          start.approve(item);
        } else start.reject(item, { message });
      }
    }
    result = await runAgent(agent, start, { ...options, ...(saved === null && { context }), stream: onEvent !== undefined });
    if (onEvent) for await (const event of result) await onEvent(event);
    await result.completed;
  } finally {
    restore();
  }
  if (result.interruptions.length) {
    const parts = result.interruptions.map((item) => permission(idOf(item), `${item.name} of ${item.agent.name}`, shown(item)));
    await host.ask(parts, result.state.toString());
  }
  return result;
}

/** Whether each call has room for words. Asks again before any call is marked, if the words for the model have no place. */
async function roomsOf(host, workflowId, items, context) {
  const rooms = new Map();
  for (const item of items) rooms.set(idOf(item), await hasRoom(item, context));
  if (rooms.size !== host.decisions.size || ![...rooms.keys()].every((id) => host.decisions.has(id)))
    throw new Invalid(`the saved state of ${workflowId} awaits other calls than its question asks about`, "begin a new workflow");
  for (const item of items) {
    const { beside, changed, refusal } = host.decisions.get(idOf(item));
    if (!rooms.get(idOf(item)) && refusal === null && beside && !changed)
      await host.askAgain(`a note beside the allowed call of ${item.name} cannot be told; answer without it`);
  }
  return rooms;
}

/** Makes the allowed calls as the person has changed them, and puts the words for the model behind their results. Returns the way back. */
function tell(agents, allowed) {
  const before = new Map();
  for (const agent of agents) {
    const all = agent.getAllTools;
    agent.getAllTools = async (...words) => {
      const tools = await all.apply(agent, words);
      for (const tool of tools) {
        if (tool.type !== "function" || before.has(tool)) continue;
        const { invoke } = tool;
        before.set(tool, invoke);
        tool.invoke = async (context, given, details) => {
          const id = details?.toolCall?.callId;
          const decision = allowed.get(id);
          // Once: some models use the id of a call again.
          allowed.delete(id);
          const { changed, beside } = decision ?? {};
          const output = await invoke.call(tool, context, changed ? JSON.stringify(changed) : given, details);
          return beside ? withWords(output, beside) : output;
        };
      }
      return tools;
    };
  }
  return () => {
    for (const agent of agents) delete agent.getAllTools;
    for (const [tool, invoke] of before) tool.invoke = invoke;
  };
}

/** The output of a tool with these words behind it. An output may have parts. */
function withWords(output, words) {
  const parts = Array.isArray(output) ? output : [output];
  if (parts.length && parts.every((part) => ["text", "image", "file"].includes(part?.type)))
    return [...parts, { type: "text", text: words }];
  return `${typeof output === "string" ? output : JSON.stringify(output)}\n\n${words}`;
}

function idOf({ rawItem }) {
  return rawItem.callId ?? rawItem.id;
}

/** The arguments with their names, if they are a JSON object. */
function shown(item) {
  try {
    return JSON.parse(item.arguments);
  } catch {
    return item.arguments ?? item.rawItem;
  }
}

/** Whether a call can be changed, and has a result to which words for the model can be added. Throws Invalid without its tool. */
async function hasRoom({ agent, name, rawItem }, context) {
  if (rawItem.type !== "function_call") return false;
  const tools = (await agent.getAllTools(new RunContext(context))).filter((tool) => tool.name === rawItem.name);
  if (!tools.length)
    throw new Invalid(`the agent ${agent.name} has no tool ${name}, which the saved state awaits`, "go on with the tools that saved it");
  return tools.every((tool) => tool.type === "function" && !tool.outputSchema);
}

async function read(agent, state, context) {
  try {
    return await (context === undefined
      ? RunState.fromString(agent, state)
      : RunState.fromStringWithContext(agent, state, new RunContext(context)));
  } catch (error) {
    throw new Invalid(
      `the saved state cannot be read by this program: ${error.message}`,
      "go on with the agents, the tools and the version of @openai/agents that saved it",
    );
  }
}
