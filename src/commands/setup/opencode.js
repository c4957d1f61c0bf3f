// askbox's plugin for opencode: each open dialog of its sessions also lies in the mailbox, and the first answer counts. People who look at
// a session from elsewhere, send it on or stop it, come by a socket in `~/.local/state/askbox/opencode`.
// `askbox setup --opencode` wrote this file, and `askbox setup --remove --only live` removes it. Without `[live] opencode = true` in
// askbox's configuration, it does nothing. If it fails, the dialog stays at its terminal as it is without this file.
import { spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { mkdirSync } from "node:fs"
import { createServer } from "node:net"
import { homedir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"

const ASKED = ["permission.asked", "question.asked"]
const ENDED = ["permission.replied", "question.replied", "question.rejected"]
// The most agents below each other that are followed up to the session of a person.
const DEEPEST = 16
// The most sessions of a process that are listed, and the most characters of a text that are told.
const MOST_SESSIONS = 50
const LONGEST = 20000
const HEADERS = { "Content-Type": "application/json" }
// What the model thinks is told to nobody.
const shown = (_, value) => {
  if (typeof value === "string") return value.slice(0, LONGEST).toWellFormed()
  return value?.type === "reasoning" ? null : value
}

export const Askbox = async ({ client }) => {
  // Runs of askbox have a way of their own.
  if (process.env.ASKBOX_RUN) return {}
  // The requests whose dialogs are open: the event, the session that a person has begun, and the command that was told.
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
      for (const [id, { told }] of open) if (told === own) open.delete(id)
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
    for (const { told } of open.values()) if (told === own) return
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
      const { response } = await client._client.post({ url: path, body, headers: HEADERS })
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
    open.set(request.id, { event })
    const own = await session(request.sessionID)
    let root = own
    for (let n = 0; root.parentID && n < DEEPEST; n++) root = await session(root.parentID)
    const call = await part(request)
    // It may have ended by now.
    if (!open.has(request.id)) return
    const waiting = start()
    open.set(request.id, { event, root: root.id, told: waiting })
    tell(waiting, { type: "asked", event: event.type, request, session: own, root, part: call })
  }

  const ended = ({ requestID }) => {
    // A reply of ours is an end, too. The response to it says whether it was first.
    if (replying.has(requestID)) return
    const told = open.get(requestID)?.told
    tell(told, { type: "ended", id: requestID })
    open.delete(requestID)
    if (told) rest(told)
  }

  // opencode leaves the dialog of a stopped turn on its screen, where it does nothing any more (1.18.33).
  const rests = ({ sessionID }) => {
    for (const [id, { event }] of open) {
      if (event.properties.sessionID !== sessionID) continue
      ended({ requestID: id })
      const [kind, body] = event.type === "permission.asked" ? ["permission", "reply"] : ["question", "reject"]
      client._client.post({ url: `/${kind}/${id}/${body}`, body: { reply: "reject" }, headers: HEADERS }).catch(() => {})
    }
  }

  // The sessions that were at work in this process. The value is when their status changed.
  const here = new Map()
  const works = ({ sessionID }) => {
    here.delete(sessionID)
    here.set(sessionID, Date.now())
    if (here.size > MOST_SESSIONS) here.delete(here.keys().next().value)
  }

  const sessions = async () => {
    const { data: at_work } = await client.session.status()
    const waiting = new Set([...open.values()].map(({ root }) => root))
    const all = await Promise.all([...here].map(async ([id, since]) => {
      const own = await session(id)
      if (!own || own.parentID) return []
      return [{ id, title: own.title, cwd: own.directory, since, waits: waiting.has(id), works: id in at_work }]
    }))
    return all.flat()
  }

  // A line is a call of opencode's API, or asks for the sessions.
  const serve = async (line) => {
    const { method, path, body } = JSON.parse(line)
    if (!path) return { status: 200, data: await sessions() }
    const { data, error, response } = await client._client[method]({ url: path, body, headers: HEADERS })
    return { status: response.status, data: data ?? error }
  }

  const server = createServer((socket) => {
    socket.on("error", () => {})
    createInterface({ input: socket }).once("line", async (line) => {
      const reply = await serve(line).catch((error) => ({ status: 0, data: `${error}` }))
      socket.end(JSON.stringify(reply, shown))
    })
  })
  try {
    const folder = join(process.env.XDG_STATE_HOME || join(homedir(), ".local/state"), "askbox", "opencode")
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    server.on("error", () => {})
    server.listen(join(folder, `${randomUUID().slice(0, 8)}.sock`))
    server.unref()
  } catch {}

  return {
    event: async ({ event }) => {
      try {
        if (ASKED.includes(event.type)) asked(event).catch(() => open.delete(event.properties.id))
        if (ENDED.includes(event.type)) ended(event.properties)
        if (event.type === "session.status") works(event.properties)
        if (event.type === "session.idle") rests(event.properties)
        if (event.type === "session.deleted") here.delete(event.properties.info.id)
        if (event.type === "server.instance.disposed") server.close()
      } catch {}
    },
  }
}
