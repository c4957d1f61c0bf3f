// openai-agents-host.mjs WORKFLOW PROMPT…: the commands of two agents, one within the other, await a person.
import { execSync } from "node:child_process";
import { exits } from "@askbox/client";
import { run } from "@askbox/client/openai-agents";
import { Agent, tool } from "@openai/agents";
import { z } from "zod";

const [workflow, ...words] = process.argv.slice(2);
const shell = tool({
  name: "shell",
  description: "Runs a shell command.",
  parameters: z.object({ command: z.string() }),
  needsApproval: true,
  execute: async ({ command }) => execSync(command, { encoding: "utf8" }),
});
const cleaner = new Agent({ name: "cleaner", instructions: "You tidy up.", tools: [shell] });
const clean = cleaner.asTool({ toolName: "clean", toolDescription: "Tidies up." });
const agent = new Agent({ name: "operator", instructions: "You look after a server.", tools: [shell, clean] });

await exits(async () => console.log((await run(agent, words.join(" "), workflow)).finalOutput));
