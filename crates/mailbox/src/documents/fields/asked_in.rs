//! The proof that a question was asked within a run.
//!
//! ```text
//! nonce    random, new for each attempt    ASKBOX_NONCE in the agent's environment, and nowhere else
//! proof    UUIDv5(nonce, "asked")          `asked_in.proof` of a question for another workflow
//! hash     UUIDv5(proof, "run")            `nonce_hash` of `run.json`
//! receipt  UUIDv5(nonce, "fetched")        `fetched` beside `run.json`, if a process of the run has read the answer
//! ```
//! Each value is computed from the one above it. The way back is impossible: a UUIDv5 is a SHA-1 of 122 unknown bits. (SHA-1 is
//! weak against collisions. They do not help here, because the attacker does not choose the nonce.) So a reader of the mailbox
//! cannot find a nonce, and cannot make a receipt. But a process that can read a question which was asked in a run can copy its proof.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::id::AttemptId;

/// The name of the environment variable with the nonce.
pub const NONCE: &str = "ASKBOX_NONCE";

/// The secret of one attempt. Only the processes of its agent have it.
#[derive(Clone, PartialEq, Eq, derive_more::Debug)]
#[debug("Nonce")]
pub struct Nonce(Uuid);

/// Says that the writer of a question had the nonce of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(with = "String", extend("format" = "uuid"))]
#[serde(transparent)]
pub struct Proof(Uuid);

/// What a run's record keeps of its nonce: enough to recognize a proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(with = "String", extend("format" = "uuid"))]
#[serde(transparent)]
pub struct NonceHash(Uuid);

/// Says that a process with the nonce of a run has read the answer. Only the run's supervisor can check it, because no record holds its
/// hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, derive_more::Display)]
pub struct Receipt(Uuid);

/// The run in which a question was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AskedIn {
    /// The attempt: `WORKFLOW/QUESTION/ATTEMPT`.
    pub run: AttemptId,
    /// The proof that the asker was a process of it.
    pub proof: Proof,
}

impl Nonce {
    /// Returns a new random nonce.
    pub fn generate() -> Self {
        Self(Uuid::new_v4())
    }

    /// Reads the value of `ASKBOX_NONCE`. `None` if it is not a UUID.
    pub fn parse(text: &str) -> Option<Self> {
        Uuid::parse_str(text).ok().map(Self)
    }

    /// Returns the value for `ASKBOX_NONCE`.
    pub fn to_env(&self) -> String {
        self.0.to_string()
    }

    /// Returns the proof for questions that are asked in the run.
    pub fn proof(&self) -> Proof {
        Proof(Uuid::new_v5(&self.0, b"asked"))
    }

    /// Returns the receipt for the answer of the run's round.
    pub fn receipt(&self) -> Receipt {
        Receipt(Uuid::new_v5(&self.0, b"fetched"))
    }
}

impl Proof {
    /// Returns the hash that the run's record has if the proof is right.
    pub fn hash(self) -> NonceHash {
        NonceHash(Uuid::new_v5(&self.0, b"run"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_proof_and_the_hash_are_those_of_the_protocol() {
        let nonce = Nonce::parse("01a20535-7c1c-40f4-93d9-68b4a24a55aa").unwrap();
        assert_eq!(nonce.proof().0.to_string(), "e511ba45-b926-5b2e-9f27-0453aed1a811");
        assert_eq!(nonce.proof().hash().0.to_string(), "25fa9d75-5462-506f-9533-a1fbdd298c80");
    }
}
