//! Fuzzing of every parser, the short run: each input of the corpus, and a fixed number of its mutations. The long run is `fuzz/run`.

#[path = "../../fuzz/src/corpus.rs"]
mod corpus;
#[path = "../../fuzz/src/mutate.rs"]
mod mutate;
#[path = "../../fuzz/src/targets/mod.rs"]
mod targets;

/// Mutations of each target, unless `ASKBOX_FUZZ` says how many. `tests/run all` makes ten times as many, and the long run millions.
const MUTATIONS: usize = 200;

/// Checks the corpus of a target and its mutations. A failure names the input, which then belongs into the corpus.
fn short_run(name: &str) {
    let target = targets::ALL.iter().find(|target| target.name == name).unwrap();
    let inputs = corpus::of(name);
    let check = |what: &str, bytes: &[u8]| {
        if let Err(panic) = std::panic::catch_unwind(|| (target.check)(bytes)) {
            eprintln!("{what} of {name} breaks a promise: {:?}", String::from_utf8_lossy(bytes));
            std::panic::resume_unwind(panic);
        }
    };
    for (file, bytes) in &inputs {
        check(&file.display().to_string(), bytes);
    }
    let mut random = mutate::Random::new(1);
    let mutations = std::env::var("ASKBOX_FUZZ").ok().and_then(|n| n.parse().ok()).unwrap_or(MUTATIONS);
    for n in 0..mutations {
        let (file, input) = &inputs[n % inputs.len()];
        let other = &inputs[random.below(inputs.len())].1;
        check(&format!("mutation {n}, from {},", file.display()), &mutate::mutated(input, other, &mut random));
    }
}

macro_rules! targets {
    ($($name:ident: $test:ident;)*) => {
        $(#[test]
        fn $test() {
            short_run(stringify!($name));
        })*

        #[test]
        fn every_target_has_its_short_run_and_its_corpus() {
            let tested = [$(stringify!($name)),*];
            assert_eq!(tested.to_vec(), targets::ALL.iter().map(|target| target.name).collect::<Vec<_>>());
            let mut folders: Vec<String> = std::fs::read_dir("fuzz/corpus").unwrap().map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
            folders.sort();
            let mut names = tested.map(str::to_owned);
            names.sort();
            assert_eq!(folders, names);
        }
    };
}

mod promises {
    use super::*;

    targets! {
        question: a_question_of_any_bytes_is_refused_or_keeps_every_field;
        answer: an_accepted_answer_is_in_its_normal_form;
        checkpoint: a_checkpoint_keeps_every_field_and_sets_only_our_variables;
        records: a_record_of_any_bytes_is_refused_or_read_back_the_same;
        configuration: a_configuration_of_any_bytes_is_refused_or_means_one_thing;
        agent_file: an_agent_file_of_any_bytes_is_refused_or_read_in_bounds;
        stream: a_stream_says_the_same_in_any_pieces_and_can_be_shown;
        transcript: a_transcript_says_the_same_in_any_pieces;
        acp: each_request_of_an_acp_agent_gets_one_reply_as_decided;
        text: text_of_any_characters_is_shown_and_quoted_safely;
        names: an_accepted_id_date_or_duration_is_written_as_it_was_read;
        approval: a_question_shows_one_tool_call_and_a_rule_names_a_command;
        reply: a_reply_counts_only_if_a_button_says_so;
        browser: what_a_browser_sends_signs_nobody_else_in;
        elicited: an_answer_to_a_server_is_what_its_form_asks_for;
        peer: a_line_of_another_machine_is_read_back_the_same;
        settings: rules_come_into_settings_of_any_shape_and_go_again;
        keys: a_key_is_written_as_it_was_read_and_signs_what_it_signed;
        message: an_agent_reads_the_decision_that_was_made_and_no_other;
        live: a_dialog_of_any_bytes_is_refused_or_asked_about_safely;
        sessions: files_of_sessions_of_any_bytes_are_read_or_left_out;
    }
}
