// Plays opencode for its plugin, whose file is the first argument. A line of standard input is a request that opens a dialog, or the end of
// one at the terminal. Each reply that opencode gets is a line of standard output.
import { createInterface } from "node:readline"

const { Askbox } = await import(process.argv[2])
const open = new Map()
const sessions = {
  ses_1: { id: "ses_1", directory: process.cwd(), title: "New session", agent: "build" },
  ses_2: { id: "ses_2", directory: process.cwd(), title: "a sub (@general subagent)", agent: "general", parentID: "ses_1" },
}
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
    message: async ({ path: { messageID } }) => ({ data: { parts: parts(messageID) } }),
  },
  _client: {
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
    open.set(told.request.id, told)
    hooks.event?.({ event: { type: told.event, properties: told.request } })
  })
  .on("close", () => process.exit())
