//! A session behind the fence, by `askbox fence claude`: its dialogs are questions as ever, and its shell decides nothing.

use super::{Attended, FENCED, closed, made, world};
use crate::support::claude::bash;

#[test]
fn a_fenced_sessions_dialog_is_answered_but_not_by_its_shell() {
    let world = world();
    let session = Attended::begin_beside(FENCED, &world, "default", &[]);
    let shell = "ask-answer other a; echo {} > ~/.claude/questions/answered/e.json; ask-post -w mine 'Asked?' -o a=A; touch one";
    std::fs::write(world.work().join("ways"), shell).expect("a script");
    session.goes(&[bash("sh ways")]);
    let id = session.asks();
    world.ok("ask-post", &["-w", "other", "Merge?", "-o", "a=A"]);
    world.ok("ask-answer", &[&id, "once", "--round", &world.seen(&id)]);
    let told = session.told();
    assert!(told.contains("this run stands behind a fence") && told.contains("QUESTION_POSTED:mine"), "{told}");
    closed(&world, &id, "delivered");
    assert!(made(&world, "one"), "its call was made");
    assert_eq!((world.names("answered").len(), world.names("pending")), (0, vec!["mine.json".into(), "other.json".into()]), "nothing else");
}
