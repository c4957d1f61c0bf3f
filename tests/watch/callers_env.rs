//! What the caller of `relaunch` meant for itself, a git hook for example, does not reach the agent: no variable, and no signal.

use crate::support::files::write_program;
use crate::support::{World, output, root, until};

/// Variables of a git hook and of an editor, and one that an operator sets.
const OF_THE_CALLER: [(&str, &str); 7] = [
    ("GIT_DIR", "/nowhere/.git"),
    ("GIT_INDEX_FILE", "/nowhere/.git/index"),
    ("GIT_CONFIG_PARAMETERS", "'core.bare=true'"),
    ("GIT_QUARANTINE_PATH", "/nowhere/q"),
    ("NODE_OPTIONS", "--inspect-brk"),
    ("ELECTRON_RUN_AS_NODE", "1"),
    ("GIT_SSH_COMMAND", "ssh -4"),
];

/// Of these variables, only the operator's is in the environment that a file holds.
#[track_caller]
fn only_the_operators(world: &World, file: &str) {
    let path = world.path(file);
    let env = until(file, || std::fs::read_to_string(&path).ok().filter(|env| env.contains("GIT_SSH_COMMAND=ssh -4\n")));
    for (name, _) in &OF_THE_CALLER[..6] {
        assert!(!env.lines().any(|line| line.starts_with(&format!("{name}="))), "{name} in {env}");
    }
}

#[test]
fn an_acp_agent_and_a_notifier_have_no_variables_of_a_git_hook() {
    let mut world = World::new().with_scripted_agent();
    world.set_env(&OF_THE_CALLER);
    let (program, notifier) = (root().join("crates/testkit/agents/acp.py"), world.path("notify.sh"));
    write_program(&notifier, "#!/bin/sh\nenv >\"$HOME/env.notifier\"\n");
    world.configure(&format!(
        "[notify]\ngrace = \"0s\"\n[target.command]\nexec = [\"{}\"]\n[runner.agent]\nkind = \"acp\"\nprogram = \"{}\"\nworkflows = [\"acp-*\"]\n",
        notifier.display(),
        program.display(),
    ));
    std::fs::write(world.agent("turns"), r#"[{"run":"env >$HOME/env.acp"},{"say":"done"}]"#).expect("its turns");
    world.make_mailbox();
    let _watcher = world.watch();
    world.ok("ask-post", &["-w", "acp-x", "Merge?", "-o", "a=A"]);
    only_the_operators(&world, "env.notifier");
    world.ok("ask-answer", &["acp-x", "a"]);
    world.reaches("acp-x", "delivered");
    only_the_operators(&world, "env.acp");
}

#[test]
fn an_operators_own_variable_for_the_agent_counts_over_all() {
    let mut world = World::stepping("env >$HOME/env.agent; work");
    world.set_env(&OF_THE_CALLER);
    world.reconfigure("[runner.fake]", "[runner.fake]\nenv = { GIT_DIR = \"/own/.git\" }");
    world.ask_and_answer("docs");
    world.ok("relaunch", &["docs"]);
    let env = std::fs::read_to_string(world.path("env.agent")).expect("its environment");
    assert!(env.lines().any(|line| line == "GIT_DIR=/own/.git") && !env.contains("GIT_INDEX_FILE"), "{env}");
}

/// Blocks and ignores signals, then becomes the program in its arguments.
const BLOCKS: &str = "import os, signal, sys\n\
    for s in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1): signal.signal(s, signal.SIG_IGN)\n\
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGUSR2, signal.SIGINT])\n\
    os.execv(sys.argv[1], sys.argv[1:])\n";

mod promises {
    use super::*;

    #[test]
    fn an_agent_relaunched_from_a_git_hook_commits_into_its_repo() {
        let world = World::stepping("echo work >made; git add made && git commit -qm 'by the agent' || exit 3\nwork");
        let (own, hooked) = (world.path("own"), world.path("hooked"));
        let git = "git -c init.defaultBranch=main";
        world.sh(&format!(
            "git config --global user.name Ann; git config --global user.email ann@example.org\n\
             mkdir {own} {hooked}; cd {own} && {git} init -q && git commit -q --allow-empty -m begun\n\
             ask-post -w docs 'Merge?' -o a=A && ask-answer docs a\n\
             cd {hooked} && {git} init -q && git commit -q --allow-empty -m begun && git worktree add -q {tree} -b other",
            own = own.display(),
            hooked = hooked.display(),
            tree = world.path("tree").display(),
        ));
        write_program(&hooked.join(".git/hooks/pre-commit"), "#!/bin/sh\nrelaunch docs >&2\n");
        world.sh(&format!("cd {} && echo x >file && git add file && git commit -qm 'by the person' -- file", world.path("tree").display()));
        let log = |folder: &str| {
            world.sh(&format!("cd {} && git fsck --no-progress && git status --short && git log --format=%s", world.path(folder).display()))
        };
        assert_eq!(log("tree"), "by the person\nbegun");
        assert_eq!(log("own"), "by the agent\nbegun");
    }

    #[test]
    fn an_agent_reacts_to_every_signal_whatever_its_caller_ignores() {
        let world = World::stepping("grep -E 'Sig(Ign|Blk)' /proc/self/status >$HOME/signals; work");
        world.ask_and_answer("docs");
        let relaunch = world.command("relaunch");
        let ran = output(world.any_command("python3").args(["-c", BLOCKS]).arg(relaunch.get_program()).arg("docs"));
        assert!(ran.status.success(), "{ran:?}");
        let signals = std::fs::read_to_string(world.path("signals")).expect("its signals");
        // Without those of real time: the C library keeps two of them for itself.
        let usual = |set| u64::from_str_radix(set, 16).map(|set| set & 0x7fff_ffff);
        let all_free = signals.lines().all(|line| line.split('\t').nth(1).is_some_and(|set| usual(set) == Ok(0)));
        assert!(all_free && signals.lines().count() == 2, "{signals}");
    }
}
