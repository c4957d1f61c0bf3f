#!/usr/bin/env python3
"""An agent that speaks ACP and does what a test says, also what real agents do not do on demand.

`$AGENT_DIR/turns` has one line for each prompt, over all processes: a JSON list of steps. A prompt behind the last line is answered with
`done`. `$AGENT_DIR/received` gets every line that the client sends, `$AGENT_DIR/told` the text of each prompt, `$AGENT_DIR/starts` a line
for each process. Sessions lie in `$AGENT_DIR/sessions`; while there is a file `in_use`, none of them is continued. `$ACP_CAN` names the
abilities: resume, load, close, folders, modes; `$ACP_SESSION` the id of every session. While `$AGENT_DIR/hold` names a method, the agent writes `at.hold` and waits before it handles
that method, or behind its reply to it if the file says `after METHOD`.

    {"say": T}  {"think": T}            a piece of a text
    {"run": C}  {"run": C, "ask": true} a tool call that runs the command; with a request for permission first
    {"quiet_call": C}                   the same without a `tool_call` in front of its end
    {"send": OBJECT}  {"write": TEXT}   a line as it is
    {"form": M, "schema": S}            a question to the user; `times`: several at once; `params`: further parameters
    {"mcp": TOOL, "input": I}           a call of a tool of the session's first MCP server, which gets no environment but the one that is
                                        named; `ask`: with a request for permission first, as `codex` or as `qwen` asks. `$AGENT_DIR/mcp`
                                        gets the tools and the text of the result
    {"questions": [Q]}                  a question to the user as qwen asks it
    {"forget": true}                    the message of this turn and its calls are not written into the session
    {"forget_calls": true}              its calls are not
    {"pause": NAME}                     waits until the file `go.NAME` is there
    {"die": true}                       the process kills itself
    {"end": RESULT}  {"fail": ERROR}    the reply to the prompt; without it, `end_turn`
    {"end_twice": true}  {"deaf": true} two replies; never a reply, not even after a cancel
    {"late": T}                         a piece of a text behind the reply
"""
import json, os, queue, signal, subprocess, sys, threading, time, urllib.parse, uuid

FOLDER = os.environ["AGENT_DIR"]
CAN = os.environ.get("ACP_CAN", "resume,load,close,modes").split(",")
OPTIONS = json.loads(os.environ.get("ACP_OPTIONS", "null")) or [
    {"optionId": "o0", "name": "Always", "kind": "allow_always"},
    {"optionId": "o1", "name": "Yes", "kind": "allow_once"},
    {"optionId": "o2", "name": "No", "kind": "reject_once"},
]
lock = threading.Lock()
replies, cancelled, processes, servers = {}, threading.Event(), [], []
last_id = -1  # the first request has the id 0
BEFORE, BEHIND = json.loads(os.environ.get("ACP_DIRT", '["", ""]'))  # other bytes on the line of each message


def path(name):
    return os.path.join(FOLDER, name)


def kept(session):
    return "sessions/_" + urllib.parse.quote(session, safe="")


def append(name, text):
    with open(path(name), "a") as file:
        file.write(text + "\n")


def write(text):
    with lock:
        sys.stdout.write(text)
        sys.stdout.flush()


def send(*messages):
    write("".join(BEFORE + json.dumps({"jsonrpc": "2.0", **message}) + BEHIND + "\n" for message in messages))


def update_of(session, sort, **fields):
    return {"method": "session/update", "params": {"sessionId": session, "update": {"sessionUpdate": sort, **fields}}}


def update(session, sort, **fields):
    send(update_of(session, sort, **fields))


def piece_of(session, kind, text):
    return update_of(session, kind, content={"type": "text", "text": text})


def piece(session, kind, text):
    send(piece_of(session, kind, text))


def begin(method, params):
    global last_id
    last_id += 1
    replies[last_id] = queue.Queue()
    send({"id": last_id, "method": method, "params": params})
    return replies[last_id]


def ask(method, params):
    return begin(method, params).get()


def remember(session, entry):
    append(kept(session), json.dumps(entry))


def kill_if_cancelled():
    """Both threads call it: the one that starts a process, and the one that reads the cancel."""
    for process in list(processes) if cancelled.is_set() else []:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def run(session, step, command, is_remembered):
    call = f"call-{uuid.uuid4().hex[:8]}"
    fields = {"toolCallId": call, "title": command, "kind": "execute", "rawInput": {"command": command}}
    if "run" in step:
        update(session, "tool_call", **fields, status="pending")
    if step.get("ask"):
        reply = ask("session/request_permission", {"sessionId": session, "toolCall": fields, "options": OPTIONS})
        append("permissions", json.dumps(reply.get("result")))
        if reply.get("result", {}).get("outcome", {}).get("optionId") != "o1":
            if is_remembered:
                remember(session, {"call": command, "id": call, "status": "failed"})
            update(session, "tool_call_update", toolCallId=call, status="failed", content=[])
            return step.get("ends_turn", False)  # as opencode, qwen and copilot do
    process = subprocess.Popen(["/bin/sh", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                               start_new_session=True)
    processes.append(process)
    kill_if_cancelled()
    out = process.communicate()[0].decode("utf-8", "replace")
    processes.remove(process)
    status = "failed" if process.returncode else "completed"
    if is_remembered:
        remember(session, {"call": command, "id": call, "status": status})
    update(session, "tool_call_update", toolCallId=call, status=status, kind="execute",
           title=command, rawInput=fields["rawInput"], content=[{"type": "content", "content": {"type": "text", "text": out}}])
    return False


def call_tool(session, step):
    tool, arguments, server = step["mcp"], step.get("input", {}), servers[0]
    call = f"call-{uuid.uuid4().hex[:8]}"
    fields = {"toolCallId": call, "title": f"mcp__{server['name']}__{tool}", "kind": "other", "rawInput": arguments}
    if step.get("ask") == "codex":
        fields = {"toolCallId": call, "title": f"mcp.{server['name']}.{tool}", "kind": "execute",
                  "rawInput": {"server": server["name"], "tool": tool, "arguments": arguments}}
        update(session, "tool_call", **fields, status="in_progress", _meta={"is_mcp_tool_call": True})
        fields = {"toolCallId": call, "kind": "execute", "status": "pending"}
    if "ask" in step:
        reply = ask("session/request_permission", {"sessionId": session, "toolCall": fields, "options": OPTIONS})
        append("permissions", json.dumps(reply.get("result")))
        if reply.get("result", {}).get("outcome", {}).get("optionId") != "o1":
            return
    process = subprocess.Popen([server["command"], *server["args"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               env={each["name"]: each["value"] for each in server["env"]}, start_new_session=True)
    processes.append(process)
    kill_if_cancelled()

    def request(id, method, params):
        process.stdin.write((json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}) + "\n").encode())
        process.stdin.flush()
        return json.loads(process.stdout.readline())["result"]

    request(1, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "fake", "version": "1.0"}})
    process.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    tools = [each["name"] for each in request(2, "tools/list", {})["tools"]]
    result = request(3, "tools/call", {"name": tool, "arguments": arguments})
    append("mcp", json.dumps({"tools": tools, "text": result["content"][0]["text"]}))
    process.stdin.close()
    process.wait()
    processes.remove(process)
    update(session, "tool_call_update", toolCallId=call, status="completed", content=[])


def turn(session, id, steps):
    result, error, twice, late = {"stopReason": "end_turn"}, None, False, []
    is_remembered = {"forget": True} not in steps and {"forget_calls": True} not in steps
    for step in steps:
        if cancelled.is_set():
            break
        if "say" in step:
            piece(session, "agent_message_chunk", step["say"])
        elif "think" in step:
            piece(session, "agent_thought_chunk", step["think"])
        elif "run" in step or "quiet_call" in step:
            if run(session, step, step.get("run") or step["quiet_call"], is_remembered):
                break
        elif "mcp" in step:
            call_tool(session, step)
        elif "send" in step:
            send(json.loads(json.dumps(step["send"]).replace("SESSION", session)))
        elif "write" in step:
            write(step["write"])
        elif "form" in step:
            params = {"sessionId": session, "mode": "form", "message": step["form"], "requestedSchema": step.get("schema")}
            asked = [begin("elicitation/create", {**params, **step.get("params", {})}) for _ in range(step.get("times", 1))]
            for reply in asked:
                append("forms", json.dumps(reply.get().get("result")))
        elif "questions" in step:
            call = {"toolCallId": "q", "title": "Ask user", "kind": "think", "rawInput": {"questions": step["questions"]},
                    "_meta": {"qwenInteractionKind": "user_question", "qwenQuestions": step["questions"]}}
            reply = ask("session/request_permission", {"sessionId": session, "toolCall": call, "options": OPTIONS})
            append("forms", json.dumps(reply.get("result")))
        elif "request" in step:
            append("refused", json.dumps(ask(step["request"], {"sessionId": session, "path": "/etc/passwd"})))
        elif "pause" in step:
            append(f"at.{step['pause']}", str(os.getpid()))
            while not os.path.exists(path(f"go.{step['pause']}")) and not cancelled.is_set():
                time.sleep(0.02)
        elif "die" in step:
            os.kill(os.getpid(), signal.SIGKILL)
        elif "deaf" in step:
            return
        elif "end" in step:
            result = step["end"]
        elif "fail" in step:
            error = step["fail"]
        elif "end_twice" in step:
            twice = True
        elif "late" in step:
            late.append(piece_of(session, "agent_message_chunk", step["late"]))
    if cancelled.is_set():
        result, error = {"stopReason": "cancelled"}, None
    reply = {"id": id, "error": error} if error else {"id": id, "result": result}
    # One write: the first reply may end this process.
    send(reply, *([reply] if twice else []), *late)


def is_held(step):
    try:
        return open(path("hold")).read() == step
    except FileNotFoundError:
        return False


def stop_at(step):
    if is_held(step):
        append("at.hold", str(os.getpid()))
    while is_held(step):
        time.sleep(0.02)


def modes():
    return {"modes": {"currentModeId": "auto", "availableModes": []}} if "modes" in CAN else {}


def handle(method, params, id):
    session = params.get("sessionId")
    if "mcpServers" in params:
        servers[:] = params["mcpServers"]
    if method == "initialize":
        capabilities = {"loadSession": "load" in CAN, "sessionCapabilities": {
            name: {} for name, can in [("resume", "resume"), ("close", "close"), ("additionalDirectories", "folders")] if can in CAN}}
        return {"protocolVersion": int(os.environ.get("ACP_VERSION", "1")), "agentCapabilities": capabilities,
                "agentInfo": {"name": os.environ.get("ACP_NAME", "fake"), "version": "1.0"}}
    if method == "session/new":
        if os.path.exists(path("logged_out")):
            raise LookupError(-32000, "Authentication required")
        session = os.environ.get("ACP_SESSION", f"ses_{uuid.uuid4().hex}")
        append(kept(session), "{}")
        return {"sessionId": session, **modes()}
    if method in ("session/resume", "session/load"):
        if not os.path.exists(path(kept(session))):
            raise LookupError(-32002, "Unknown session")
        if os.path.exists(path("in_use")):
            append("refused_sessions", session)
            raise LookupError(-32600, "Invalid request")
        if method == "session/load":
            for line in open(path(kept(session))):
                entry = json.loads(line)
                for kind, key in [("user_message_chunk", "user"), ("agent_message_chunk", "agent")]:
                    if key in entry:
                        piece(session, kind, entry[key])
                if "call" in entry:
                    update(session, "tool_call", toolCallId=entry["id"], title=entry["call"], kind="execute", status=entry["status"])
        return modes()
    if method in ("session/set_mode", "session/close"):
        return {}
    if method == "session/prompt":
        text = params["prompt"][0]["text"]
        append("told", json.dumps(text))
        turns = open(path("turns")).read().splitlines() if os.path.exists(path("turns")) else []
        n = sum(1 for _ in open(path("told"))) - 1
        steps = json.loads(turns[n]) if n < len(turns) else [{"say": "done"}]
        if {"forget": True} not in steps:
            remember(session, {"user": text})
        cancelled.clear()
        threading.Thread(target=turn, args=(session, id, steps), daemon=True).start()
        return None
    raise LookupError(-32601, "Method not found")


def main():
    os.makedirs(path("sessions"), exist_ok=True)
    append("starts", os.environ.get("ASKBOX_RUN", "-"))
    for line in sys.stdin:
        append("received", line.rstrip("\n"))
        message = json.loads(line)
        method, id = message.get("method"), message.get("id")
        stop_at(method)
        if method == "session/cancel":
            if os.path.exists(path("deaf_to_cancel")):
                continue
            cancelled.set()
            kill_if_cancelled()
            for waiting in list(replies.values()):
                waiting.put({})
        elif method and id is not None:
            try:
                result = handle(method, message.get("params", {}), id)
                if result is not None:
                    send({"id": id, "result": result})
            except LookupError as error:
                send({"id": id, "error": {"code": error.args[0], "message": error.args[1]}})
            stop_at(f"after {method}")
        elif id in replies:
            replies[id].put(message)
    os._exit(0)


main()
