// askbox's plugin for opencode: each open dialog of its sessions also lies in the mailbox, and the first answer counts.
// `askbox setup --opencode` wrote this file, and `askbox setup --remove --only live` removes it. Without `[live] opencode = true` in
// askbox's configuration, it does nothing. If it fails, the dialog stays at its terminal as it is without this file.
import { spawn } from "node:child_process"
import { createInterface } from "node:readline"

const ASKED = ["permission.asked", "question.asked"]
const ENDED = ["permission.replied", "question.replied", "question.rejected"]
// The most agents below each other that are followed up to the session of a person.
const DEEPEST = 16

export const Askbox = async ({ client }) => {
  // Runs of askbox have a way of their own.
  if (process.env.ASKBOX_RUN) return {}
  // The requests whose dialogs are open. The value is the command that was told of it.
  const open = new Map()
  // The requests that get a person's answer now.
  const replying = new Set()
  let command

  // The command waits beside the dialogs. It has a session of its own, so that keys at the terminal do not end it.
  const start = () => {
    if (command) return command
    const own = spawn("askbox", ["live", "opencode"], { detached: true, stdio: ["pipe", "pipe", "ignore"] })
    command = own
    const gone = () => {
      if (command === own) command = undefined
      for (const [id, told] of open) if (told === own) open.delete(id)
    }
    own.on("error", gone)
    own.on("exit", gone)
    own.stdin.on("error", gone)
    own.stdout.on("error", gone)
    createInterface({ input: own.stdout }).on("line", (line) => reply(own, line).catch(() => {}))
    own.unref()
    return own
  }

  const tell = (own, line) => {
    if (own && own.stdin.writable) own.stdin.write(JSON.stringify(line) + "\n")
  }

  // Ends the command once no dialog is open.
  const rest = (own) => {
    for (const told of open.values()) if (told === own) return
    if (command === own) command = undefined
    own.stdin.end()
  }

  // Gives a person's answer to opencode, once. Its public client has no call for that (1.18.33).
  const reply = async (own, line) => {
    const { id, path, body } = JSON.parse(line)
    // The dialog has ended already, and the command was told of its end.
    if (!open.has(id)) return
    replying.add(id)
    let told
    try {
      const { response } = await client._client.post({ url: path, body, headers: { "Content-Type": "application/json" } })
      told = { type: "replied", id, status: response.status }
    } catch (error) {
      told = { type: "failed", id, why: `the plugin could not reply to opencode: ${error}` }
    }
    tell(own, told)
    replying.delete(id)
    open.delete(id)
    rest(own)
  }

  const session = async (id) => {
    const { data } = await client.session.get({ path: { id } })
    return data
  }

  // The call of a tool that asks. A permission names it, but not what it does.
  const part = async ({ sessionID, tool }) => {
    if (!tool) return undefined
    const { data } = await client.session.message({ path: { id: sessionID, messageID: tool.messageID } })
    return data?.parts.find((part) => part.type === "tool" && part.callID === tool.callID)
  }

  const asked = async (event) => {
    const request = event.properties
    open.set(request.id, undefined)
    const own = await session(request.sessionID)
    let root = own
    for (let n = 0; root.parentID && n < DEEPEST; n++) root = await session(root.parentID)
    const call = await part(request)
    // It may have ended by now.
    if (!open.has(request.id)) return
    const waiting = start()
    open.set(request.id, waiting)
    tell(waiting, { type: "asked", event: event.type, request, session: own, root, part: call })
  }

  const ended = ({ requestID }) => {
    // A reply of ours is an end, too. The response to it says whether it was first.
    if (replying.has(requestID)) return
    const told = open.get(requestID)
    tell(told, { type: "ended", id: requestID })
    open.delete(requestID)
    if (told) rest(told)
  }

  return {
    event: async ({ event }) => {
      try {
        if (ASKED.includes(event.type)) asked(event).catch(() => open.delete(event.properties.id))
        if (ENDED.includes(event.type)) ended(event.properties)
      } catch {}
    },
  }
}
