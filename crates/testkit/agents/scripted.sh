#!/bin/sh
# The agent that does for each workflow what a script of the test says: `$AGENT_DIR/WORKFLOW.sh` is run with `$n`, the number of
# the launch, and `$message`, what the agent was told. What the script prints is the agent's final text. The transcript exists from
# the beginning, so that the session can be forked.
set -u
for argument; do
  case $argument in
  --session-id=*) session=${argument#*=} ;;
  --resume=*) resumed=${argument#*=} ;;
  esac
done
session=${session:-$resumed}
IFS= read -r message || exit 1
id=$ASKBOX_WORKFLOW_ID
mkdir -p "$HOME/.claude/projects/p"
printf '%s\n' "$message" >>"$HOME/.claude/projects/p/$session.jsonl"
printf '%s\n' "$ASKBOX_RUN" >>"$AGENT_DIR/launches"
printf '%s\n' "$*" >>"$AGENT_DIR/arguments.$id"
n=$(grep -c "^$id/" "$AGENT_DIR/launches")
printf '%s\n' "$message" >"$AGENT_DIR/.told.$id.$n"
mv "$AGENT_DIR/.told.$id.$n" "$AGENT_DIR/told.$id.$n"
printf '{"type":"system","subtype":"init","session_id":"%s","cwd":"/","tools":[],"model":"fake","permissionMode":"default","claude_code_version":"%s"}\n' "$session" "${AGENT_VERSION:-}"

# The reply of the only child in the message.
news() { printf '%s\n' "$message" | sed -n 's/.*Its reply:\\n> \(.*\)\\n\\n\\nContinue.*/\1/p'; }

# Says something before the end of the work.
say() {
  printf '{"type":"assistant"}\n' >>"$HOME/.claude/projects/p/$session.jsonl"
  printf '{"type":"assistant","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"%s"}]},"session_id":"%s"}\n' "$1" "$session" >&3
}

export message n
exec 3>&1
reply=${AGENT_REPLY:-done}
if [ -f "$AGENT_DIR/$id.sh" ]; then
  # shellcheck disable=SC1090 # the test's own script
  reply=$(. "$AGENT_DIR/$id.sh" 2>>"$AGENT_DIR/complaints" </dev/null)
fi
printf '%s\n' "$reply" >"$AGENT_DIR/work.$id.$n"
case $reply in *HOPELESS*) printf 'not this time\n' >&2; exit 1 ;; esac
reply=$(printf '%s' "$reply" | sed 's/\\/\\\\/g; s/"/\\"/g' | awk 'NR > 1 { printf "\\n" } { printf "%s", $0 }')
printf '{"type":"result","subtype":"success","is_error":false,"terminal_reason":"completed","result":"%s","session_id":"%s","num_turns":1,"total_cost_usd":0.01,"usage":{}}\n' "$reply" "$session"
cat >/dev/null
