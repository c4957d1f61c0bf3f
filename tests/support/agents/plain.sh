#!/bin/sh
# A scripted agent that speaks just enough of Claude Code's stream-json. Every launch is one line in $FAKE_DIR/launches;
# what it was told lies in $FAKE_DIR/told.WORKFLOW.N. A script $FAKE_DIR/WORKFLOW.sh is its work, run between message and result.
for argument in "$@"; do
  case $argument in
    --session-id=*) session=${argument#*=} ;;
    --resume=*) resumed=${argument#*=} ;;
  esac
done
session=${session:-$resumed}
IFS= read -r message
printf '%s\n' "$ASKBOX_RUN" >>"$FAKE_DIR/launches"
n=$(grep -c "^$ASKBOX_WORKFLOW_ID/" "$FAKE_DIR/launches")
printf '%s\n' "$message" >"$FAKE_DIR/.told.$ASKBOX_WORKFLOW_ID.$n"
mv "$FAKE_DIR/.told.$ASKBOX_WORKFLOW_ID.$n" "$FAKE_DIR/told.$ASKBOX_WORKFLOW_ID.$n"
printf '{"type":"system","subtype":"init","session_id":"%s","cwd":"/","tools":[],"model":"fake","permissionMode":"default"}\n' "$session"
if [ -f "$FAKE_DIR/$ASKBOX_WORKFLOW_ID.sh" ]; then
  # shellcheck disable=SC1090 # the test's own script
  . "$FAKE_DIR/$ASKBOX_WORKFLOW_ID.sh" >"$FAKE_DIR/work.$ASKBOX_WORKFLOW_ID.$n" 2>&1 </dev/null
fi
printf '{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"done"}]},"session_id":"%s"}\n' "$session"
printf '{"type":"result","subtype":"success","is_error":false,"terminal_reason":"completed","result":"done","session_id":"%s","num_turns":1,"total_cost_usd":0.01,"usage":{}}\n' "$session"
cat >/dev/null
