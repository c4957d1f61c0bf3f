// Plays Copilot for its extension, in place of the module @github/copilot-sdk/extension. A line of standard input is an event of the
// session, the end of a dialog at the terminal, or the way in which Copilot takes the next reply. Each reply is a line of standard output.
import { createInterface } from "node:readline"

const open = new Set()
let listener
let takes = "right"
const say = (line) => process.stdout.write(JSON.stringify(line) + "\n")
const completed = (requestId, data) => {
  open.delete(requestId)
  listener({ type: "permission.completed", data: { requestId, ...data } })
}
const RESULTS = { "approve-once": "approved", reject: "denied-interactively-by-user" }
const ended = {
  right: (id, kind) => completed(id, { result: { kind: RESULTS[kind] } }),
  otherwise: (id) => completed(id, { result: { kind: "cancelled" } }),
  by_a_person: (id, kind) => completed(id, { result: { kind: RESULTS[kind] }, decisionSource: "human_response" }),
  never: () => {},
}
const handlePendingPermissionRequest = async ({ requestId, result }) => {
  const success = takes !== "late" && open.has(requestId)
  // Copilot tells the end of a dialog before it answers the call.
  if (success) ended[takes](requestId, result.kind)
  say({ requestId, result, success })
  return { success }
}

export const joinSession = async ({ onPermissionRequest }) => {
  say({ handler: (await onPermissionRequest({}, {})).kind })
  createInterface({ input: process.stdin })
    .on("line", (line) => {
      const told = JSON.parse(line)
      if (told.takes) return (takes = told.takes)
      if (told.terminal) return completed(told.terminal, { result: { kind: "approved" }, decisionSource: "human_response" })
      if (told.type === "permission.requested") open.add(told.data.requestId)
      listener(told)
    })
    .on("close", () => process.exit())
  return {
    sessionId: "a965bd4c-c2c2-4b24-989f-22f274774bd5",
    on: (given) => (listener = given),
    rpc: { permissions: { handlePendingPermissionRequest } },
  }
}
