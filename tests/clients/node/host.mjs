// A program that asks, acts once, is killed behind its act, and asks what became of it.
import fs from "node:fs";
import path from "node:path";
import { Mailbox, resumed, Waiting } from "@askbox/client";

const box = new Mailbox();
const run = await resumed();
const log = (line) => fs.appendFileSync(path.join(process.env.HOME, "log"), `${line}\n`);

if (!run) {
  await box.checkpoint.save("ship-1", { current_step: "deploy" });
  await box.post("Deploy?", { workflowId: "ship-1", type: "yes_no" });
  process.exit(Waiting.exitStatus);
}
log(`${run.why} ${run.attempt} ${run.value} ${run.checkpoint.current_step} ${run.earlier?.signal ?? "None"} ${run.once.join(",")}`);
if (run.round.document.question === "Deploy?") {
  if (await box.once("deploy")) {
    log("effect");
    process.kill(process.pid, "SIGKILL");
    await new Promise(() => setInterval(() => {}, 1000));
  }
  await box.post("Was it deployed?", { workflowId: "ship-1", type: "yes_no" });
  process.exit(Waiting.exitStatus);
}
console.log(JSON.stringify({ type: "result", text: `deployed: ${run.value}` }));
