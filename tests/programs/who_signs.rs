//! A signature says that a person gave the answer. So a process signs only if the processes above it are known, and none is an agent.

use crate::support::{Signal, Terminal, World, needs, signal, until};

/// A world that counts only signed answers, with a question.
fn signing() -> World {
    let world = World::new().with_scripted_agent();
    // Behind the fence, a run could not even answer.
    let only_signed = world.only_signed_answers();
    world.configure(&format!("{only_signed}\n[fence]\nmode = \"off\"\n"));
    world.sh("ask-post -w q 'Merge?' -o a=A");
    world
}

#[test]
fn a_person_in_a_terminal_signs() {
    needs!("tmux");
    let world = signing();
    // The server of tmux is an orphan.
    let terminal = Terminal::new(&world);
    terminal.press(&["clear; ask-answer q a; echo left=$?", "Enter"]);
    terminal.see("left=0");
    let answer = world.document("answered/q.json")["answer"].clone();
    assert!(answer["signature"].is_string() && answer["through"] == "terminal", "{answer}");
}

#[test]
fn an_orphan_of_a_run_in_a_terminal_signs_nothing() {
    needs!("tmux");
    let world = signing();
    std::fs::write(
        world.path("orphan.sh"),
        "trap '' TERM HUP\necho $$ >pid.new; mv pid.new pid\nwhile [ $(cut -d' ' -f4 /proc/$$/stat) != 1 ]; do sleep 0.1; done\n\
         (exec 3</dev/tty) && echo 'has a terminal'\nask-answer q a\necho over\n",
    )
    .unwrap();
    let variables: String = world.env().iter().map(|(name, value)| format!("{name}='{value}' ")).collect();
    let path = world.path_with_programs();
    let work = world.work().display();
    world
        .agent_does("r", &format!("cd '{work}'; echo $PPID >supervisor; env -i PATH='{path}' {variables}sh orphan.sh >said 2>&1 & while kill -0 $PPID; do sleep 0.1; done\n"));
    let terminal = Terminal::new(&world);
    // A link to the program has another name.
    terminal.press(&["ln -s $(command -v relaunch) other; ./other run -w r --prompt 'Do it.'", "Enter"]);
    until("the orphan is there", || world.path("pid").exists());
    let below = world.sh("ps -o comm= -p $(cat supervisor)");
    assert_eq!(below.trim(), "relaunch", "a supervisor is known by its name");
    signal(world.sh("cat supervisor").trim().parse().unwrap(), Signal::KILL);
    let said = until("the orphan has spoken", || std::fs::read_to_string(world.path("said")).ok().filter(|said| said.ends_with("over\n")));
    assert!(said.contains("has a terminal") && said.contains("must be signed"), "{said}");
    assert_eq!(world.state("q"), "pending");
}

mod promises {
    use super::*;

    #[test]
    fn a_process_that_hides_its_parents_signs_nothing() {
        needs!("mount");
        let world = signing();
        std::fs::write(world.path("deep.sh"), "if [ $1 = 0 ]; then ask-answer q a; else sh deep.sh $(($1 - 1)); fi; exit $?\n").unwrap();
        for hidden in [
            "unshare -Urpf ask-answer q a",
            "unshare -Urpf sh deep.sh 0",
            "unshare -Urpf sh deep.sh 2",
            "unshare -Urpf --mount-proc sh deep.sh 2",
            "sh deep.sh 70",
        ] {
            let refused = world.refused(1, hidden);
            assert!(refused.contains("must be signed") && refused.contains("a person answers"), "{hidden}: {refused}");
        }
        assert_eq!(world.state("q"), "pending");
        world.sh("sh deep.sh 20");
        assert!(world.document("answered/q.json")["answer"]["signature"].is_string());
    }
}
