//! Which answers an operator trusts, and how answers are signed.
//!
//! Whoever may write to the mailbox can put an answer there, an agent of the same user too. A signature shows that a holder of a key gave this
//! very answer to this very question. It is made when the answer is given, and verified when an answer is claimed, at each launch, and before
//! a call is let through.
//!
//! | file | idea |
//! |---|---|
//! | [`key`] | the text forms of keys and signatures, and the file of a secret key |
//! | [`signed_bytes`] | the bytes that are signed |
//! | [`signer`] | makes a signature: with a key's file, or by a command |
//! | [`policy`] | whether an answer counts |

pub mod key;
pub mod policy;
pub mod signed_bytes;
pub mod signer;

pub use key::{PublicKey, SecretKey};
pub use policy::Policy;
pub use signer::Signer;
