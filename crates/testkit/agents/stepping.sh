#!/bin/sh
# The agent that goes through a run step by step. `$AGENT_DIR/body.sh` is what it does between the receipt of the message and its
# end; the usual is `work`. `$AGENT_DIR/log` gets a line `start` for each launch, `shown` if the model sees the message, `done` at
# the end of the work, and `violation` if two agents of one round live at once.
set -u
for argument; do
  case $argument in
  --session-id=*) session=${argument#*=} ;;
  --resume=*) session=${argument#*=} ;;
  esac
done
: "${session:=none}"
transcript=$HOME/.claude/projects/p/$session.jsonl

log() { printf '%s\n' "$*" >>"$AGENT_DIR/log"; }
say() { printf '%s\n' "$*"; }

# Stops here for as long as the test wants it: the file `pause.NAME`, or `pause.WORKFLOW.NAME`, is there.
step() { pause "$1"; pause "$ASKBOX_WORKFLOW_ID.$1"; }
pause() {
  [ -e "$AGENT_DIR/pause.$1" ] || return 0
  echo "$$ $PPID" >"$AGENT_DIR/at.$1.new" && mv "$AGENT_DIR/at.$1.new" "$AGENT_DIR/at.$1"
  while [ -e "$AGENT_DIR/pause.$1" ]; do sleep 0.02; done
}

# At most one agent of a round lives. The agent takes the name with O_EXCL. If another agent has the name, that agent must be dead, or it
# is a violation.
round=${ASKBOX_RUN%/*}
marker=$AGENT_DIR/live.$(echo "$round" | tr / _)
set -C
if ! { echo $$ >"$marker"; } 2>/dev/null; then
  other=
  for _ in 1 2 3 4 5; do
    read -r other <"$marker" && [ -n "$other" ] && break
    sleep 0.02
  done
  if [ -n "$other" ] && tr '\0' '\n' 2>/dev/null <"/proc/$other/environ" | grep -q "^ASKBOX_RUN=$round/"; then
    log "violation $ASKBOX_RUN: $other lives"
  fi
  echo $$ >|"$marker"
fi
set +C

log "start $ASKBOX_RUN $session"
step spawned
began() {
  # Other bytes on the line of the session's beginning.
  printf '%b' "${AGENT_DIRT:-}"
  say "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"$session\",\"model\":\"fake\",\"permissionMode\":\"default\",\"cwd\":\"/\"}"
}
receipt() { say "{\"type\":\"command_lifecycle\",\"command_uuid\":\"$message\",\"state\":\"$1\",\"session_id\":\"$session\"}"; }
result() {
  say "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"terminal_reason\":\"completed\",\"session_id\":\"$session\",\"result\":\"$1\",\"num_turns\":1,\"total_cost_usd\":0}"
}

IFS= read -r line || exit 1
message=${line#*\"uuid\":\"}
message=${message%%\"*}
# Read without another process: one that is killed would look like a message that is not there.
had=
entry="{\"type\":\"user\",\"message\":\"$message\"}"
[ ! -e "$transcript" ] || while IFS= read -r known; do [ "$known" != "$entry" ] || had=1; done <"$transcript"
# What this round's message says, also to a session that is continued: in `$told`.
told=$AGENT_DIR/told.$message
[ -n "$had" ] || { printf '%s\n' "$line" >"$AGENT_DIR/.told.$message" && mv "$AGENT_DIR/.told.$message" "$told"; }
if [ -n "$had" ]; then
  # A session takes a message that it knows only once, says so, and waits for the next.
  receipt completed
  IFS= read -r line || exit 1
  message=${line#*\"uuid\":\"}
  message=${message%%\"*}
  log "continued $ASKBOX_RUN $session"
else
  # As `claude` does it: first the transcript, then the model.
  echo "$entry" >>"$transcript"
  log "shown $ASKBOX_RUN $session $message"
fi
receipt queued
receipt started
began
step began

work() {
  say '{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"true"}}]}}'
  step tool
  say '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","is_error":false,"content":"done"}]}}'
  step before_result
  result done
  log "done $ASKBOX_RUN $session"
  step result
}

# The end of the input is the supervisor's leave to go.
finish() {
  while IFS= read -r _; do :; done
  exit 0
}

# shellcheck disable=SC1091 # the test's own script
. "$AGENT_DIR/body.sh"
finish
