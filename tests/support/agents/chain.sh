#!/bin/sh
# A scripted agent: `$FAKE_DIR/ID.sh` is its work, `$n` the number of the launch, `$message` what it was told; what the work
# prints is its final text. Its transcript is there from the beginning, so that it can be forked.
set -u
for argument; do
  case $argument in
  --session-id=*) session=${argument#*=} ;;
  --resume=*) resumed=${argument#*=} ;;
  esac
done
session=${session:-$resumed}
IFS= read -r message || exit 1
mkdir -p "$HOME/.claude/projects/p"
printf '%s\n' "$message" >>"$HOME/.claude/projects/p/$session.jsonl"
printf '%s\n' "$ASKBOX_RUN" >>"$FAKE_DIR/launches"
printf '%s\n' "$*" >>"$FAKE_DIR/arguments.$ASKBOX_WORKFLOW_ID"
n=$(grep -c "^$ASKBOX_WORKFLOW_ID/" "$FAKE_DIR/launches")
printf '%s\n' "$message" >"$FAKE_DIR/.told.$ASKBOX_WORKFLOW_ID.$n"
mv "$FAKE_DIR/.told.$ASKBOX_WORKFLOW_ID.$n" "$FAKE_DIR/told.$ASKBOX_WORKFLOW_ID.$n"
printf '{"type":"system","subtype":"init","session_id":"%s","cwd":"/","tools":[],"model":"fake","permissionMode":"default"}\n' "$session"

# The reply of the one child that a message tells of.
news() { printf '%s\n' "$message" | sed -n 's/.*Its reply:\\n\(.*\)\\n\\n\\nContinue.*/\1/p'; }

# Words of its own before its work is done.
say() {
  printf '{"type":"assistant"}\n' >>"$HOME/.claude/projects/p/$session.jsonl"
  printf '{"type":"assistant","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"%s"}]},"session_id":"%s"}\n' "$1" "$session" >&3
}

export message n
exec 3>&1
reply=$(. "$FAKE_DIR/$ASKBOX_WORKFLOW_ID.sh" 2>>"$FAKE_DIR/complaints" </dev/null)
case $reply in *HOPELESS*) printf 'not this time\n' >&2; exit 1 ;; esac
reply=$(printf '%s' "$reply" | sed 's/\\/\\\\/g; s/"/\\"/g' | awk 'NR > 1 { printf "\\n" } { printf "%s", $0 }')
printf '{"type":"result","subtype":"success","is_error":false,"terminal_reason":"completed","result":"%s","session_id":"%s","num_turns":1,"total_cost_usd":0.01,"usage":{}}\n' "$reply" "$session"
cat >/dev/null
