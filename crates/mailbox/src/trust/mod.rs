//! Decides which answers an operator trusts, and signs answers.
//!
//! Every program that may write to the mailbox can put an answer there, even an agent of the same user. A signature shows that a
//! holder of a key gave exactly this answer to exactly this question. It is made when the answer is given. It is verified when an
//! answer is claimed, at each launch, and before a tool call is allowed.
//!
//! | file | idea |
//! |---|---|
//! | [`key`] | the text forms of keys and signatures, and the file of a secret key |
//! | [`sshsig`] | the keys and signatures of OpenSSH |
//! | [`signed_bytes`] | the bytes that are signed |
//! | [`signer`] | makes a signature: with a key's file, or by a command |
//! | [`withdrawn`] | recognizes a signed answer that its person took back |
//! | [`matter`] | the subject of a question, for the rules about who may decide |
//! | [`policy`] | decides whether an answer counts |

pub mod key;
pub mod matter;
pub mod policy;
pub mod signed_bytes;
pub mod signer;
pub mod sshsig;
pub mod withdrawn;

pub use key::{PublicKey, SecretKey};
pub use policy::Policy;
pub use signer::Signer;
