// askbox's extension for GitHub's Copilot: each open permission of its sessions also lies in the mailbox, and the first answer counts.
// This is an experiment, as Copilot's extensions are. `askbox setup --copilot` wrote this file, and `askbox setup --remove --only live`
// removes it. Without `[live] experimental_copilot = true` in askbox's configuration, no dialog is taken. If it fails, the dialog stays
// at its terminal as it is without this file.
import { spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { joinSession } from "@github/copilot-sdk/extension"

// The calls of tools that are kept at most, because each may ask for a permission.
const MOST_CALLS = 256
// The result that Copilot tells at the end of a permission, for each decision of a person in the mailbox.
const RESULTS = { "approve-once": "approved", reject: "denied-interactively-by-user" }

const join = async () => {
  // The requests whose dialogs are open. The value is the command that was told of it.
  const open = new Map()
  // The requests that get a person's answer now. The value takes the end that Copilot tells.
  const replying = new Map()
  // The calls of tools that have begun. A permission names its call, but not the whole input.
  const calls = new Map()
  let command

  // The command waits beside the dialogs. It has a session of its own, so that keys at the terminal do not end it.
  const start = () => {
    if (command) return command
    const own = spawn("askbox", ["live", "copilot"], { detached: true, stdio: ["pipe", "pipe", "ignore"] })
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

  // This handler decides nothing. Copilot lets only an extension with a handler reply to permissions.
  const session = await joinSession({ onPermissionRequest: async () => ({ kind: "no-result" }) })

  // Gives a person's answer to Copilot, once. Copilot says whether the request still waited, and then how it ended.
  const reply = async (own, line) => {
    const { id, body } = JSON.parse(line)
    // The dialog has ended already, and the command was told of its end.
    if (!open.has(id)) return
    const completed = new Promise((resolve) => replying.set(id, resolve))
    let told
    try {
      const { success } = await session.rpc.permissions.handlePendingPermissionRequest({ requestId: id, result: body })
      if (success) {
        const { result, decisionSource } = await completed
        const agrees = decisionSource === undefined && result.kind === RESULTS[body.kind]
        told = agrees ? { type: "replied", id, status: 200 } : { type: "failed", id, why: `Copilot ended it as ${result.kind}` }
      } else told = { type: "replied", id, status: 404 }
    } catch (error) {
      told = { type: "failed", id, why: `the extension could not reply to Copilot: ${error}` }
    }
    tell(own, told)
    replying.delete(id)
    open.delete(id)
    rest(own)
  }

  const requested = ({ data, agentId }) => {
    const { requestId: id, permissionRequest: request } = data
    const call = calls.get(request.toolCallId)
    // It was answered before anybody could see it.
    if (data.resolvedByHook) return
    const owner = { id: session.sessionId, directory: process.cwd() }
    const asks = agentId ? { ...owner, id: agentId, agent: agentId } : owner
    const waiting = start()
    open.set(id, waiting)
    // A tool with a grammar of its own has a text for its input.
    const input = typeof call?.arguments === "string" ? { input: call.arguments } : call?.arguments
    const part = call && { tool: call.toolName, state: { status: "running", input } }
    tell(waiting, { type: "asked", event: "permission.requested", request: { ...request, id }, session: asks, root: owner, part })
  }

  const completed = (data) => {
    // A reply of ours is an end, too. The response to it says whether it was first.
    const resolve = replying.get(data.requestId)
    if (resolve) return resolve(data)
    const told = open.get(data.requestId)
    tell(told, { type: "ended", id: data.requestId })
    open.delete(data.requestId)
    if (told) rest(told)
  }

  session.on((event) => {
    try {
      const { type, data } = event
      if (type === "tool.execution_start") {
        calls.set(data.toolCallId, data)
        if (calls.size > MOST_CALLS) calls.delete(calls.keys().next().value)
      }
      if (type === "tool.execution_complete") calls.delete(data.toolCallId)
      if (type === "permission.requested") requested(event)
      if (type === "permission.completed") completed(data)
    } catch {}
  })
}

// Runs of askbox have a way of their own.
if (!process.env.ASKBOX_RUN) await join()
