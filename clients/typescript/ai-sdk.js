// The helper for the AI SDK (`ai`): calls of tools with `needsApproval` await a person. `ai-sdk.d.ts` describes it.

import { asSchema, generateText, streamText } from "ai";
import { Host, permission } from "./lib/host.js";
import { Invalid, Usage } from "./lib/errors.js";

export const generate = (options, workflowId, more) => run(generateText, options, workflowId, more);
export const stream = (options, workflowId, more) => run(streamed, options, workflowId, more);

/** The stream reaches its end here: a question is asked behind it. Version 6 has `fullStream`. */
async function streamed(options) {
  const result = streamText(options);
  for await (const part of result.stream ?? result.fullStream) if (part.type === "error") throw part.error;
  return result;
}

async function run(call, options, workflowId, { mailbox } = {}) {
  const { prompt, messages: given, ...more } = options;
  const host = await Host.of("ai_sdk", workflowId, mailbox);
  const state = await host.goOn();
  const messages = [...(state?.messages ?? given ?? (typeof prompt === "string" ? [{ role: "user", content: prompt }] : prompt))];
  const words = [];
  if (state) {
    const { parts, beside, inputs } = await responses(host, state, more.tools ?? {});
    messages.push({ role: "tool", content: parts });
    words.push(...beside.map((content) => ({ role: "user", content })));
    more.tools = changed(more.tools ?? {}, inputs);
    more.prepareStep = telling(messages.length, words, more.prepareStep);
  }
  const result = await call({ ...more, messages });
  const last = (await result.steps).at(-1);
  const asked = last.content.filter((part) => part.type === "tool-approval-request" && !part.isAutomatic);
  if (asked.length) {
    // Version 6 has all messages in the response of the last step.
    messages.push(...behindResults((await result.responseMessages) ?? last.response.messages, words));
    const tools = Object.fromEntries(asked.map(({ approvalId, toolCall }) => [approvalId, toolCall.toolName]));
    const parts = asked.map(({ approvalId, toolCall }) => permission(approvalId, toolCall.toolName, toolCall.input));
    await host.ask(parts, { tools, messages: JSON.parse(JSON.stringify(messages, refuseBytes)) });
  }
  return result;
}

/** The parts of a message that tell the SDK what the person has decided, the words beside the results, and the inputs by tool call. */
async function responses(host, state, tools) {
  const inputs = new Map();
  for (const [approvalId, name] of Object.entries(state.tools)) {
    // The SDK would pass over a call of a tool that it does not know, and the model would not be told.
    if (!tools[name])
      throw new Invalid(
        `the saved state awaits a call of the tool ${name}, which this program does not have`,
        "go on with the tools that saved it",
      );
    const { changed } = host.decisions.get(approvalId);
    if (!changed || !tools[name].execute) continue;
    const read = (await asSchema(tools[name].inputSchema).validate?.(changed)) ?? { success: true, value: changed };
    if (!read.success) await host.askAgain(`the tool ${name} does not take the changed arguments`);
    const request = state.messages
      .flatMap(({ content }) => (Array.isArray(content) ? content : []))
      .find((part) => part.type === "tool-approval-request" && part.approvalId === approvalId);
    inputs.set(approvalId, [request.toolCallId, read.value]);
  }
  const parts = [];
  const beside = [];
  for (const [approvalId, decision] of host.decisions) {
    // A tool without `execute` is run elsewhere, with the input of the model.
    const { execute } = tools[state.tools[approvalId]];
    const reason = decision.changed && !execute ? decision.instead : await host.whyNot(approvalId);
    parts.push({ type: "tool-approval-response", approvalId, approved: reason === null, ...(reason !== null && { reason }) });
    if (reason === null && decision.beside) beside.push(decision.beside);
    if (reason !== null) inputs.delete(approvalId);
  }
  return { parts, beside, inputs: new Map(inputs.values()) };
}

/** The tools, which make a changed call with its changed input, once: some models use the id of a call again. */
function changed(tools, inputs) {
  const take = (id, given) => {
    const input = inputs.has(id) ? inputs.get(id) : given;
    inputs.delete(id);
    return input;
  };
  const of = (tool) => ({ ...tool, execute: (input, call) => tool.execute(take(call.toolCallId, input), call) });
  return Object.fromEntries(Object.entries(tools).map(([name, tool]) => [name, tool.execute && inputs.size ? of(tool) : tool]));
}

/** Tells the words in each step: behind the results of the allowed calls, where the model reads them. */
function telling(count, words, prepareStep) {
  return async (step) => {
    const messages = [...step.messages.slice(0, count), ...behindResults(step.messages.slice(count), words)];
    return { messages, ...(await prepareStep?.({ ...step, messages })) };
  };
}

/** The first message of the SDK's own holds the results of the calls that it has made or refused. */
function behindResults(own, words) {
  const count = own[0]?.role === "tool" ? 1 : 0;
  return [...own.slice(0, count), ...words, ...own.slice(count)];
}

function refuseBytes(name, value) {
  if (ArrayBuffer.isView(this[name]) || this[name] instanceof ArrayBuffer)
    throw new Usage(`messages: ${name || "a part"} holds bytes, which are not JSON`, "pass files and images as base64 texts");
  return value;
}
