// A user of the helper for the AI SDK, to be compiled.
import { exits, Mailbox } from "@askbox/client";
import { generate } from "@askbox/client/ai-sdk";
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
