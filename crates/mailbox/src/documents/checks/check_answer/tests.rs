//! Which answers a question takes.

use super::*;
use crate::documents::checks::check_question;

fn asked(json: &str) -> Question {
    serde_json::from_str(json).unwrap()
}

fn given(question: &Question, json: &str) -> Result<String> {
    given_as(question, json, Given::ByPerson)
}

fn given_as(question: &Question, json: &str, given: Given) -> Result<String> {
    fits(question, &serde_json::from_str(json).unwrap(), given).map(|v| v.to_json().to_string())
}

#[test]
fn a_choice_takes_an_option_or_free_text_if_the_asker_lets() {
    let open = asked(r#"{"question":"?","workflow_id":"w","options":{"a":"A","b":"B"}}"#);
    assert_eq!(given(&open, r#""a""#).unwrap(), r#""a""#);
    assert_eq!(given(&open, r#""something else""#).unwrap(), r#""something else""#);
    let strict = asked(r#"{"question":"?","workflow_id":"w","options":{"a":"A"},"free_text":false}"#);
    assert!(given(&strict, r#""x""#).unwrap_err().hint().contains("choose one of: a"));
}

#[test]
fn yes_no_and_numbers_are_what_they_say() {
    let yes_no = asked(r#"{"question":"?","workflow_id":"w","type":"yes_no"}"#);
    assert_eq!(given(&yes_no, "true").unwrap(), r#""yes""#);
    assert!(given(&yes_no, r#""maybe""#).is_err());
    let number = asked(r#"{"question":"?","workflow_id":"w","type":"number"}"#);
    assert_eq!(given(&number, "42").unwrap(), r#""42""#);
    assert!(given(&number, r#""NaN""#).is_err());
    let bounded = asked(r#"{"question":"?","workflow_id":"w","type":"number","range":{"min":1,"max":9,"step":2,"unit":"GB"}}"#);
    assert_eq!(given(&bounded, "7").unwrap(), r#""7""#);
    for outside in ["0", "8", "11"] {
        let error = given(&bounded, outside).unwrap_err();
        assert_eq!((error.exit_code(), error.hint().as_str()), (5, "answer with a number from 1 to 9, in steps of 2, in GB"));
        // The range also binds the asker's default and an answer made by hand.
        assert!(given_as(&bounded, outside, Given::ByAsker).is_err());
    }
}

#[test]
fn a_batch_needs_every_answer_and_nothing_else() {
    let batch = asked(
        r#"{"workflow_id":"w","questions":[{"question":"Which DB?","options":["pg","sqlite"]},{"id":"n","question":"How many?","type":"number"}]}"#,
    );
    check_question::check(&batch).unwrap();
    assert_eq!(given(&batch, r#"{"Which DB?":"pg","n":3}"#).unwrap(), r#"{"q1":"pg","n":"3"}"#);
    assert!(given(&batch, r#"{"q1":"pg"}"#).unwrap_err().to_string().contains("answer.n: is missing"));
    let none = given(&batch, "{}").unwrap_err();
    assert!(none.to_string().contains("answer: leaves 2 questions out"), "{none}");
    assert_eq!(none.hint(), "answer them too: q1=VALUE n=VALUE");
    assert!(given(&batch, r#"{"q1":"pg","n":3,"z":1}"#).unwrap_err().to_string().contains("was not asked"));
    assert!(given(&batch, r#""pg""#).is_err());
}

#[test]
fn a_multi_choice_splits_a_list_of_options_but_not_free_text() {
    let multi = asked(r#"{"workflow_id":"w","question":"?","type":"multi_choice","options":["a","b"]}"#);
    assert_eq!(given(&multi, r#""a, b""#).unwrap(), r#"["a","b"]"#);
    assert_eq!(given(&multi, r#""well, neither""#).unwrap(), r#"["well, neither"]"#);
}

#[test]
fn a_near_miss_is_refused_unless_it_is_in_own_words() {
    let open = asked(r#"{"question":"?","workflow_id":"w","options":{"merge":"Into one","keep":"Keep both"}}"#);
    assert_eq!(given(&open, r#"" Merge ""#).unwrap(), r#""merge""#);
    for near in ["merg", "mrege", "merge!", "2"] {
        let error = given(&open, &format!("{near:?}")).unwrap_err();
        assert_eq!((error.exit_code(), error.hint().contains("--text")), (5, true), "{near}: {error} {}", error.hint());
        assert_eq!(given_as(&open, &format!("{near:?}"), Given::InOwnWords).unwrap(), format!("{near:?}"));
    }
    assert!(given(&open, r#""mrege""#).unwrap_err().hint().starts_with("did you mean `merge`?"));
    let strict = asked(r#"{"question":"?","workflow_id":"w","options":{"merge":"A"},"free_text":false}"#);
    let error = given_as(&strict, r#""merg""#, Given::InOwnWords).unwrap_err();
    assert_eq!(error.hint(), "did you mean `merge`?");
}

#[test]
fn each_element_of_a_multi_choice_is_checked_like_a_choice() {
    let multi = asked(r#"{"workflow_id":"w","question":"?","type":"multi_choice","options":["unit","e2e","perf"]}"#);
    assert_eq!(given(&multi, r#"["Unit"," e2e "]"#).unwrap(), r#"["unit","e2e"]"#);
    assert_eq!(given(&multi, r#""UNIT, e2e,""#).unwrap(), r#"["unit","e2e"]"#);
    assert_eq!(given(&multi, r#"["unit","and fuzz it"]"#).unwrap(), r#"["unit","and fuzz it"]"#);
    for near in [r#"["unit","e2"]"#, r#""unit, prf""#, r#""unt""#, r#"["1","2"]"#] {
        assert_eq!(given(&multi, near).unwrap_err().exit_code(), 5, "{near}");
    }
    assert_eq!(given_as(&multi, r#""unit, prf""#, Given::InOwnWords).unwrap(), r#"["unit, prf"]"#);
}

#[test]
fn an_empty_answer_is_none_but_an_askers_default_may_be_empty() {
    for (question, empty) in [
        (r#"{"workflow_id":"w","question":"?"}"#, r#""  ""#),
        (r#"{"workflow_id":"w","question":"?","options":["a"]}"#, r#""""#),
        (r#"{"workflow_id":"w","question":"?","type":"multi_choice","options":["a"]}"#, "[]"),
        (r#"{"workflow_id":"w","question":"?","type":"number"}"#, r#""""#),
        (r#"{"workflow_id":"w","questions":[{"id":"why","question":"Why?"}]}"#, r#"{"why":""}"#),
        (r#"{"workflow_id":"w","question":"?"}"#, r#""\u200b""#),
        (r#"{"workflow_id":"w","question":"?"}"#, r#"" \ufeff\n""#),
        (r#"{"workflow_id":"w","question":"?"}"#, r#""\u2800\u3164\u0000""#),
        (r#"{"workflow_id":"w","question":"?","options":["a"]}"#, r#""\u2060""#),
        (r#"{"workflow_id":"w","questions":[{"id":"why","question":"Why?"}]}"#, r#"{"why":"\u200b"}"#),
    ] {
        let error = given(&asked(question), empty).unwrap_err();
        assert!(error.to_string().ends_with("is empty") && error.hint().contains("ask-answer decline w"), "{question}: {error}");
    }
    let text = asked(r#"{"workflow_id":"w","question":"?"}"#);
    assert!(given_as(&text, r#""""#, Given::InOwnWords).is_err());
    assert_eq!(given_as(&text, r#""""#, Given::ByAsker).unwrap(), r#""""#);
}

#[test]
fn a_carriage_return_behind_an_answer_is_none() {
    let text = asked(r#"{"workflow_id":"w","question":"?"}"#);
    let choice = asked(r#"{"workflow_id":"w","question":"?","options":["a"]}"#);
    let multi = asked(r#"{"workflow_id":"w","question":"?","type":"multi_choice","options":["a"]}"#);
    for (question, words, fits) in [
        (&text, r#""Berlin\r""#, r#""Berlin""#),
        (&text, r#""a\r\nb\r\r""#, r#""a\r\nb""#),
        (&choice, r#""wait a day\r""#, r#""wait a day""#),
        (&multi, r#"["a\r","later, please\r"]"#, r#"["a","later, please"]"#),
    ] {
        assert_eq!(given_as(question, words, Given::InOwnWords).unwrap(), fits);
    }
}

#[test]
fn a_near_yes_is_asked_back() {
    let yes_no = asked(r#"{"question":"?","workflow_id":"w","type":"yes_no"}"#);
    for (words, is) in [("y", "yes"), (" YES ", "yes"), ("N", "no")] {
        assert_eq!(given(&yes_no, &format!("{words:?}")).unwrap(), format!("{is:?}"));
    }
    for near in ["Yes!", "yep", "ye"] {
        let error = given(&yes_no, &format!("{near:?}")).unwrap_err();
        assert_eq!((error.exit_code(), error.hint().as_str()), (5, "did you mean `yes`? answer yes or no"));
    }
}
