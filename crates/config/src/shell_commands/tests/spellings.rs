//! Lines of shell that run `git push`, each run by real shells with a `git` that only writes down its arguments. The rule must name every
//! line that ran it. Plain commands must stay unnamed.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::super::{could_be, could_begin_with, surely};
use super::options;

/// The shells that are tried. Only bash must be there.
const SHELLS: [&str; 5] = ["bash", "dash", "zsh", "ksh", "busybox"];

/// Lines that a shell could take for `git push`.
const SPELLINGS: &[&str] = &[
    // Plain, quoted and escaped.
    "git push",
    "git  push\t-f origin",
    "'git' push",
    "\"git\" \"push\"",
    "g\\it pu\\sh",
    "g''it pu\"\"sh",
    "gi't' p'us'h",
    "git \\\n push",
    "gi\\\nt pu\\\nsh",
    "$'git' $'push'",
    "$'\\x67it' push",
    "$'\\147\\151\\164' push",
    "g$'\\151't push",
    "$'g\\u0069t' push",
    "$\"git\" push",
    "\\git push",
    "  git push  ",
    "\tgit push",
    "git push # and more",
    "# first\ngit push",
    "git push --force-with-lease origin HEAD:main",
    // Behind and in front of other commands.
    "true && git push",
    "true;git push",
    "false || git push",
    "true | git push",
    "true |& git push",
    "sleep 0 & git push",
    "x=1\ngit push",
    "cd . && git push",
    "git push && true",
    "git push | cat",
    "git push & wait",
    "git push; git status",
    "! git push",
    "true && ! git push",
    "git status ; git push ; git log",
    "git status\n\n\ngit push\n",
    // Groups and compound commands.
    "(git push)",
    "( git push )",
    "((1)); git push",
    "(true; (git push))",
    "{ git push; }",
    "{ true; git push; }",
    "{ git push\n}",
    "if git push; then :; fi",
    "if true; then git push; fi",
    "if false; then :; else git push; fi",
    "if false; then :; elif git push; then :; fi",
    "while git push; do break; done",
    "until git push; do break; done",
    "while true; do git push; break; done",
    "for x in 1; do git push; done",
    "for x in 1\ndo git push\ndone",
    "for ((i=0;i<1;i++)); do git push; done",
    "for ((i=0;i<1;i++)) { git push; }",
    "case x in x) git push;; esac",
    "case x in (x) git push;; esac",
    "case x in x)git push;;esac",
    "case x in y) :;; *) git push; esac",
    "select x in 1; do git push; break; done <<<1",
    "f() { git push; }; f",
    "f () (git push); f",
    "function f { git push; }; f",
    "f() { git \"$@\"; }; f push",
    "f() { \"$@\"; }; f git push",
    "f() { $1 push; }; f git",
    "coproc git push; wait",
    "coproc X { git push; }; wait",
    "time git push",
    "time -p git push",
    "[ 1 ] && git push",
    "[[ 1 ]] && git push",
    "[[ -n $(git push) ]]",
    "trap 'git push' EXIT",
    "trap \"git push\" 0",
    // Substitutions.
    "echo $(git push)",
    "echo \"$(git push)\"",
    "echo `git push`",
    "echo \"`git push`\"",
    "x=$(git push)",
    "x=`git push`",
    "cat <(git push)",
    "true > >(git push)",
    ": $(: $(git push))",
    ": `: \\`git push\\``",
    "echo ${x:-$(git push)}",
    "echo ${x:-`git push`}",
    ": ${x:=$(git push)}",
    "echo $(( $(git push >&2; echo 1) + 1 ))",
    "cat <<X\n$(git push)\nX",
    "cat <<X\n`git push`\nX",
    "cat <<<$(git push)",
    "a[$(git push >&2; echo 0)]=1",
    // Words that only the shell knows.
    "`echo git` push",
    "$(echo git) push",
    "git `echo push`",
    "git $(echo push)",
    "`echo git push`",
    "$(echo git push)",
    "g`:`it push",
    "git p`:`ush",
    "`:`git push",
    "g$(:)it push",
    "$(:)git push",
    "git pu$()sh",
    "`echo \\`echo git\\`` push",
    "\"`echo git`\" push",
    "\"$(echo git)\" push",
    "x=git; $x push",
    "x=push; git $x",
    "x='git push'; $x",
    "x=gi; ${x}t push",
    "x=git; \"$x\" push",
    "x=sh; git pu$x",
    "x=git; ${x} push",
    "x=tig; y=push; ${z:-git} $y",
    "x=(git push); \"${x[@]}\"",
    "x=(git push); ${x[*]}",
    "set -- git push; \"$@\"",
    "set -- push; git $1",
    "set -- git push; $*",
    "x=y; y=git; ${!x} push",
    "read -r a b <<<'git push'; $a $b",
    "echo git push | while read -r a b; do $a $b; done",
    "printf -v x git; $x push",
    "for x in git; do $x push; done",
    "for x in push; do git $x; done",
    "{git,push}",
    "{git,} push",
    "git {push,}",
    "git pus{h,}",
    "touch push; git p*",
    "touch push; git pus?",
    "touch push; git pu[s]h",
    "shopt -s extglob; touch push\ngit pu@(sh|x)",
    "mkdir git; cd git; touch push; git *",
    "G=git; P=push; eval \"$G $P\"",
    "eval git push",
    "eval 'git push'",
    "eval \"git\" 'push'",
    "eval 'g''it push'",
    "eval \"$(echo git push)\"",
    "eval `echo git push`",
    "eval eval git push",
    "x='eval git push'; eval $x",
    // Assignments and redirections in front and in between.
    "A=1 git push",
    "A=1 B='2 3' git push",
    "A+=1 git push",
    "A=$(true) git push",
    "A=`true` git push",
    "a[0]=1 git push",
    ">out git push",
    "> out git push",
    "2>&1 git push",
    ">&2 git push",
    "2>/dev/null >out git push",
    "&>out git push",
    "&>>out git push",
    ">|out git push",
    "<>out git push",
    "</dev/null git push",
    "<&- git push",
    "<<<x git push",
    "<<< x git push",
    "<<<'x y' git push",
    "<<<\"$(echo x)\" git push",
    "<<<`echo x` git push",
    "<<<x 2>&1 git push",
    "git <<<x push",
    "git push <<<x",
    "A=1 <<<x git push",
    "<<X git push\nx\nX",
    "<<-X git push\n\tx\n\tX",
    "git <<X push\nx\nX",
    "{fd}>out git push",
    "git 2>/dev/null push",
    "git>out push",
    "git push>out",
    "git</dev/null push",
    // Options between the program and its subcommand.
    "git -C . push",
    "git --no-pager push",
    "git -c a.b=c push",
    "git -c a.b=c -C . --no-pager push",
    "git --git-dir=. push",
    "git --git-dir . push",
    "git -C \"$PWD\" push",
    "git -c \"a.b=$x\" push",
    // Programs that run their arguments.
    "command git push",
    "command -p git push || git push",
    "builtin command git push",
    "exec git push",
    "exec -a x git push",
    "env git push",
    "env A=1 git push",
    "env -i PATH=\"$PATH\" GIT_LOG=\"$GIT_LOG\" git push",
    "env -S 'git push'",
    "env -S'git push'",
    "env --split-string='git push'",
    "/usr/bin/env git push",
    "nice git push",
    "nice -n 1 git push",
    "nohup git push",
    "timeout 5 git push",
    "timeout -k 1 5 git push",
    "setsid -w git push",
    "stdbuf -oL git push",
    "ionice git push",
    "chrt -o 0 git push",
    "taskset 1 git push",
    "flock out git push",
    "flock out -c 'git push'",
    "find . -maxdepth 0 -exec git push ';'",
    "find . -maxdepth 0 -exec git push {} +",
    "find . -maxdepth 0 -execdir sh -c 'git push' ';'",
    "xargs git push </dev/null",
    "echo x | xargs git push",
    "echo push | xargs git",
    "echo git push | xargs env",
    "echo git push | xargs -n2 env",
    "echo git push | xargs nice",
    "echo x | xargs -I{} git push {}",
    "echo git | xargs -I{} {} push",
    "echo push | xargs -I{} git {}",
    "echo 'git push' | xargs -I{} sh -c {}",
    "printf 'git push' | xargs -0 sh -c",
    "sh -c 'git push'",
    "sh -c git\\ push",
    "bash -c \"git push\"",
    "bash -xc 'git push'",
    "bash -c 'eval \"$0\"' 'git push'",
    "bash -c '\"$@\"' x git push",
    "dash -c 'git push'",
    "busybox sh -c 'git push'",
    "busybox env git push",
    "sh -c 'sh -c \"git push\"'",
    "script -qc 'git push' /dev/null",
    "unshare -r git push || git push",
    "/lib64/ld-linux-x86-64.so.2 /bin/sh -c 'git push'",
    "run-parts . ; start-stop-daemon --start --exec \"$(command -v git)\" -- push || git push",
    // Commands that come through a pipe, a here-string, a heredoc or a file.
    "echo git push | sh",
    "echo 'git push' | bash",
    "echo 'git push' | bash -s",
    "echo 'git push' | bash -",
    "echo 'git push' | bash /dev/stdin",
    "echo 'git push' | bash -x",
    "echo 'git push' | sudo sh || echo 'git push' | sh",
    "echo 'git push' | env sh",
    "echo 'git push' | { sh; }",
    "echo 'git push' | (sh)",
    "echo 'git push' | if true; then sh; fi",
    "echo 'git push' | while true; do sh; break; done",
    "echo 'git push' | tee >(sh) >out; wait",
    "echo 'git push' | . /dev/stdin",
    "echo 'git push' | source /dev/stdin",
    "printf '%s %s' git push | sh",
    "printf 'gi%s push' t | sh",
    "echo Z2l0IHB1c2g= | base64 -d | sh",
    "echo hsup tig | rev | sh",
    "echo tig push | sed 's/tig/git/' | sh",
    "echo hit push | tr h g | sh || true; echo git pusg | tr g h | tr h g | sh",
    "echo 'git push' | xargs -0 -I{} bash -c '{}'",
    "bash <<<'git push'",
    "bash <<< \"git push\"",
    "bash -s <<<'git push'",
    "sh <<X\ngit push\nX",
    "sh <<'X'\ngit push\nX",
    "cat <<X | sh\ngit push\nX",
    "bash <(echo git push)",
    "bash < <(echo git push)",
    ". <(echo git push)",
    "source <(echo git push)",
    ". /dev/stdin <<<'git push'",
    "source /dev/stdin <<<'git push'",
    "eval \"$(cat <<<'git push')\"",
    "echo 'git push' >x; sh x",
    "echo 'git push' >x; . ./x",
    "echo 'git push' >x; chmod +x x; ./x",
    "printf '#!/bin/sh\\ngit push\\n' >x; chmod +x x; ./x",
    "echo git push > x; bash x",
    "echo 'git push' | tee x; sh x",
    "BASH_ENV=<(echo git push) bash -c :",
    // Other names for the program.
    "alias g=git\ng push",
    "alias p='git push'\np",
    "shopt -s expand_aliases; alias g=git\ng push",
    "hash -p \"$(command -v git)\" g; g push",
    "\"$(command -v git)\" push",
    "`which git` push",
    "cp \"$(command -v git)\" g; ./g push",
    "ln -s \"$(command -v git)\" g; ./g push",
    // Code of other languages.
    "perl -e 'exec \"git\", \"push\"'",
    "perl -e 'exec qw(git push)'",
    "perl -e 'system(\"git push\")'",
    "perl -e '`git push`'",
    "awk 'BEGIN{system(\"git push\")}'",
    "awk 'BEGIN{\"git push\" | getline}'",
    "echo 'x:;git push' | make -f - || git push",
    "sed '1e git push' <<<x",
    // zsh.
    "=git push",
    "noglob git push",
    "nocorrect git push",
    "- git push",
    "repeat 1 git push",
    "if [[ 1 ]] git push",
    "for x (1) git push",
    "while (true) { git push; break }",
    "{ git push } always { : }",
    "() { git push }",
    "git push &!",
    "foreach x (1); git push; end",
];

/// Lines that do not run it, and that an agent types every day.
const PLAIN: &[&str] = &[
    "git status",
    "git pull",
    "git stash push",
    "git commit -m 'describe the push'",
    "git commit -m \"git push comes later\"",
    "git -C sub status",
    "git -C \"$DIR\" status",
    "git --no-pager log --oneline | head -5",
    "git log --format='%h %s' | grep push",
    "git diff HEAD~1 -- src/*.rs",
    "git add . && git commit -m done",
    "git fetch; git rebase origin/main",
    "gh pr list --search 'git push'",
    "gh pr create --title 'Fix' --body 'run git push first'",
    "cargo test -q",
    "cargo test --all-features -- push",
    "cargo build --release 2>&1 | tail -20",
    "cargo fmt && cargo clippy",
    "npm test -- -t 'pushes a change'",
    "npm run build",
    "make",
    "make -j4 check",
    "make git-push-docs",
    "python3 -m pytest -x tests/",
    "python3 -c 'import json; print(json.dumps({}))'",
    "python3 script.py --push",
    "node build.js",
    "perl -ne 'print if /x/' file",
    "awk '{print $1}' file | sort | uniq -c",
    "sed -n '1,20p' README.md",
    "sed -i 's/git/svn/' README.md",
    "bash build.sh",
    "sh -c 'cargo test'",
    "./run-tests --fast",
    "bash tests/run programs | tail -5",
    "echo git push",
    "echo 'git push'",
    "echo \"done: git push\" >> notes.md",
    "printf '%s\\n' 'git push'",
    "grep -rn 'git push' docs",
    "grep 'git.push' notes",
    "rg 'git push' | wc -l",
    "ps aux | grep bash",
    "which bash | cat",
    "ls -la | grep sh",
    "ls *.rs | wc -l",
    "ls -la",
    "cat a > b",
    "cat README.md | head -50",
    "cat <<X > notes\nplain words\nX",
    "tail -f log | grep --line-buffered error",
    "find . -name '*.rs' | xargs grep TODO",
    "find . -name '*.rs' -newer Cargo.toml",
    "find src -type f | wc -l",
    "echo a b | xargs -n1 echo",
    "echo $HOME",
    "x=$(date) make",
    "x=$(git rev-parse HEAD); echo $x",
    "[ -e x ] && ls",
    "[[ -f Cargo.toml ]] && cargo check",
    "if [ -d target ]; then du -sh target; fi",
    "for f in *.md; do wc -l \"$f\"; done",
    "while read -r line; do echo \"$line\"; done < list",
    "test -f x || touch x",
    "mkdir -p a/b && cd a/b && pwd",
    "cd \"$HOME\" && ls",
    "rm -rf target",
    "cp -r a b; mv b c",
    "curl -s https://example.org | jq .name",
    "docker ps",
    "docker push image",
    "kubectl get pods -o wide",
    "timeout 60 cargo test",
    "time cargo build",
    "env | sort",
    "sudo apt-get update",
    "export PATH=/x:/y",
    "jq '.a | .b' x.json",
    "diff <(sort a) <(sort b)",
    "sleep 1 && date",
    "true",
    "ask-post 'May I git push?' -w w -o yes=Yes",
    "ask-post 'Is it done?' -w push",
    "checkpoint save w --step 'git push'",
    "relaunch status w",
    "wc -l < list",
    "sort list | uniq | tee out",
    // Texts of programs that do not run them.
    "git commit -am 'Say when to git push'",
    "git commit -m 'Explain it' -m 'Then git push; it works'",
    "git commit -m \"$(cat <<'EOF'\nTell about pushes\n\nNever git push from a hook.\n- run git push later\nEOF\n)\"",
    "git commit -F - <<'EOF'\nTell about pushes\n\nNever git push from a hook.\nEOF",
    "cat > notes.md <<'EOF'\n# Release\nThen do a git push to main.\nEOF",
    "cat <<X >> notes\nPlease git push\nX\nwc -l notes",
    "git log --grep 'git push' --oneline",
    "git log -S 'git push' -- docs",
    "git grep -n 'git push' -- docs",
    "git tag -a v1 -m 'After git push'",
    "git stash push -m 'before git push'",
    "git merge --no-ff topic -m 'Merge git push docs'",
    "git show HEAD:docs/git-push.md | head",
    "git branch -D git-push",
    "git remote -v; git status -sb",
    "git diff --stat origin/main...HEAD",
    "git log --format=push",
    "git commit --message='push less often'",
    "git commit -m 'Look at git push; it is slow'",
    "git commit -m 'Say what to do at git push' -m 'No source is read.'",
    "make ENV=push git",
    "sed -i 's/git$/hg/; s/push,/pull,/' notes",
    "rsync -a --exclude='*.git' --exclude='.git*' . push",
    "git commit -m 'Push' && cargo test 2>&1 | tail -3",
    "git commit -m 'Never git push' && cargo test 2>&1 | tail -3",
    "git config --get push.default",
    "git -c push.default=current status",
    "git -c core.pager=cat log -p",
    "git rebase -i --autosquash HEAD~3",
    "git submodule update --init",
    "GIT_EDITOR=true git rebase --continue",
    "GIT_PAGER=cat git diff",
    "gh pr view 5 --json title | jq -r .title",
    "gh pr comment 5 --body \"$(cat <<'EOF'\nDid you git push?\nEOF\n)\"",
    "gh issue create --title 'git push hangs' --body 'see git push'",
    "grep -rn \"git push\" docs | head -20",
    "grep -c 'git push' README.md",
    "grep -e 'git push' -r .github",
    "rg -n 'git push' --glob '*.md'",
    "rg 'git push|git pull' src",
    "ls -la # not git push",
    "true # git push",
    "cargo build # then git push",
    "echo 'now git push' | tee -a notes",
    "echo 'now git push' > notes",
    "printf 'git %s\\n' pull > notes",
    "diff <(grep 'git push' a) <(grep 'git push' b)",
    "n=$(ls | wc -l); echo $n",
    "x=$(cat <<'EOF'\nDid you git push?\nEOF\n)",
    "msg='all done'; echo \"$msg\"",
    "cargo build --target-dir=\"$DIR\"",
    "cargo test --features=\"$FEATURES\" -- --nocapture",
    "cargo test -p x -- pushes_to_git",
    "RUST_LOG=debug cargo run -- git",
    "CARGO_BUILD_JOBS=1 cargo test -q 2>&1 | tail -3",
    "PATH=$PATH:/x cargo build",
    "GIT_DIR=x make check",
    "make CC=gcc CFLAGS='-O2 -g'",
    "make git push-docs",
    "npm run lint -- --fix && npm test",
    "npx prettier --write 'src/**/*.ts'",
    "pip install -e '.[dev]'",
    "python3 - <<'EOF'\nimport json\nprint('push')\nEOF",
    "python3 -c 'print(\"digit\", \"pushed\")'",
    "node -e 'console.log([\"git\", \"pull\"])'",
    "perl -pi -e 's/git pull/git fetch/' README.md",
    "sed -i 's/push/pull/; s/git/hg/' README.md",
    "awk -F= '/git/ {print $2}' x | sort",
    "awk '/push/ {n++} END {print n}' git.log",
    "find . -name '*.rs' | xargs -I{} cp {} dst",
    "find . -name '*.rs' | xargs -I X cp X dst",
    "find . -name '*.rs' -exec grep -l push {} +",
    "find . -name '*.orig' -exec rm {} ';'",
    "git ls-files -z | xargs -0 git add",
    "git diff --name-only | xargs -I{} git add {}",
    "git ls-files -z '*.rs' | xargs -0 wc -l",
    "ls | xargs -n1 -P4 -i basename {}",
    "docker run --rm -v \"$PWD:/x\" -w /x image make",
    "docker compose up -d && docker compose logs --tail=50",
    "docker exec box sh -c 'ls /'",
    "ssh host 'uptime'",
    "ssh -o StrictHostKeyChecking=no host uptime",
    "rsync -a --exclude='.git' src/ dst/",
    "tar czf x.tar.gz --exclude=.git push/",
    "tar xzf x.tar.gz --strip-components=1",
    "split --lines=100 list part-",
    "curl -fsSL -H 'Accept: text/plain' https://example.org -o x",
    "curl -d '{\"event\": \"push\"}' https://example.org",
    "timeout 60 bash -c 'cargo test -q'",
    "trap 'rm -f x' EXIT; cp a x",
    "mapfile -t lines < list; echo ${#lines[@]}",
    "watch -n 5 'ls -la'",
    "sleep 5; ps aux | grep cargo | grep -v grep",
    "kill -9 $(pgrep -f server)",
    "export EDITOR=vim PAGER=less",
    "export X='a b c'; env | grep X",
    "sqlite3 x.db 'select * from push'",
    "psql -c 'select git from push'",
    "vim -es -c '%s/a/b/' -c wq file",
    "nohup ./server --port=8080 > log 2>&1 &",
    "test \"$(git rev-parse HEAD)\" = \"$(cat head)\"",
    "if git diff --quiet; then echo clean; else git status; fi",
    "for b in $(git branch --format='%(refname:short)'); do echo $b; done",
    // A word with white space that a shell does not know.
    "git\u{a0}push",
    "git\u{3000}push",
    "git\u{2003}push origin",
    "sh -c 'git\u{a0}push'",
    "env -S 'git\u{a0}push'",
    "split --filter='git\u{a0}push' x",
];

/// The program that runs as `git` for a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Git {
    /// It writes down its arguments and does nothing.
    WritesDown,
    /// The real one, which tells the commands that it runs.
    Tells,
}

/// Runs a line in an empty folder. True if `git push` ran.
fn runs_git_push(git: Git, shell: &str, line: &str) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let (bin, work, log) = (folder.path().join("bin"), folder.path().join("work"), folder.path().join("log"));
    [&bin, &work].into_iter().for_each(|folder| std::fs::create_dir(folder).unwrap());
    let mut command = Command::new(shell);
    command.args((shell == "busybox").then_some("sh")).args(["-c", line]);
    command.env_clear().env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display())).env("HOME", &work);
    if git == Git::WritesDown {
        std::fs::write(bin.join("git"), "#!/bin/sh\necho \" $* \" >>\"$GIT_LOG\"\n").unwrap();
        std::fs::set_permissions(bin.join("git"), std::fs::Permissions::from_mode(0o755)).unwrap();
        command.env("GIT_LOG", &log);
    } else {
        // A test may run at a terminal, and `git credential` would ask there.
        command.env("GIT_TRACE", &log).env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_TERMINAL_PROMPT", "0");
    }
    command.current_dir(&work).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().unwrap();
    let ran: &[&str] = if git == Git::WritesDown { &[" push "] } else { &["in: git push", "exec: git push", "'git push", "git -C . push"] };
    std::fs::read_to_string(&log).is_ok_and(|said| said.lines().any(|line| ran.iter().any(|ran| line.contains(ran))))
}

fn is_there(shell: &str) -> bool {
    ["/usr/local/bin", "/usr/bin", "/bin"].iter().any(|folder| Path::new(folder).join(shell).exists())
}

/// Runs each line until a shell ran `git push`. Returns the number of such lines, and those that the rule does not name.
fn run_all(git: Git, lines: &[&str]) -> (usize, Vec<String>) {
    let shells: Vec<&str> = SHELLS.into_iter().filter(|shell| is_there(shell)).collect();
    assert!(shells.contains(&"bash"));
    let (next, ran) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let missed = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(line) = lines.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let Some(shell) = shells.iter().find(|shell| runs_git_push(git, shell, line)) else {
                        eprintln!("no shell here runs {line:?}");
                        continue;
                    };
                    ran.fetch_add(1, Ordering::Relaxed);
                    if !could_begin_with(line, "git push") {
                        missed.lock().unwrap().push(format!("{shell}: {line:?}"));
                    }
                }
            });
        }
    });
    (ran.into_inner(), missed.into_inner().unwrap())
}

#[test]
fn every_line_that_a_shell_runs_as_git_push_is_named() {
    let (ran, missed) = run_all(Git::WritesDown, SPELLINGS);
    assert!(missed.is_empty(), "{} of {ran} lines that ran are not named:\n{}", missed.len(), missed.join("\n"));
    assert!(ran >= 200, "only {ran} of {} lines ran", SPELLINGS.len());
}

/// The programs that run some of these lines may not be here.
#[test]
fn a_command_in_an_option_or_a_text_is_named() {
    let (ran, missed) = run_all(Git::WritesDown, options::WITHIN);
    assert!(missed.is_empty(), "{} of {ran} lines that ran are not named:\n{}", missed.len(), missed.join("\n"));
    assert!(ran >= 150, "only {ran} of {} lines ran", options::WITHIN.len());
}

#[test]
fn a_command_that_git_itself_runs_is_named() {
    let (ran, missed) = run_all(Git::Tells, options::BY_GIT);
    assert!(missed.is_empty(), "{} of {ran} lines that ran are not named:\n{}", missed.len(), missed.join("\n"));
    assert!(ran >= 30 || !is_there("git"), "only {ran} of {} lines ran", options::BY_GIT.len());
}

/// Any two of these may stand side by side.
const PIECES: [&str; 41] = [
    "git", "push", " ", " ", "'", "\"", "\\", "$(", "`", ")", "(", "<<", "<<<", "X", "\n", "=", "-c", "-o", "-I", "{}", "{", "}", "$", "!",
    "#", "|", "&", ";", ">", "<(", "case ", " esac", "[[", "]", "xargs ", "sh ", "find -exec ", "\u{a0}", "é", "split --filter=", "\r",
];

/// The numbers that follow a seed.
fn numbers(seed: u64) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(seed), |n| Some(n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407)))
        .map(|n| usize::try_from(n >> 40).unwrap())
}

#[test]
fn any_line_is_read_and_what_is_surely_named_is_named() {
    for seed in 0..3_000 {
        let mut numbers = numbers(seed).skip(1);
        let length = numbers.next().unwrap() % 24;
        let line: String = numbers.take(length).map(|n| PIECES[n % PIECES.len()]).collect();
        let (begins, is) = (could_begin_with(&line, "git push"), could_be(&line, "git push"));
        assert!(begins || !surely::is_named_by(&line, &["git push:*"]), "{line:?}");
        assert!(is || !surely::is_named_by(&line, &["git push"]), "{line:?}");
        could_begin_with(&line, "push");
        // Whatever a plain line is wrapped into, the command is named.
        let around = format!("{}\nsplit --filter='git push'", line.replace(['\'', '"', '\\', '`', '#', '(', '{', '<', '$'], ""));
        assert!(could_begin_with(&around, "git push"), "{around:?}");
    }
}

/// A command within commands that run it. `_` is the place of the command as one quoted word, `@` of the command itself.
const WRAPPERS: [&str; 16] = [
    "split --filter=_ x",
    "tar xf x --to-command=_",
    "tar cf x --checkpoint-action=exec=_ y",
    "sh -c _",
    "env -S _",
    "env -S_ x",
    "ssh -oProxyCommand=_ host",
    "PAGER=_ git log",
    "trap _ EXIT",
    "unknown --flag _",
    "echo \"$(@)\"",
    "x=$(@)",
    "if true; then @; fi",
    "cd x && @",
    "timeout 5 @",
    "(@) >out",
];

#[test]
fn a_command_in_several_texts_within_one_another_is_named() {
    for seed in 0..1_500 {
        let mut numbers = numbers(seed).skip(1);
        for (command, words, depth) in [("git push", "git push", 5), ("git -C . push x", "git push", 5), ("rm x", "rm", 3)] {
            let mut line = command.to_owned();
            for _ in 0..=numbers.next().unwrap() % depth {
                let quoted = match numbers.next().unwrap() % 3 {
                    0 => format!("'{}'", line.replace('\'', "'\\''")),
                    1 => format!("\"{}\"", line.replace('\\', "\\\\").replace('"', "\\\"").replace('$', "\\$")),
                    _ => line.chars().map(|c| if c.is_alphanumeric() { c.to_string() } else { format!("\\{c}") }).collect(),
                };
                let wrapper = WRAPPERS[numbers.next().unwrap() % WRAPPERS.len()];
                line = wrapper.replace('@', &line).replace('_', &quoted);
                assert!(could_begin_with(&line, words), "{line}");
            }
        }
    }
}

#[test]
fn a_long_line_of_nested_texts_is_read_in_time() {
    let begin = std::time::Instant::now();
    for piece in [
        "=", "$(", "`", "\\`", "'", "\"", "\"$(", "a=b ", "-x 'a b' ", "<<X\n", "!", "x=\"a=", "xargs -I x ", "(", "case x in ", "{}", "-c",
    ] {
        let line = piece.repeat(20_000 / piece.len());
        could_begin_with(&line, "cargo publish");
        could_be(&line, "reboot");
    }
    assert!(begin.elapsed().as_secs() < 20, "{:?}", begin.elapsed());
}

/// A shell or a program that is not here runs some of the lines, so the rule names all of them.
#[test]
fn every_spelling_is_named_whatever_shell_is_here() {
    let all = [SPELLINGS, options::WITHIN, options::BY_GIT].concat();
    let missed: Vec<_> = all.iter().filter(|line| !could_begin_with(line, "git push")).collect();
    assert!(missed.is_empty(), "{} of {}: {missed:#?}", missed.len(), all.len());
}

#[test]
fn a_plain_command_is_not_named() {
    let named: Vec<_> = PLAIN.iter().filter(|line| could_begin_with(line, "git push") || could_be(line, "git push")).collect();
    assert!(named.is_empty(), "{named:#?}");
}

#[test]
fn a_rule_of_one_word_names_no_argument_of_another_program() {
    for line in ["npm rm x", "docker rm x", "sed -i s/rm/x/ file", "cargo rm dep", "python3 tool.py rm", "git rm x", "docker run --rm x"] {
        assert!(!could_begin_with(line, "rm") && !could_be(line, "rm"), "{line}");
    }
    for line in
        ["tar xf t --to-command='rm x'", "tar xf t --to-command=rm", "ssh -oProxyCommand='rm x' h", "PAGER=rm git log", "vim -c '!rm x'"]
    {
        assert!(could_begin_with(line, "rm"), "{line}");
    }
    for line in [">out\u{a0}x rm y", "A=1\u{3000}2 rm y", "<<<x rm y", "split --filter='cd x && rm y'", "git rebase -x 'rm y'", "xargs rm"]
    {
        assert!(could_begin_with(line, "rm"), "{line}");
    }
    for line in [
        "ls --color=rm",
        "x=rm",
        "find . -name rm",
        "find . -exec touch {} +",
        "git log --grep=rm",
        "git commit -m 'rm x'",
        "apt-get -y rm",
    ] {
        assert!(!could_begin_with(line, "rm") && !could_be(line, "rm"), "{line}");
    }
    for line in ["sudo rm x", "hyperfine 'rm x'", "echo 'rm x' | sh", "echo 'rm x' >y; sh y", "perl -e 'system(\"rm x\")'", "\\rm x"] {
        assert!(could_begin_with(line, "rm"), "{line}");
    }
}

#[test]
fn a_rule_with_a_path_or_a_sign_names_texts_too() {
    for (line, words) in [
        ("split --filter='./deploy now' x", "./deploy now"),
        ("python3 -c 'os.system(\"npm run build:prod\")'", "npm run build:prod"),
        ("hyperfine 'nice cargo +nightly publish'", "cargo +nightly publish"),
        ("cargo --config 'alias.p=\"publish\"' p", "cargo publish"),
        ("git -c alias.p=push p origin v1.0", "git push origin v1.0"),
        ("python3 x <<<'npm run build:prod'", "npm run build:prod"),
    ] {
        assert!(could_begin_with(line, words) && !could_begin_with(line, "git pull"), "{line}");
    }
}
