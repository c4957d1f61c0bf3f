# shellcheck shell=bash disable=SC2154,SC2034 # names of tests/run
# What the tests need of others: programs of Debian, and pinned programs from npm and PyPI, which are kept in $cache. A part of tests/run.

# Debian keeps the server's programs out of PATH. Its package makes a cluster of the system's, which no test uses.
has() { command -v "$1" >/dev/null 2>&1 || { [ "$1" = postgres ] && ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1; }; }
# mkfs.xfs is opted out with xfs.
opted_out() { case $without in *",${1#mkfs.},"*) ;; *) return 1 ;; esac; }

# Command and Debian package of what the tests need beyond Rust, and of what only `all` needs.
tools="strace:strace tmux:tmux jq:jq man:man-db bash:bash dash:dash busybox:busybox shellcheck:shellcheck systemd-analyze:systemd
python3:python3 pip3:python3-pip setpriv:util-linux unshare:util-linux ip:iproute2 npm:npm git:git mkfs.ext4:e2fsprogs curl:curl
bwrap:bubblewrap socat:socat postgres:postgresql openssl:openssl sshd:openssh-server ssh:openssh-client chromium:chromium node:nodejs"
more_tools="valgrind:valgrind mkfs.xfs:xfsprogs mkfs.btrfs:btrfs-progs musl-gcc:musl-tools caddy:caddy dunst:dunst Xvfb:xvfb
dbus-daemon:dbus notify-send:libnotify-bin"

install_tools() {
  missing=
  for tool in $tools; do
    has "${tool%%:*}" || opted_out "${tool%%:*}" || missing="$missing ${tool##*:}"
  done
  [ -n "$missing" ] || return 0
  if [ "$(id -u)" = 0 ] && has apt-get; then
    section "installing$missing"
    # shellcheck disable=SC2086 # a list of words
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $missing; } >/dev/null ||
      note "apt-get failed"
  fi
  for tool in $tools; do
    has "${tool%%:*}" || opted_out "${tool%%:*}" || note "${tool%%:*} is missing (package ${tool##*:}): the tests that need it fail"
  done
}

# Name of the npm package that holds the native binary for this machine.
platform() {
  case $(uname -s) in
    Linux) system=linux ;;
    Darwin) system=darwin ;;
    *) fail "there is no claude for $(uname -s)" ;;
  esac
  case $(uname -m) in
    x86_64 | amd64) machine=x64 ;;
    aarch64 | arm64) machine=arm64 ;;
    *) fail "there is no claude for $(uname -m)" ;;
  esac
  libc=
  if [ "$system" = linux ] && ldd --version 2>&1 | grep -qi musl; then libc=-musl; fi
  echo "claude-code-$system-$machine$libc"
}

fetch_claude() {
  lock=tests/claude/package-lock.json
  if grep '"resolved"' $lock | grep -v '"https://registry.npmjs.org/' >&2; then
    fail "$lock names another registry than registry.npmjs.org"
  fi
  pinned=$(sed -n 's/.*"@anthropic-ai\/claude-code": "\([0-9.]*\)".*/\1/p' tests/claude/package.json)
  [ -n "$pinned" ] || fail "tests/claude/package.json pins no exact version"
  version=${CLAUDE_VERSION:-$pinned}
  case $version in *[!0-9.]* | .* | *.) fail "CLAUDE_VERSION names no exact version such as $pinned: $version" ;; esac
  binary=node_modules/@anthropic-ai/$(platform)/claude
  folder=$cache/claude-$version
  if [ ! -x "$folder/$binary" ]; then
    has npm || fail "npm is missing; install Node.js, which fetches the pinned claude"
    section "fetching claude $version into $folder"
    # Made beside its place and then renamed: an interrupted fetch never looks like a finished one.
    half=$(mktemp -d "$cache/.claude-$version.XXXXXX")
    litter+=("$half")
    # No scripts: the binary is complete without its postinstall step.
    options="--ignore-scripts --no-audit --no-fund --loglevel=error"
    # shellcheck disable=SC2086 # a list of words
    if [ "$version" = "$pinned" ]; then
      cp tests/claude/package.json $lock "$half"
      (cd "$half" && npm ci $options)
    else
      (cd "$half" && npm install --registry=https://registry.npmjs.org/ $options "@anthropic-ai/claude-code@$version")
    fi
    [ -x "$half/$binary" ] || fail "npm installed no $binary"
    rm -rf "$folder"
    mv "$half" "$folder"
  fi
  export ASKBOX_TEST_CLAUDE=$folder/$binary
}

# Makes an environment of Python, and names its interpreter in VARIABLE. A CI machine may reach no PyPI: there it is opted out, and told.
fetch_python() { # VARIABLE WORD WHAT FOLDER
  ! opted_out "$2" || return 0
  folder=$cache/$2-$({ python3 --version; cat "$4"/*requirements.txt; } 2>/dev/null | sha256sum | cut -c1-16)
  if [ ! -e "$folder/complete" ]; then
    section "installing $3 into $folder"
    # An environment knows its own path, so it is made at its place, and marked when it is complete.
    rm -rf "$folder"
    if python3 -m venv "$folder" && install_python "$folder/bin/python3" "$4"; then
      touch "$folder/complete"
    elif [ "${CI:-}" = true ]; then
      export ASKBOX_TEST_WITHOUT="${ASKBOX_TEST_WITHOUT:+$ASKBOX_TEST_WITHOUT,}$2"
      note "$3 cannot be installed on this machine: not tested here"
      return 0
    else
      fail "$3 cannot be installed (python3-venv is needed, and PyPI); ASKBOX_TEST_WITHOUT=$2 goes without"
    fi
  fi
  export "$1=$folder/bin/python3"
}

install_python() { # PYTHON FOLDER
  # The wheel of claude-agent-sdk holds a claude of 400 MB. Its source is small, and the tests have a claude.
  if [ -e "$2/build-requirements.txt" ]; then
    pip_install "$1" --require-hashes -r "$2/build-requirements.txt" &&
      pip_install "$1" --no-binary claude-agent-sdk --no-build-isolation --require-hashes -r "$2/requirements.txt"
  else
    pip_install "$1" -r "$2/requirements.txt"
  fi
}
pip_install() {
  python=$1
  shift
  timeout 600 "$python" -m pip install --quiet --no-deps --only-binary :all: --disable-pip-version-check "$@"
}

# Installs the npm packages that FOLDER/package-lock.json pins into $folder. PROBE is a file of them.
fetch_npm() { # NAME WHAT FOLDER PROBE [OPTION]
  lock=$3/package-lock.json
  if grep '"resolved"' "$lock" | grep -v '"https://registry.npmjs.org/' >&2; then
    fail "$lock names another registry than registry.npmjs.org"
  fi
  folder=$cache/$1-$(cksum <"$lock" | tr ' ' -)
  if [ ! -e "$folder/node_modules/$4" ]; then
    has npm || fail "npm is missing; install Node.js, which fetches $2"
    section "fetching $2 into $folder"
    half=$(mktemp -d "$cache/.$1.XXXXXX")
    litter+=("$half")
    cp "$3/package.json" "$lock" "$half"
    # No scripts: they would fetch browsers, and the browser is Debian's.
    (cd "$half" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error ${5:-})
    rm -rf "$folder"
    mv "$half" "$folder"
  fi
}

# The driver of the browser in the tests of the page.
fetch_browser_driver() {
  fetch_npm browser-driver "the browser's driver" tests/web playwright-core
  export ASKBOX_TEST_BROWSER_DRIVER=$folder/node_modules
}

# The compiler that checks the types of the client for TypeScript, and the SDKs of its helpers and of Python's.
fetch_for_clients() {
  if ! opted_out typescript; then
    fetch_npm typescript "the compiler of TypeScript" tests/clients typescript/bin/tsc
    export ASKBOX_TEST_TYPESCRIPT=$folder/node_modules/typescript/bin/tsc
  fi
  if ! opted_out node-sdks; then
    # An optional package of one of them is a claude of 400 MB, and the tests have a claude.
    fetch_npm node-sdks "the SDKs for agents" tests/clients/sdks ai/package.json --omit=optional
    export ASKBOX_TEST_NODE_SDKS=$folder/node_modules
  fi
  fetch_python ASKBOX_TEST_PYTHON_SDKS python-sdks "Python's SDKs for agents" tests/clients/sdks
}

# The agents that speak ACP, and the Node.js that one of them needs.
fetch_acp_agents() {
  fetch_npm acp-agents "agents that speak ACP" tests/acp .package-lock.json
  export ASKBOX_TEST_AGENTS=$folder
}

# The other agents that speak ACP.
fetch_more_acp_agents() {
  fetch_npm acp-more-agents "more agents that speak ACP" tests/acp/more .package-lock.json
  case $(uname -m) in x86_64 | amd64) machine=x64 ;; *) machine=arm64 ;; esac
  # The script of its package would make this link.
  ln -sfn "../opencode-linux-$machine/bin/opencode" "$folder/node_modules/.bin/opencode"
  export ASKBOX_TEST_MORE_AGENTS=$folder
}

# Fetches what the tests of $what need, and names it in the environment.
fetch() {
  case $what in promises | all | claude | clients | live | starts | acp | agents | lib | programs | web) fetch_claude ;; esac
  case $what in promises | all | claude) fetch_python ASKBOX_TEST_PYTHON_MCP python-mcp "Python's MCP client" tests/claude/mcp ;; esac
  case $what in promises | all | acp | live) opted_out acp-agents || fetch_acp_agents ;; esac
  case $what in agents) fetch_more_acp_agents ;; esac
  case $what in promises | all | web | claude | live) opted_out chromium || fetch_browser_driver ;; esac
  case $what in promises | all | clients) fetch_for_clients ;; esac
}
