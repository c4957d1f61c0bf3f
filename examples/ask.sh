#!/bin/sh
# ask.sh: leaves a question in an askbox mailbox, or saves a checkpoint, with nothing but a POSIX shell.
#
#   $ ask.sh save docs-42 < state.json
#   /home/ann/.claude/questions/checkpoints/docs-42.json
#   $ ask.sh post -w docs-42 'How should we proceed?' -o merge='Merge into one' -o keep='Keep both'
#   QUESTION_POSTED:docs-42
#
# The twin of `ask-post` and `checkpoint save` for containers without them: the same files, receipts and exit statuses
# (0 done, 1 failed, 2 usage, 3 no such checkpoint, 4 conflict, 5 invalid). It needs awk, cat, cp, date, find, grep, id, ln,
# mkdir, mv, rm, sed, sort, sync, touch, tr and wc. Busybox and every distribution have them.
#
# Two limits: Without the program flock (util-linux, busybox) it takes no lock; then save the checkpoint before you post, not while somebody
# answers. And a pending question in another layout than the layout of askbox counts as another question.
set -u
umask 077
LC_ALL=C
export LC_ALL
nl='
'

usage() {
  cat <<'END'
Usage: ask.sh post [-w ID] QUESTION [-o KEY=DESCRIPTION]... [-c CHECKPOINT] [--asked-by NAME] [--mailbox DIR]
       ask.sh save [ID] [--mailbox DIR] < CHECKPOINT.json

ID is otherwise $WORKFLOW_ID or $ASKBOX_WORKFLOW_ID; a post without any gets a new one. QUESTION `-` is standard input.
The mailbox is --mailbox DIR, else $ASKBOX_DIR, else ~/.claude/questions.
END
}

temporary=
trap 'rm -f ${temporary:+"$temporary" "$temporary.in"}' EXIT
trap 'exit 1' HUP INT TERM

# die STATUS MESSAGE HINT
die() {
  printf 'error: %s\nhint: %s\n' "$2" "$3" | tr -d '\000-\011\013-\037\177' >&2
  exit "$1"
}

# One program with two jobs. `job=text` prints standard input (with one newline at its end) as a JSON string. `job=checkpoint`
# writes a JSON object as the complete checkpoint of workflow `id`. If the object cannot be a checkpoint, it prints why and ends
# with status 5.
#
# shellcheck disable=SC2016 # awk's own
json_awk='
function bad(why) { print why; failed = 5; exit 5 }
function is_utf8(s) {
  if (s !~ /[\200-\377]/) return 1
  gsub(/[\302-\337][\200-\277]|\340[\240-\277][\200-\277]|[\341-\354\356\357][\200-\277][\200-\277]|\355[\200-\237][\200-\277]/, "", s)
  gsub(/\360[\220-\277][\200-\277][\200-\277]|[\361-\363][\200-\277][\200-\277][\200-\277]|\364[\200-\217][\200-\277][\200-\277]/, "", s)
  return s !~ /[\200-\377]/
}
function escaped(s,  out, c) {
  while (match(s, /["\\\001-\037]/)) {
    c = substr(s, RSTART, 1)
    out = out substr(s, 1, RSTART - 1) special[c]
    s = substr(s, RSTART + 1)
  }
  return out s
}
# The length of the string token at the start of `s`. Looks at it in pieces, because some awks copy a string at every turn.
function string_length(s,  n, c, rest, all) {
  n = 1; all = length(s)
  while (n < all) {
    rest = substr(s, n + 1, 1000)
    while (match(rest, /["\\\001-\037]/)) {
      c = substr(rest, RSTART, 1)
      if (c == "\"") return n + RSTART
      if (c != "\\") bad("file: control character while parsing a string (line " NR ")")
      # The escape may be cut by the end of the piece.
      if (RSTART + 5 > length(rest) && n + length(rest) < all) { rest = substr(rest, 1, RSTART - 1); break }
      n += RSTART
      rest = substr(rest, RSTART + 1)
      if (rest ~ /^u[0-9a-fA-F][0-9a-fA-F][0-9a-fA-F][0-9a-fA-F]/) { n += 5; rest = substr(rest, 6) }
      else if (rest ~ /^["\\\/bfnrt]/) { n += 1; rest = substr(rest, 2) }
      else bad("file: invalid escape (line " NR ")")
    }
    n += length(rest)
  }
  bad("file: ends in the middle of a string (line " NR ")")
}
# A key whose ASCII letters are written as \u00XX is the same key.
function plain(s,  out, n) {
  s = substr(s, 2, length(s) - 2)
  while (match(s, /\\u00[2-7][0-9a-fA-F]/)) {
    n = index("0123456789abcdef", tolower(substr(s, RSTART + 5, 1))) - 1 + 16 * substr(s, RSTART + 4, 1)
    out = out substr(s, 1, RSTART - 1) (n == 34 || n == 92 ? substr(s, RSTART, 6) : sprintf("%c", n))
    s = substr(s, RSTART + 6)
  }
  s = out s
  gsub(/\\\//, "/", s)
  return s
}
function check_top(token, kind) {
  if (key == "workflow_id" && token != "null") {
    if (kind != "string") bad("workflow_id: is no text")
    if (plain(token) != id) bad("workflow_id: is `" plain(token) "`, not `" id "`")
  }
  if (key ~ /^(workflow_type|current_step|context|next_action)$/ && kind != "string" && token != "null") bad(key ": is no text")
  if (key ~ /^(completed|pending)_steps$/ && token != "[") bad(key ": is no list")
  if (key ~ /^(files|state_variables)$/ && token != "{") bad(key ": is no object")
  if (key == "schema_version" && token != "null" && token !~ /^[0-9]+$/) bad(key ": is no whole number")
  if (key == "user_answer_to" && token != "null" &&
      token !~ /^"[0-9a-fA-F-]+"$/) bad(key ": is no UUID")
}
function value(token, kind) {
  if (depth == 0) { if (token != "{") bad("file: is no JSON object") }
  else if (depth == 1) check_top(token, kind)
  else if (depth == 2 && key ~ /^(completed|pending)_steps$/ && kind != "string") bad(key ": holds something that is no text")
  else if (depth == 2 && key == "files" && (kind != "string" || plain(token) !~ /^\//)) bad("files." inner ": is no absolute path")
  if (depth == 1 && key == "schema_version") token = "1"
  if (depth == 1 && key == "workflow_id") token = "\"" id "\""
  put(token)
  if (kind == "open") {
    stack[++depth] = token
    if (depth > 64) bad("file: nests deeper than 64 levels")
    want = token == "{" ? "key or }" : "value or ]"
  } else want = depth ? "comma" : "end"
}
function put(s) { piece[++pieces] = s }
function close_one(token) {
  put(token == "}" && depth == 1 ? "" : token)
  depth--
  want = depth ? "comma" : "end"
}
function token_of(s,  c) {
  c = substr(s, 1, 1)
  if (c == "\"") {
    size = string_length(s)
    return substr(s, 1, size)
  }
  if (match(s, /^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?/) || match(s, /^(true|false|null)/)) size = RLENGTH
  else size = 1
  # 01, 1.x and truex are two tokens in a row. The grammar never allows that.
  return substr(s, 1, size)
}
function take(token,  c) {
  c = substr(token, 1, 1)
  if (want == "end") bad("file: trailing characters (line " NR ")")
  if (want == "key or }" && c == "}") return close_one(c)
  if (want ~ /^key/ && c == "\"") {
    if (depth == 1) {
      key = plain(token)
      if (key in seen) bad(key ": is there twice")
      seen[key] = 1
      put((pieces > 1 ? ",\n  " : "\n  ") token)
    } else { inner = plain(token); put(token) }
    want = "colon"; return
  }
  if (want == "colon" && c == ":") { put(depth == 1 ? ": " : ":"); want = "value"; return }
  if (want == "comma" && c == ",") {
    if (depth > 1) put(",")
    want = stack[depth] == "{" ? "key" : "value"; return
  }
  if (want == "comma" && c == (stack[depth] == "{" ? "}" : "]")) return close_one(c)
  if (want == "value or ]" && c == "]") return close_one(c)
  if (want ~ /^value/) {
    if (c == "\"") return value(token, "string")
    if (c == "{" || c == "[") return value(token, "open")
    if (length(token) > 1 || c ~ /[0-9]/) return value(token, "word")
  }
  bad("file: expected " want ", found `" token "` (line " NR ")")
}
BEGIN {
  for (n = 1; n < 32; n++) special[sprintf("%c", n)] = sprintf("\\u%04x", n)
  special["\b"] = "\\b"; special["\t"] = "\\t"; special["\f"] = "\\f"; special["\r"] = "\\r"
  special["\""] = "\\\""; special["\\"] = "\\\\"
  want = "value"; pieces = 0
}
{ if (!is_utf8($0)) bad("file: is no UTF-8 (line " NR ")") }
job == "text" {
  printf "%s", (NR > 1 ? "\\n" : "\"")
  all = length($0)
  for (n = 1; n <= all; n += 1000) printf "%s", escaped(substr($0, n, 1000))
}
job == "checkpoint" {
  line = $0
  for (;;) {
    sub(/^[ \t\r]+/, "", line)
    if (line == "") break
    token = token_of(line)
    line = substr(line, size + 1)
    take(token)
  }
}
END {
  if (failed) exit failed
  if (job == "text") { printf "\""; exit 0 }
  if (want != "end") { print "file: ends in the middle of the JSON (line " NR ")"; exit 5 }
  for (n = 1; n <= pieces; n++) printf "%s", piece[n] >target
  if (!("workflow_id" in seen)) printf "%s\n  \"workflow_id\": \"%s\"", (pieces > 2 ? "," : ""), id >target
  if (!("schema_version" in seen)) printf ",\n  \"schema_version\": 1" >target
  print "\n}" >target
  if (close(target)) exit 1
}'

# Prints a text as a JSON string. Fails if it is not UTF-8.
json() {
  printf '%s\n' "$1" | awk -v job=text "$json_awk"
}

# The id rule: a file name that cannot leave its folder. check_id ID FIELD
check_id() {
  # shellcheck disable=SC2016 # words, no command
  rule='use 1 to 128 of A-Z a-z 0-9 . _ - , starting with a letter or digit, without `..`'
  case $1 in
    '') die 5 "$2: is empty" "$rule" ;;
    [!A-Za-z0-9]*) die 5 "$2: \`$1\` does not start with a letter or digit" "$rule" ;;
    *[!A-Za-z0-9._-]*) die 5 "$2: \`$1\` holds another character" "$rule" ;;
    *..*) die 5 "$2: \`$1\` holds \`..\`" "$rule" ;;
  esac
  [ "${#1}" -le 128 ] || die 5 "$2: is ${#1} bytes long" "$rule"
}

# Sets $id from the argument or the environment, if one of them has it.
choose_id() {
  id=$1
  if [ "$id_given" = yes ]; then
    check_id "$id" workflow_id
  elif [ -n "${WORKFLOW_ID:-}" ]; then
    id=$WORKFLOW_ID
    check_id "$id" "\$WORKFLOW_ID"
  elif [ -n "${ASKBOX_WORKFLOW_ID:-}" ]; then
    id=$ASKBOX_WORKFLOW_ID
    check_id "$id" "\$ASKBOX_WORKFLOW_ID"
  fi
}

# Prints a UUIDv7, if the system has random numbers to read. Otherwise prints nothing; the round's id is then derived from the question.
new_uuid() {
  random=
  read -r random </proc/sys/kernel/random/uuid || return 0
  now=$(printf '%012x' "$(($(date +%s) * 1000))")
  random=${random#*-*-?}
  printf '%s-%s-7%s\n' "${now%????}" "${now#????????}" "$random"
} 2>/dev/null

absolute() {
  case $1 in
    /*) printf '%s\n' "$1" ;;
    *) printf '%s/%s\n' "$(pwd -P)" "${1#./}" ;;
  esac
}

# Checks that a folder is ours, is not a link, and is not writable for other users.
trusted() {
  [ ! -L "$1" ] && [ -n "$(find "$1" -prune -type d -user "$(id -u)" ! -perm -0020 ! -perm -0002 2>/dev/null)" ]
}

# Sets $box, and creates the mailbox if it is missing.
open_mailbox() {
  if [ -z "$box" ]; then
    box=${ASKBOX_DIR:-${HOME:-}}
    [ -n "$box" ] || die 2 "\$HOME is not set, so the default mailbox is unknown" "name one: --mailbox DIR or \$ASKBOX_DIR"
    [ -n "${ASKBOX_DIR:-}" ] || box=$HOME/.claude/questions
  fi
  box=$(absolute "$box")
  case $box in ?*/) box=${box%/} ;; esac
  if [ ! -e "$box" ] && [ ! -L "$box" ]; then
    mkdir -p "$box" || die 1 "cannot create $box" "check the path, or choose another mailbox with --mailbox DIR"
  fi
  for folder in . pending answered running parked closed quarantine checkpoints workflows runs timers locks; do
    path=$box/$folder
    [ "$folder" != . ] || path=$box
    [ -e "$path" ] || [ -L "$path" ] || mkdir "$path" 2>/dev/null || [ -d "$path" ] ||
      die 1 "cannot create $path" "check the owner and mode with: ls -ld $box"
    trusted "$path" || die 1 "$path is no folder of yours that only you may write" "make it one (chown, chmod go-w), or choose another mailbox with --mailbox DIR"
  done
  # A new mailbox, with the folders above it, survives a power cut.
  [ -e "$box/locks/synced" ] || { sync && : >>"$box/locks/synced"; } || failed_to_write "$box/locks"
}

# Takes the lock of workflow $id until the script ends, as docs/dev/protocol.md describes it. A script without `flock` goes on without the lock.
lock() {
  command -v flock >/dev/null 2>&1 || return 0
  hash=-3750763034362895579
  rest=$id
  while [ -n "$rest" ]; do
    letter=${rest%"${rest#?}"}
    rest=${rest#?}
    # FNV-1a in 64 bits: the shell's numbers wrap around.
    hash=$(((hash ^ $(printf '%d' "'$letter")) * 1099511628211))
  done
  stripe=$box/locks/$(printf '%02x' $(((hash ^ (hash >> 32)) & 255)))
  [ ! -L "$stripe" ] || die 1 "$stripe is a symbolic link" "remove it"
  exec 9>>"$stripe" || die 1 "cannot open $stripe" "check the owner and mode with: ls -ld $box/locks"
  tries=0
  until flock -n 9; do
    tries=$((tries + 1))
    [ "$tries" -le 20 ] || die 1 "$id stayed locked for 20 s" "try again; another program works on it"
    sleep 1
  done
}

# Creates an empty file beside its final place, under a name that every reader ignores. Sets $temporary.
new_temporary() {
  n=0
  until temporary=$1/.tmpask$$.$n && (set -C && : >"$temporary") 2>/dev/null; do
    n=$((n + 1))
    if [ "$n" -ge 100 ]; then
      temporary=
      die 1 "cannot write in $1" "free some space there, or check its owner and mode with: ls -ld $1"
    fi
  done
}

# Syncs one file or folder to the disk if `sync` can do that, otherwise everything.
durable() {
  sync "$1" 2>/dev/null || sync
}

failed_to_write() {
  die 1 "cannot write in $1" "nothing was changed; free some space on that filesystem and repeat the command"
}

# Ends the program if a file is not a checkpoint of workflow $id. check_checkpoint FILE
check_checkpoint() {
  [ -e "$1" ] || [ -L "$1" ] || die 3 "there is no checkpoint at $1" "save it first: ask.sh save $id < FILE"
  if [ -L "$1" ] || [ ! -f "$1" ]; then
    die 5 "$1: file: is no regular file" "put the file itself there; links are not followed"
  fi
  parse "$1" "$1" /dev/null
}

# parse FILE ITS-NAME TARGET: writes the checkpoint of a file to TARGET in the form to be saved, or ends with status 5.
parse() {
  fix='write one complete JSON object; check it with: jq . FILE'
  size=$(wc -c <"$1")
  [ "$((size))" -le 16777216 ] || die 5 "$2: file: is longer than 16777216 bytes" "keep bulk in files and name them under files"
  [ "$(tr -d '\000' <"$1" | wc -c)" -eq "$((size))" ] || die 5 "$2: file: holds a NUL byte" "$fix"
  reason=$(awk -v job=checkpoint -v id="$id" -v target="$3" "$json_awk" <"$1")
  case $? in
    0) ;;
    5) die 5 "$2: $reason" "$fix" ;;
    *) die 1 "cannot write $3" "nothing was changed; is there space on that filesystem, and is there an awk?" ;;
  esac
}

save() {
  choose_id "${1-}"
  [ -n "$id" ] || die 2 "no workflow is named" "name one: ask.sh save ID, or set \$WORKFLOW_ID"
  open_mailbox
  new_temporary "$box/checkpoints"
  cat >"$temporary.in" || failed_to_write "$box/checkpoints"
  parse "$temporary.in" "standard input" "$temporary"
  lock
  replace "$temporary" "$box/checkpoints"
  printf '%s\n' "$box/checkpoints/$id.json"
}

# Copies a checkpoint that a reboot or the end of the container would remove. The time of the copy stays the same: it tells
# whether the checkpoint holds an answer to this question.
keep_checkpoint() {
  case $checkpoint in
    /tmp/* | /var/tmp/* | /dev/shm/* | "${TMPDIR:-/tmp}"/*) ;;
    *) return 0 ;;
  esac
  copy=$box/checkpoints/$id.json
  [ ! -e "$copy" ] || [ -n "$(find "$checkpoint" -newer "$copy")" ] || return 0
  new_temporary "$box/checkpoints"
  if ! { cat "$checkpoint" >"$temporary" && touch -r "$checkpoint" "$temporary"; }; then
    failed_to_write "$box/checkpoints"
  fi
  replace "$temporary" "$box/checkpoints"
}

# replace FILE FOLDER: the file becomes the workflow's document there.
replace() {
  if [ -d "$2/$id.json" ] || ! { durable "$1" && mv -f "$1" "$2/$id.json" && durable "$2"; }; then
    failed_to_write "$2"
  fi
}

# Prints the lines that must be equal for two questions to be the same.
content() {
  grep -E '^  "(question|type|options|questions|checkpoint|context)": ' "$1" | sed 's/,$//' | sort
}

no_utf8() {
  [ "$from_stdin" = no ] || die 5 "standard input: is no UTF-8" "send text in UTF-8"
  die 2 "invalid UTF-8 was detected in one or more arguments" "write it in UTF-8"
}

# field NAME TEXT: adds a field to the document, unless the text is empty.
field() {
  [ -n "$2" ] || return 0
  value=$(json "$2") || no_utf8
  document="$document,$nl  \"$1\": $value"
}

posted() {
  [ -n "$checkpoint" ] || [ -n "${ASKBOX_SESSION_ID:-}" ] ||
    echo "warning: $id: there is no checkpoint, so the process that gets the answer will know only the question; save one: ask.sh save $id" >&2
  echo "QUESTION_POSTED:$id"
}

post() {
  choose_id "$workflow"
  uuid=$(new_uuid)
  if [ -z "$id" ]; then
    [ -n "$uuid" ] || die 2 "no workflow is named" "name one with -w ID"
    id=w-$(new_uuid)
  fi
  case $question in
    *[![:space:]]*) ;;
    *) die 5 "question: is empty" "write the question's text" ;;
  esac
  open_mailbox
  if [ -n "$checkpoint" ]; then
    checkpoint=$(absolute "$checkpoint")
  elif [ -e "$box/checkpoints/$id.json" ]; then
    checkpoint=$box/checkpoints/$id.json
  fi
  if [ -n "$checkpoint" ]; then
    check_checkpoint "$checkpoint"
    keep_checkpoint
  fi
  document="{$nl  \"schema_version\": 1"
  field question "$question"
  [ -z "$options" ] || document="$document,$nl  \"options\": {${options#,}}"
  field workflow_id "$id"
  field question_id "$uuid"
  field checkpoint "$checkpoint"
  field timestamp "$(date -u +%Y-%m-%dT%H:%M:%SZ)"
  field asked_by "$asked_by"
  field cwd "$(pwd -P)"
  field config_dir "${CLAUDE_CONFIG_DIR:-}"
  session=${ASKBOX_SESSION_ID:-${CLAUDE_CODE_SESSION_ID:-}}
  case $session in
    *[!0-9a-fA-F-]*) ;;
    ????????-????-????-????-????????????) field session_id "$session" ;;
  esac
  [ "${ASKBOX_WORKFLOW_ID:-$id}" = "$id" ] || {
    check_id "$ASKBOX_WORKFLOW_ID" "\$ASKBOX_WORKFLOW_ID"
    field parent "$ASKBOX_WORKFLOW_ID"
  }
  document="$document$nl}"
  [ "${#document}" -le 1048576 ] || die 5 "question: makes a document of ${#document} bytes, the limit is 1048576" "put the bulk into a file and name its path"
  new_temporary "$box/pending"
  if ! { printf '%s\n' "$document" >"$temporary" && durable "$temporary"; }; then
    failed_to_write "$box/pending"
  fi
  target=$box/pending/$id.json
  for attempt in 1 2 3; do
    # `ln` never replaces a file. But if the target is a folder, it would put the link into that folder.
    if [ ! -d "$target" ] && ln "$temporary" "$target" 2>/dev/null; then
      durable "$box/pending" || {
        rm -f "$target"
        failed_to_write "$box/pending"
      }
      [ -L "$box/audit.jsonl" ] || printf '{"at":"%s","event":"posted","workflow_id":"%s"%s}\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$id" \
        "${uuid:+,\"question_id\":\"$uuid\"}" 2>/dev/null >>"$box/audit.jsonl" || :
      posted
      return
    fi
    if [ ! -e "$target" ] && [ ! -L "$target" ]; then
      # The question was answered and moved just now, or the filesystem has no links.
      [ "$attempt" != 3 ] || failed_to_write "$box/pending"
      continue
    fi
    if [ -L "$target" ] || [ ! -f "$target" ]; then
      die 5 "$target: file: is no regular file" "move it out of the way"
    fi
    if [ "$(content "$target")" = "$(content "$temporary")" ]; then
      posted
      return
    fi
    die 4 "$id already asks another question" "wait for its answer, or withdraw it: ask-answer cancel $id"
  done
}

id='' id_given=no workflow='' question='' options='' keys="$nl" checkpoint='' asked_by=${ASKBOX_ASKED_BY:-} box='' from_stdin=no
[ $# -gt 0 ] || die 2 "no command is given" "ask.sh post …, ask.sh save …; more with --help"
command=$1
shift
case $command in
  post | save) ;;
  -h | --help)
    usage
    exit 0
    ;;
  *) die 2 "there is no command $command" "ask.sh post …, ask.sh save …; more with --help" ;;
esac

words=0
flags=yes
while [ $# -gt 0 ]; do
  case $flags$1 in
    yes--)
      flags=no
      shift
      continue
      ;;
    yes-h | yes--help)
      usage
      exit 0
      ;;
    yes--*=*)
      long=${1%%=*}
      text=${1#*=}
      shift
      set -- "$long" "$text" "$@"
      continue
      ;;
    yes-?*)
      [ $# -gt 1 ] || die 2 "a value is required for $1, or it is no option" "see --help"
      case $command$1 in
        post-w | post--workflow) workflow=$2 id_given=yes ;;
        post-o | post--option)
          key=${2%%=*}
          text=
          case $2 in *=*) text=${2#*=} ;; esac
          case $key in
            *[![:space:]]*) ;;
            *) die 5 "options: has an option without a key" "give every option a key: -o KEY=DESCRIPTION" ;;
          esac
          quoted=$(json "$key") || no_utf8
          text=$(json "$text") || no_utf8
          case $keys in *"$nl$quoted$nl"*) die 2 "-o: \`$key\` is there twice" "give every option a key of its own" ;; esac
          keys=$keys$quoted$nl
          options=$options,$quoted:$text
          ;;
        post-c | post--checkpoint)
          [ -n "$2" ] || die 2 "a value is required for '--checkpoint <FILE>'" "see --help"
          checkpoint=$2
          ;;
        post--asked-by) asked_by=$2 ;;
        post--mailbox | save--mailbox) box=$2 ;;
        *) die 2 "unexpected argument '$1' found" "see --help" ;;
      esac
      shift 2
      continue
      ;;
  esac
  words=$((words + 1))
  [ "$words" = 1 ] || die 2 "unexpected argument '$1' found" "quote the question; more with --help"
  question=$1
  shift
done

if [ "$command" = save ]; then
  [ "$words" = 0 ] || id_given=yes
  save "$question"
  exit
fi
[ "$words" = 1 ] || die 2 "no question is given" "ask.sh post -w ID QUESTION; more with --help"
if [ "$question" = - ] && [ "$flags" = yes ]; then
  from_stdin=yes
  question=$(cat && echo x)
  question=${question%x}
  question=${question%"$nl"}
fi
post
