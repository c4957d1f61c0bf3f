//! An answer from here is signed here, and the machine that has the question verifies it.

use serde_json::json;

use super::two;
use crate::support::machine::configure;
use crate::support::{needs, until};

#[test]
fn an_answer_signed_here_counts_there_and_another_is_refused() {
    needs!("sshd", "ssh");
    let (here, build) = two();
    let keys = here.only_signed_answers();
    let (trusted, own) = keys.split_at(keys.find("sign_key").unwrap());
    build.world.configure(trusted);
    let refused = here.run("ask-answer", &["build:docs-42", "merge"]);
    assert!(refused.code() == 5 && refused.stderr.contains("build: this answer does not count there: it is not signed"), "{refused:?}");
    assert_eq!(build.world.state("docs-42"), "pending");
    configure(&here, &[&build]);
    let config = std::fs::read_to_string(here.config()).unwrap();
    std::fs::write(here.config(), format!("{config}\n[answers]\n{own}")).unwrap();
    // The whole question travels: what is not shown is signed, too.
    build.world.ok("checkpoint", &["save", "site", "--step", "one"]);
    build.world.sh("ask-post -w site 'Publish?' -o yes=Y -o no=N --timeout 3h --default no --context 'The **site**.'");
    for (address, value) in [("build:docs-42", "merge"), ("build:site", "yes")] {
        until("it is seen", || here.run("ask-answer", &["show", address]).code() == 0);
        let said = here.ok("ask-answer", &[address, value, "--note", "go on"]);
        assert!(said.contains("accepted by build"), "{said}");
        let workflow = address.trim_start_matches("build:");
        let answer = build.world.document(&format!("answered/{workflow}.json"))["answer"].clone();
        assert_eq!(
            (&answer["value"], &answer["through"], answer["offer_id"].is_string()),
            (&json!(value), &json!("terminal"), true),
            "{answer}"
        );
        build.world.sh(&format!("relaunch prompt {workflow}"));
        assert_eq!(build.world.closed(workflow, "delivered", 1)[0]["answer"]["signature"], answer["signature"]);
    }
}
