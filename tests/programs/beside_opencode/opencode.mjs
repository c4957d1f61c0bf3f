// Plays opencode for its plugin, whose file is the first argument. A line of standard input is a request that opens a dialog, or the end of
// one at the terminal, or another event. Each reply that opencode gets is a line of standard output, and each other call too.
import { createInterface } from "node:readline"

const { Askbox } = await import(process.argv[2])
const open = new Map()
const sessions = {
  ses_1: { id: "ses_1", directory: process.cwd(), title: "New session", agent: "build" },
  ses_2: { id: "ses_2", directory: process.cwd(), title: "a sub (@general subagent)", agent: "general", parentID: "ses_1" },
}
let at_work = {}
const parts = (id) => [...open.values()].filter(({ request }) => request.tool?.messageID === id).map(({ part }) => part)
const end = (id) => {
  const { event, request } = open.get(id)
  open.delete(id)
  const type = event === "permission.asked" ? "permission.replied" : "question.replied"
  return hooks.event({ event: { type, properties: { sessionID: request.sessionID, requestID: id } } })
}
const client = {
  session: {
    get: async ({ path: { id } }) => ({ data: sessions[id] }),
    status: async () => ({ data: at_work }),
    message: async ({ path: { messageID } }) => ({ data: { parts: parts(messageID) } }),
  },
  _client: {
    get: async ({ url }) => {
      const message = { info: { id: "msg_1" }, parts: [{ type: "reasoning", text: "thinks" }, { type: "text", text: "\ud800".repeat(30000) }] }
      return { data: [message, url], response: { status: 200 } }
    },
    post: async ({ url, body }) => {
      const id = url.split("/")[2]
      const status = open.has(id) ? 200 : 404
      // opencode tells the end of a dialog before it answers the request.
      if (status === 200) await end(id)
      process.stdout.write(JSON.stringify({ url, body, status }) + "\n")
      return { response: { status } }
    },
  },
}
const hooks = await Askbox({ client })
process.stdout.write(JSON.stringify({ hooks: Object.keys(hooks) }) + "\n")
createInterface({ input: process.stdin })
  .on("line", (line) => {
    const told = JSON.parse(line)
    if (told.idle) return setTimeout(() => process.stdout.write(line + "\n"), 0)
    if (told.terminal) return end(told.terminal)
    if (told.request.id) open.set(told.request.id, told)
    if (told.at_work) at_work = told.at_work
    hooks.event?.({ event: { type: told.event, properties: told.request } })
  })
  .on("close", () => process.exit())
