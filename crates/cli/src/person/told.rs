//! The warnings that a person was given.

use uuid::Uuid;

use crate::person::AtStake;
use askbox_mailbox::{Question, Shown};

/// Returns an id for a question as it is shown. A warning remembers this id, so that it is given once for each question. If the question
/// cannot be hashed, the id is random: then it equals no remembered one, and the person is warned each time.
pub fn about(question: &Question) -> Uuid {
    Shown::of_question(question).map_or_else(|_| Uuid::new_v4(), |shown| Uuid::new_v5(&Uuid::NAMESPACE_OID, shown.to_string().as_bytes()))
}

/// The ids of the things that the person was told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PressAgain(Vec<Uuid>);

impl PressAgain {
    /// Reads the ids from a form field. The page sends the field to the browser with the question, and gets it back with the pressed
    /// button.
    pub fn of_form(field: &str) -> Self {
        Self(field.split(' ').filter_map(|name| Uuid::parse_str(name).ok()).collect())
    }

    /// Writes the ids for a form field.
    pub fn to_form(&self) -> String {
        self.0.iter().map(Uuid::to_string).collect::<Vec<_>>().join(" ")
    }

    /// True if the person was told all of this about this question.
    pub fn was_told(&self, about: Uuid, thing: &AtStake) -> bool {
        thing.names(about).iter().all(|name| self.0.contains(name))
    }

    /// Records that the person is told this.
    pub fn tell(&mut self, about: Uuid, thing: &AtStake) {
        let new: Vec<_> = thing.names(about).into_iter().filter(|name| !self.0.contains(name)).collect();
        self.0.extend(new);
    }

    /// Returns the things that the person must be told first. From now on, only the things at stake count as told.
    pub fn untold<'a>(&mut self, about: Uuid, at_stake: &'a [AtStake]) -> Vec<&'a AtStake> {
        let names: Vec<_> = at_stake.iter().flat_map(|thing| thing.names(about)).collect();
        self.0.retain(|name| names.contains(name));
        at_stake.iter().filter(|thing| !self.was_told(about, thing)).collect()
    }

    /// Forgets what the person was told, because another key was pressed.
    pub fn forget(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::person::{Act, Answers, LeftOut, Named, Next};
    use askbox_mailbox::Choice;
    use askbox_mailbox::address::Address;

    const HERE: Uuid = Uuid::from_bytes([1; 16]);
    const AGAIN: &str = "this button again";

    fn left_out(act: Act, text: &str) -> AtStake {
        let hash = Uuid::new_v5(&Uuid::NAMESPACE_OID, format!("{act:?}{text}").as_bytes());
        AtStake::LeftOut { act, texts: vec![LeftOut { place: "the note".into(), text: text.into(), hash }] }
    }

    fn choice(key: &str) -> Choice {
        serde_json::from_value(serde_json::json!({"label": key})).unwrap()
    }

    fn named(id: &str, headline: &str) -> Named {
        Named { address: Address::here(id.parse().unwrap()), question: None, headline: headline.into(), draft: String::new() }
    }

    fn together(questions: &[&Named], why: &str) -> AtStake {
        AtStake::DeclinedTogether { questions: questions.iter().map(|named| (*named).clone()).collect(), why: why.into() }
    }

    /// Returns each kind of thing, paired with a copy that differs in one value.
    fn all() -> Vec<(AtStake, AtStake)> {
        let beside = |option: &str, words: &str| AtStake::WordsBeside { option: option.into(), words: words.into() };
        let begun = |word: &str, act| AtStake::Begun { word: word.into(), act, takes_words: true };
        let near = |words: &str, near: &[&str]| {
            let near = near.iter().map(|key| choice(key)).collect();
            AtStake::NearMiss { asked: "Ship?".into(), words: words.into(), near }
        };
        let (one, two) = (named("one", "One?"), named("two", "Two?"));
        let strayed = |word: &str, next: Next| AtStake::Strayed { word: word.into(), dead: word.chars().collect(), next: next.into() };
        let opens = |row: &Named| Next::Opens(row.clone());
        let sends = |answer: &str| Next::Sends { to: one.address.clone(), answer: answer.into() };
        let allows = |address: &str, call: &str, key: &str| {
            let option = Choice { description: "one time".into(), ..choice(key) };
            AtStake::Allows { address: address.parse().unwrap(), call: call.into(), option: option.into() }
        };
        let answers = |question: &Named, answer, server: Option<&str>| {
            let server = server.map(str::to_owned);
            AtStake::Answers { question: question.clone().into(), answer, server }
        };
        let one_word = |word: &str| Answers::One(word.into());
        let on = |act, question: &Named| AtStake::DecisionOn { act, question: question.clone().into() };
        vec![
            (left_out(Act::Send, "a"), left_out(Act::Send, "b")),
            (left_out(Act::Send, "a"), left_out(Act::Decline, "a")),
            (beside("keep", "x"), beside("merge", "x")),
            (beside("keep", "x"), beside("keep", "y")),
            (begun("both", Some(Act::AskBack)), begun("bother", Some(Act::AskBack))),
            (begun("none", None), begun("none", Some(Act::Decline))),
            (near("mrege", &["merge"]), near("mreg", &["merge"])),
            (near("mrege", &["merge"]), near("mrege", &["merge", "emerge"])),
            (together(&[&one], "no"), together(&[&two], "no")),
            (together(&[&one], "no"), together(&[&one], "never")),
            (together(&[&one], "no"), together(&[&named("one", "Another?")], "no")),
            (together(&[&one], "no"), together(&[&Named { draft: "half a thought".into(), ..one.clone() }], "no")),
            (strayed("ls", sends("keep")), strayed("ls", opens(&one))),
            (strayed("ls", sends("keep")), strayed("ls", sends("merge"))),
            (strayed("ls", opens(&one)), strayed("ls", opens(&two))),
            (allows("one", "Bash: ls", "once"), allows("two", "Bash: ls", "once")),
            (allows("one", "Bash: ls", "once"), allows("one", "Bash(rm)", "once")),
            (allows("one", "Bash: ls", "once"), allows("one", "Bash: ls", "workflow")),
            (on(Act::Send, &one), on(Act::Send, &two)),
            (on(Act::Send, &one), on(Act::Decline, &one)),
            (on(Act::Decline, &one), on(Act::DeclineAlways, &one)),
            (on(Act::DeclineAlways, &one), on(Act::DeclineAndStop, &one)),
            (answers(&one, one_word("yes"), None), answers(&two, one_word("yes"), None)),
            (answers(&one, one_word("yes"), Some("bank")), answers(&one, one_word("no"), Some("bank"))),
            (answers(&one, Answers::Several(2), None), answers(&one, Answers::Several(3), None)),
            (AtStake::EarlierDraft, beside("a", "b")),
        ]
    }

    #[test]
    fn the_same_key_goes_on_only_while_the_very_same_is_at_stake() {
        for (thing, changed) in all() {
            let mut again = PressAgain::default();
            assert_eq!(again.untold(HERE, std::slice::from_ref(&thing)), [&thing], "the first press tells");
            again.tell(HERE, &thing);
            assert!(again.untold(HERE, std::slice::from_ref(&thing)).is_empty(), "the second one goes on: {thing:?}");
            assert!(!again.was_told(Uuid::nil(), &thing), "another question, or another text of it: {thing:?}");
            assert_eq!(again.untold(HERE, std::slice::from_ref(&changed)), [&changed], "{thing:?}");
            assert!(!again.was_told(HERE, &thing), "what is no longer at stake is forgotten: {thing:?}");
            again.tell(HERE, &thing);
            again.forget();
            assert!(!again.was_told(HERE, &thing), "another key: {thing:?}");
        }
    }

    #[test]
    fn a_form_carries_what_its_person_was_told_of() {
        let mut again = PressAgain::default();
        let things: Vec<_> = all().into_iter().map(|(thing, _)| thing).collect();
        things.iter().for_each(|thing| again.tell(HERE, thing));
        let again = PressAgain::of_form(&format!("nonsense {}", again.to_form()));
        assert!(things.iter().all(|thing| again.was_told(HERE, thing)));
    }

    #[test]
    fn fewer_of_the_told_things_go_on_and_more_do_not() {
        let (one, two) = (named("one", "One?"), named("two", "Two?"));
        let mut again = PressAgain::default();
        again.tell(HERE, &together(&[&one, &two], "no"));
        assert!(again.untold(HERE, &[together(&[&one], "no")]).is_empty());
        assert!(!again.was_told(HERE, &together(&[&one, &two], "no")), "nor are more of them told");
    }

    #[test]
    fn a_permission_is_told_with_the_whole_of_its_scope() {
        let description =
            format!("allow exactly this call in /srv/{}, until you revoke it: relaunch approve --revoke one", "deep/".repeat(40));
        let option = Choice { description: description.clone(), ..choice("workflow") };
        let told = AtStake::Allows { address: "one".parse().unwrap(), call: "Bash: ls".into(), option: option.into() }.told(AGAIN);
        assert!(told.ends_with(&description), "{told}");
    }

    #[test]
    fn each_thing_is_told_in_one_sentence_that_names_it() {
        let told: Vec<_> = all().iter().map(|(thing, _)| thing.told(AGAIN)).collect();
        for words in [
            "the note (\"a\") would not be sent; this button again sends your answer without it",
            "your own words (\"x\") would not be sent; this button again sends `keep`, n makes them a note",
            "did you mean \"both\" as your answer? tab takes it as your own words; this button again asks the agent back",
            "did you mean \"none\" as your answer? tab takes it as your own words; this button again keeps the note",
            "this is your draft from before; this button again goes on with it",
            "Is this one of the options?",
            "this button again sends your words to one: \"One?\"",
            "was \"ls\" meant for this question? this button again sends one `keep`",
            "\"l\" and \"s\" are not keys here: was \"ls\" meant for another window? this button again opens one",
            "this button again sends `yes` to one: \"One?\"",
            "this button again sends `yes` to `bank` for one: \"One?\"",
            "this button again sends your 2 answers to one: \"One?\"",
            "this button again declines one: \"One?\"",
            "this button again always refuses this call of one: \"One?\"",
            "this button again allows \"Bash: ls\" to one with `once`: one time",
            "Decline this question?",
        ] {
            assert!(told.iter().any(|told| told == words), "no {words:?} in {told:#?}");
        }
    }
}
