// A user of the helpers for SDKs, to be compiled.
import { exits, Mailbox } from "@askbox/client";
import { generate, stream } from "@askbox/client/ai-sdk";
import { run as runClaude, sessionOf } from "@askbox/client/claude";
import { run as runAgent } from "@askbox/client/openai-agents";
import { Agent } from "@openai/agents";
import { stepCountIs, tool, type LanguageModel } from "ai";
import { z } from "zod";

declare const model: LanguageModel;
const shell = tool({ inputSchema: z.object({ command: z.string() }), needsApproval: true, execute: async ({ command }) => command });

const text: string = await exits(async () => {
  const result = await generate({ model, tools: { shell }, stopWhen: stepCountIs(9), prompt: "Go" }, "w", { mailbox: new Mailbox("/m") });
  const called: "shell"[] = result.staticToolCalls.map((call) => call.toolName);
  return result.text + called.length;
});
console.log(text);

// @ts-expect-error A workflow is needed.
generate({ model, prompt: "Go" });

const streamed = await stream({ model, tools: { shell }, onChunk: ({ chunk }) => console.log(chunk.type), prompt: "Go" }, "w");
console.log((await streamed.text).length);

const agent = new Agent({ name: "operator", instructions: "Go." });
const said: string | undefined = (await runAgent(agent, "Go", "w", { maxTurns: 3, mailbox: new Mailbox("/m") })).finalOutput;
const run = await runAgent(agent, "Go", "w", { onEvent: (event) => console.log(event.type) });
// @ts-expect-error A workflow is needed.
runAgent(agent, "Go");

const last = await runClaude("Go", "w", {
  ask: "Bash",
  options: { allowedTools: ["Read"] },
  onMessage: (message) => console.log(message.type),
});
const id: string = sessionOf("w");
const end: Promise<void> = run.completed;
console.log(said, end, last.subtype === "success" && last.result, id);
// @ts-expect-error The helper reads the transcripts of this machine.
runClaude("Go", "w", { options: { sessionStore: undefined } });
