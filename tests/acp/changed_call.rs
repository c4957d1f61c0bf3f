//! A call that a person changes before they allow it, and whose program cannot be given a changed call.

use serde_json::json;

use crate::acp::scene::{Scene, Shell};
use crate::support::until;

impl Scene {
    /// A person changes a call while the agent waits. Its program cannot be given a changed call. So nothing runs, the model reads what its user
    /// has made of the call, and makes that call, once, without another question.
    pub(crate) fn has_its_call_changed(&self, shell: Shell) {
        let Self { world, api } = self;
        let asked = || until("it asks", || world.in_mailbox("pending/job.json").exists().then(|| world.document("pending/job.json")));
        api.on("do the first part", json!([shell("echo ran >> $HOME/effects"), {"text": "It did not run."}]));
        api.on("Your call was not made", json!([shell("echo changed >> $HOME/effects"), {"text": "It has run."}]));
        let _watcher = world.watch();
        self.spawns("do the first part");
        asked();
        std::fs::write(world.path("edited"), "echo changed >> $HOME/effects").expect("the new command");
        let edited = world.path("edited").display().to_string();
        world.ok("ask-answer", &["edit", "job", "--input", &edited, "--round", &world.seen("job")]);
        until("it is delivered", || world.status("job")["result"] == "It has run.");
        let told = api.told().pop().expect("a request").join("\n");
        assert!(told.contains("Your call was not made") && told.contains("echo changed"), "{told}");
        assert!(!told.contains("The result is that of the changed call"), "{told}");
        assert_eq!(self.effects(), ["changed"]);
    }
}
