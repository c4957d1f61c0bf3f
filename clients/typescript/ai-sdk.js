// The helper for the AI SDK (`ai`): calls of tools with `needsApproval` await a person. `ai-sdk.d.ts` describes it.

import { generateText } from "ai";
import { Host, permission } from "./lib/host.js";
import { Invalid, Usage } from "./lib/errors.js";

export async function generate(options, workflowId, { mailbox } = {}) {
  const { prompt, messages: given, ...more } = options;
  const host = await Host.of("ai_sdk", workflowId, mailbox);
  const state = await host.goOn();
  const messages = [...(state?.messages ?? given ?? (typeof prompt === "string" ? [{ role: "user", content: prompt }] : prompt))];
  if (state) messages.push({ role: "tool", content: await responses(host, state, more.tools ?? {}) });
  const result = await generateText({ ...more, messages });
  const asked = result.content.filter((part) => part.type === "tool-approval-request");
  if (asked.length) {
    messages.push(...result.response.messages);
    const tools = Object.fromEntries(asked.map(({ approvalId, toolCall }) => [approvalId, toolCall.toolName]));
    const parts = asked.map(({ approvalId, toolCall }) => permission(approvalId, toolCall.toolName, toolCall.input));
    await host.ask(parts, { tools, messages: JSON.parse(JSON.stringify(messages, refuseBytes)) });
  }
  return result;
}

/** The parts of a message that tell the SDK what the person has decided. */
async function responses(host, state, tools) {
  for (const name of Object.values(state.tools)) {
    // The SDK would pass over a call of a tool that it does not know, and the model would not be told.
    if (!tools[name])
      throw new Invalid(
        `the saved state awaits a call of the tool ${name}, which this program does not have`,
        "go on with the tools that saved it",
      );
  }
  const parts = [];
  for (const approvalId of host.decisions.keys()) {
    const reason = await host.whyNot(approvalId);
    parts.push({ type: "tool-approval-response", approvalId, approved: reason === null, ...(reason !== null && { reason }) });
  }
  return parts;
}

function refuseBytes(name, value) {
  if (ArrayBuffer.isView(this[name]) || this[name] instanceof ArrayBuffer)
    throw new Usage(`messages: ${name || "a part"} holds bytes, which are not JSON`, "pass files and images as base64 texts");
  return value;
}
