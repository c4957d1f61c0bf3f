//! Answers that must be signed.

use super::World;

impl World {
    /// Makes ann's key, and returns the section of the configuration that counts only her signature. The programs of this world sign with
    /// it, as long as its file is there.
    #[track_caller]
    pub fn only_signed_answers(&self) -> String {
        let made = self.run("askbox", &["keygen", "--json"]).ok().json();
        let toml = |field: &str| format!("{:?}", made[field].as_str().expect("a text"));
        format!("\n[answers]\nrequire_signed = true\ntrusted_keys = [{}]\nsign_key = {}\n", toml("public"), toml("file"))
    }

    /// Puts an answer of an agent's own into `answered/`, as a complete one that says all it can.
    #[track_caller]
    pub fn forge(&self, workflow: &str, value: &str) {
        let mut document = self.document(&format!("pending/{workflow}.json"));
        let hash = self.hash_of(&document);
        document["answer"] = serde_json::json!({
            "outcome": "answered", "value": value, "by": "ann", "channel": "ask-answer", "through": "terminal", "at": "2026-11-24T08:00:00.000Z",
            "question_hash": hash, "signature": format!("ed25519:{}==", "A".repeat(86)),
        });
        std::fs::write(self.path("forged.json"), document.to_string()).expect("a file");
        self.sh(&format!("mv '{}' '{}/answered/{workflow}.json'", self.path("forged.json").display(), self.mailbox().display()));
    }

    /// Puts a question of an agent's own into `pending/`, whole from the first moment on.
    #[track_caller]
    pub fn forge_question(&self, workflow: &str, question: &serde_json::Value) {
        self.put(format!("pending/{workflow}.json"), question.to_string());
    }

    /// Changes the text of the question that waits, as anybody can who may write to the mailbox.
    #[track_caller]
    pub fn edit_pending(&self, workflow: &str, from: &str, to: &str) {
        let below = format!("pending/{workflow}.json");
        let text = std::fs::read_to_string(self.in_mailbox(&below)).expect("a question");
        assert!(text.contains(from), "{text}");
        self.put(below, text.replace(from, to));
    }

    /// The hash of the text of a question.
    pub fn hash_of(&self, document: &serde_json::Value) -> String {
        let question: askbox_mailbox::Question = serde_json::from_value(document.clone()).expect("a question");
        question.hash().expect("a hash").to_string()
    }
}
