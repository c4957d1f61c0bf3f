//! Which callers may decide which questions, through which surface. Every cell of the table in `docs/dev/architecture.md` is tried on a
//! mailbox. `SNAPSHOTS=overwrite` writes the table anew.

use std::path::Path;

use askbox::mailbox::Matter;
use askbox::mailbox::disk::{self, Lock};
use askbox::mailbox::documents::fields::through::Through;
use askbox::mailbox::documents::offer::{Decided, Offer};
use askbox::mailbox::transitions::accept::{self, Decision, On};
use askbox::mailbox::transitions::offered;
use askbox::mailbox::trust::signer::With;
use askbox::mailbox::trust::{Policy, SecretKey, Signer};
use askbox::mailbox::who::caller::{Below, Caller};
use askbox::mailbox::{AnswerValue, Mailbox, Question, read_question};
use serde_json::{Value, json};

use crate::support::approval_question;

const BEGIN: &str = "<!-- The table of who decides: begin. Written by tests/mailbox/who_decides.rs -->\n";
const END: &str = "<!-- The table of who decides: end -->\n";

/// A way to decide, with what may be above its process.
struct Surface {
    name: &'static str,
    through: fn(Below) -> Through,
    /// True for an offer from another machine.
    is_offer: bool,
}

const SURFACES: [Surface; 6] = [
    Surface { name: "command line, inbox", through: Below::through, is_offer: false },
    Surface { name: "page (signed-in device)", through: |_| Through::Web, is_offer: false },
    Surface { name: "button of a message", through: |_| Through::Message, is_offer: false },
    Surface { name: "AskUserQuestion in a user's session (hook)", through: |_| Through::Hook, is_offer: false },
    Surface { name: "MCP tool `answer_question`", through: |_| Through::Mcp, is_offer: false },
    Surface { name: "offer of a person at another machine", through: |_| Through::Terminal, is_offer: true },
];

fn question(matter: Matter) -> (Value, &'static str) {
    match matter {
        Matter::Question => (json!({"workflow_id": "w", "question": "Merge?", "type": "yes_no"}), "yes"),
        Matter::Approval => (approval_question("w", "May the agent call Bash?"), "once"),
        Matter::Consent => (json!({"workflow_id": "w", "question": "Pay?", "type": "yes_no", "elicited_by": "bank"}), "yes"),
        Matter::Dialog => {
            let live = json!({
                "session": "15c96f27-091a-5dc1-bcce-0d2e49721bc0", "program": "claude", "project": "shop", "since": "2026-01-01T00:00:00Z",
            });
            let call = json!({"name": "AskUserQuestion", "id": "toolu_1"});
            (json!({"workflow_id": "w", "question": "Merge?", "type": "yes_no", "live": live, "tool_call": call}), "yes")
        }
    }
}

/// The outcome of a decision, and the answer as it lies in the mailbox.
fn decide(surface: &Surface, below: Below, matter: Matter) -> Result<Value, String> {
    let folder = tempfile::tempdir().unwrap();
    let mailbox = Mailbox::open_or_create(folder.path().join("m")).unwrap();
    let (document, value) = question(matter);
    std::fs::write(folder.path().join("m/pending/w.json"), document.to_string()).unwrap();
    let workflow = "w".parse().unwrap();
    // The hook beside a dialog waits with this lock.
    disk::create_folder(&mailbox.runs_of_workflow(&workflow)).unwrap();
    let _hook = Lock::try_acquire(&mailbox.waiter(&workflow)).unwrap();
    let asked: Question = read_question::pending(&mailbox, &workflow).unwrap().typed;
    let round = askbox::mailbox::round::of_pending(&mailbox, &asked).unwrap();
    let value = AnswerValue::Text(value.into());
    let signer = Signer { with: With::Key(SecretKey::generate()), trusted: Vec::new() };
    if surface.is_offer {
        let there = Caller::person("ann", "inbox on laptop").unwrap().signing(Some(signer));
        let offer = Offer::new(&round, asked.hash().unwrap(), None, there.value(value), false);
        let verdict = offered::apply(&mailbox, &Policy::default(), &offer, below).unwrap();
        if verdict.decided != Decided::Accepted {
            return Err(verdict.said);
        }
    } else {
        let caller = Caller::new("ann", "test", (surface.through)(below), below).unwrap().signing(Some(signer));
        let decision = Decision::by(&caller, On::question(&round, &asked).unwrap());
        accept::answer(&mailbox, &workflow, decision, caller.value(value)).map_err(|e| e.to_string())?;
    }
    let answered: Value = serde_json::from_slice(&std::fs::read(folder.path().join("m/answered/w.json")).unwrap()).unwrap();
    Ok(answered["answer"].clone())
}

fn above(below: Below) -> &'static str {
    match below {
        Below::NoAgent => "no agent",
        Below::Agent => "an agent of a person",
        Below::Run => "a run of askbox",
        Below::Unknown => "unknown",
    }
}

/// Why a decision was refused, without what it was about.
fn why(error: &str) -> String {
    let reasons = [
        ("an agent's run answers no such question", "no: a run does not permit itself"),
        ("nobody knows who calls", "no: nobody knows who calls"),
        ("no agent may answer that", "no: an agent's tool is not a person"),
        ("a message cannot give a permission", "no: it does not show all of it"),
    ];
    reasons.iter().find(|(said, _)| error.contains(said)).map_or_else(|| panic!("an unknown reason: {error}"), |(_, why)| (*why).to_owned())
}

fn table() -> String {
    let mut out = String::from(
        "| through | above the process | a question | an approval | a consent | a dialog | signed | recorded as |\n|---|---|---|---|---|---|---|---|\n",
    );
    for surface in &SURFACES {
        for below in Below::ALL {
            let cells = Matter::ALL.map(|matter| decide(surface, below, matter));
            let answer = cells[0].clone().expect("anybody answers a question");
            let signed = match (surface.is_offer, answer["signature"].is_string()) {
                (true, _) => "there",
                (false, true) => "yes",
                (false, false) => "no",
            };
            let cells = cells.map(|cell| cell.map_or_else(|e| why(&e), |_| "yes".into()));
            let through = answer["through"].as_str().expect("a way");
            out.push_str(&format!("| {} | {} | {} | {signed} | `{through}` |\n", surface.name, above(below), cells.join(" | ")));
        }
    }
    out
}

mod promises {
    use super::*;

    #[test]
    fn each_cell_of_the_table_of_who_decides_is_as_documented() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/dev/architecture.md");
        let text = std::fs::read_to_string(&page).unwrap();
        let (before, rest) = text.split_once(BEGIN).expect("the begin of the table");
        let (documented, after) = rest.split_once(END).expect("the end of the table");
        let table = table();
        if std::env::var_os("SNAPSHOTS").is_some_and(|how| how == "overwrite") {
            std::fs::write(&page, format!("{before}{BEGIN}{table}{END}{after}")).unwrap();
        } else {
            assert_eq!(documented, table, "SNAPSHOTS=overwrite writes docs/dev/architecture.md anew");
        }
    }
}
