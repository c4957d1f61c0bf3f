// ai-sdk-host.mjs WORKFLOW PROMPT…: the shell commands of a model await a person.
import { execSync } from "node:child_process";
import { createOpenAI } from "@ai-sdk/openai";
import { exits } from "@askbox/client";
import { generate } from "@askbox/client/ai-sdk";
import { stepCountIs, tool } from "ai";
import { z } from "zod";

const [workflow, ...words] = process.argv.slice(2);
const openai = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL });
const shell = tool({
  description: "Runs a shell command.",
  inputSchema: z.object({ command: z.string() }),
  needsApproval: true,
  execute: async ({ command }) => execSync(command, { encoding: "utf8" }),
});

await exits(async () => {
  const options = { model: openai("gpt-5.2"), tools: { shell }, stopWhen: stepCountIs(9), prompt: words.join(" ") };
  console.log((await generate(options, workflow)).text);
});
