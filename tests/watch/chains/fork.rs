//! When `relaunch spawn --fork` refuses: the fork would not begin like its parent.

use crate::watch::chains::scripted::Tree;

/// What the agent of the root is told when it runs this.
fn refused(work: &str) -> String {
    let tree = Tree::unfenced();
    tree.does("root", &format!("{work}; exec 2>&1; relaunch spawn --fork -w child --prompt go; echo \"status $?\""));
    tree.does("child", "echo never");
    let said = tree.spawn("root");
    assert_eq!(tree.launches("child"), 0, "{said}");
    assert!(!tree.world.in_mailbox("awaits/root").exists(), "{said}");
    said.replace(tree.world.home().to_str().unwrap(), "HOME")
}

#[test]
fn a_fork_can_only_work_in_its_parents_folder() {
    let said = refused("mkdir -p elsewhere; cd elsewhere");
    assert!(
        said.starts_with("error: --fork: root runs in ") && said.contains("\nhint: first: cd ") && said.ends_with("\nstatus 4"),
        "{said}"
    );
}

#[test]
fn a_fork_has_its_parents_runner_agent_and_model() {
    let said = refused(
        "printf '[runner]\\ndefault = \"other\"\\n[runner.other]\\nprogram = \"/bin/true\"\\n' >\"$HOME/other.toml\"; export ASKBOX_CONFIG=$HOME/other.toml",
    );
    assert!(said.starts_with("error: --fork: root runs with [runner.fake], and child with [runner.other]\n"), "{said}");
    let tree = Tree::new();
    for flag in ["--agent=reviewer", "--model=haiku"] {
        let output = tree.world.run("relaunch", &["spawn", "--fork", flag, "--prompt", "go"]);
        assert!(output.code() == 2 && output.stderr.contains("--fork"), "{output:?}");
    }
}

#[test]
fn outside_of_a_run_there_is_no_session_to_fork() {
    let tree = Tree::new();
    let output = tree.world.run("relaunch", &["spawn", "--fork", "--prompt", "go"]);
    assert_eq!(output.code(), 2, "{output:?}");
    assert!(output.stderr.starts_with("error: --fork: no run of askbox calls this, so there is no session to fork\nhint: "), "{output:?}");
}

mod promises {
    use super::*;

    #[test]
    fn a_session_without_a_transcript_cannot_be_forked() {
        let said = refused("find \"$HOME\" -name \"$ASKBOX_SESSION_ID.jsonl\" -delete");
        let hint = "let the agent program keep transcripts, or leave --fork out";
        assert_eq!(said, format!("error: --fork: the session of root has no transcript\nhint: {hint}\nstatus 4"));
    }
}
