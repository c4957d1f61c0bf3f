// claude-host.mjs WORKFLOW PROMPT…: shell commands and questions of a Claude session await a person.
import { exits } from "@askbox/client";
import { run } from "@askbox/client/claude";

const [workflow, ...words] = process.argv.slice(2);
const options = { allowedTools: ["Read"] };

await exits(async () => {
  const last = await run(words.join(" "), workflow, { ask: "Bash|AskUserQuestion", options });
  console.log(last.result);
});
