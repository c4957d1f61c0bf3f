//! Recognizes a signed answer that its person took back. Its signature stays valid, so a copy of the old file would decide again.
//!
//! `undo` notes the hash of the signed bytes in the question's `taken_back`. They hold the time of the answer, so the same answer,
//! given anew, has another hash.
//!
//! # Limitations
//! A program that can change the question's file can remove the note as well.

use sha2::{Digest, Sha256};

use crate::trust::signed_bytes;
use crate::{Answer, Question, text};

/// The reason for people why such an answer does not count.
pub const WHY: &str = "this signed answer was taken back, and does not count again";

/// Returns the hash of a signed answer to this question. `None` for an answer without a signature: it proves nothing.
pub fn hash(question: &Question, answer: &Answer) -> Option<String> {
    answer.signature.as_ref()?;
    Some(text::hex(&Sha256::digest(signed_bytes::of_answer(question, answer).ok()?)))
}

/// True if `noted` says that this answer was taken back. `question` is the question in the answer's own document.
pub fn holds(noted: &Question, question: &Question, answer: &Answer) -> bool {
    let Some(back) = noted.taken_back.as_ref().filter(|back| !back.withdrawn.is_empty()) else { return false };
    hash(question, answer).is_some_and(|hash| back.withdrawn.contains(&hash))
}

/// Copies the notes of `noted` into the file with another answer to the same question, which may be older. Returns whether it changed.
pub fn carry_over(noted: &Question, answered: &mut Question) -> bool {
    let Some(back) = noted.taken_back.as_ref().filter(|back| !back.withdrawn.is_empty()) else { return false };
    match &mut answered.taken_back {
        None => answered.taken_back = Some(back.clone()),
        Some(known) => {
            let missing: Vec<_> = back.withdrawn.iter().filter(|hash| !known.withdrawn.contains(hash)).cloned().collect();
            if missing.is_empty() {
                return false;
            }
            known.withdrawn.extend(missing);
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::closing::{MAX_BEFORE, TakenBack};

    #[test]
    fn an_answer_that_was_taken_back_stays_known_however_often() {
        let json = r#"{"workflow_id":"w","question":"?","question_id":"15c96f27-091a-5dc1-bcce-0d2e49721bc0"}"#;
        let mut question: Question = serde_json::from_str(json).unwrap();
        let given =
            || Answer { question_hash: question.hash().ok(), signature: Some("ed25519:x".into()), ..Answer::value("a".into(), "ann", "x") };
        let (first, other) = (given(), Answer { note: Some("more".into()), ..given() });
        assert_eq!(hash(&question, &Answer { signature: None, ..first.clone() }), None);
        question.taken_back = Some(TakenBack::now("ann", &first, None, hash(&question, &first), None));
        for _ in 0..=MAX_BEFORE {
            question.taken_back = Some(TakenBack::now("askbox", &other, Some("forged"), None, question.taken_back.take()));
        }
        assert!(holds(&question, &question, &first) && !holds(&question, &question, &other));
        let again = serde_json::from_str::<Question>(&serde_json::to_string(&question).unwrap()).unwrap();
        assert!(holds(&again, &question, &first), "it is kept in the file");
        // The text of a signature has several spellings.
        assert!(holds(&question, &question, &Answer { signature: Some("ed25519:y".into()), ..first }));
    }
}
