//! The connection breaks behind an answer that is given on the command line.

use super::two;
use crate::support::files::write_program;
use crate::support::machine::configure;
use crate::support::{Machine, World, needs, until};

/// Has a script on the machine instead of `ask-answer`: the link breaks behind each offer, which arrives or not.
fn breaking(here: &World, build: &Machine, arrives: bool) {
    let takes = if arrives { "$real \"$@\" < offer > taken" } else { "true" };
    let program = build.world.path("played");
    let script = format!(
        "#!/bin/sh\nreal=ask-answer\ncd '{}'\ncase \"$*\" in *--offer*) printf '' | $real \"$@\" | head -n 1; cat > offer; {takes}; exit 255;;
        *--watch*) $real \"$@\" | grep --line-buffered -v '\"line\":\"gone\"';; *) exec $real \"$@\";; esac\n",
        build.world.home().display()
    );
    write_program(&program, &script);
    here.configure(&format!("{}program = '{}'\n", build.section(), program.display()));
}

#[test]
fn after_a_break_the_same_command_answers_or_tells_who_did() {
    needs!("sshd", "ssh");
    for arrives in [true, false] {
        let (here, build) = two();
        breaking(&here, &build, arrives);
        // A machine that greets too late is sent nothing.
        let cut = until("the answer was offered", || {
            Some(here.run("ask-answer", &["build:docs-42", "merge"])).filter(|cut| !cut.stderr.contains("nothing was sent"))
        });
        assert!(
            cut.code() == 6 && cut.stderr.starts_with("build:docs-42: build did not confirm the answer, and may have it or not"),
            "{cut:?}"
        );
        assert!(cut.stderr.contains("give the same command again") && cut.stderr.contains("ask-answer show build:docs-42"), "{cut:?}");
        assert!(!cut.stderr.contains("not: build: "), "its name stands there once: {cut:?}");
        // It is whole again.
        configure(&here, &[&build]);
        let shown = here.ok("ask-answer", &["show", "build:docs-42"]);
        assert_eq!(shown.contains("answered by ann through ask-answer on "), arrives, "{shown}");
        let again = here.run("ask-answer", &["build:docs-42", "merge"]);
        if arrives {
            assert!([3, 4].contains(&again.code()) && again.stderr.contains("answered by ann through ask-answer on "), "{again:?}");
        } else {
            assert!(again.code() == 0 && again.stdout.contains("accepted by build"), "{again:?}");
        }
        assert_eq!(build.world.document("answered/docs-42.json")["answer"]["value"], "merge");
    }
}
