//! How a question leaves the process, which nothing in this crate does by itself.

use std::{fmt, future::Future, pin::Pin, sync::Arc};

use crate::{operation::Operation, webhook::Hook};

/// A question, ready to be sent to its service.
#[derive(Clone, PartialEq)]
pub struct Question {
    /// The service.
    pub hook: Arc<Hook>,
    /// What it is asked.
    pub operation: Operation,
    /// The object that it is asked about: its kind, namespace and name.
    pub about: String,
    /// Made from what is asked: the same question has the same id, so that its answer can be kept.
    pub uid: String,
    /// A ResourceInterpreterContext in JSON, to be posted.
    pub body: Vec<u8>,
}

/// What a service sends back, a ResourceInterpreterContext in JSON; or why nothing came, in the courier's words.
pub type Reply<'a> = Pin<Box<dyn Future<Output = Result<Vec<u8>, String>> + Send + 'a>>;

/// Carries questions to services. Whoever has a network hands one in with [`Layers`](crate::Layers).
///
/// It keeps to [`Hook::timeout`] and trusts [`Hook::authorities`], and need not ask at all who does not answer others; what
/// the answer says is not its business.
pub trait Courier: Send + Sync {
    /// Posts the question and brings what comes back.
    fn carry<'a>(&'a self, question: &'a Question) -> Reply<'a>;
}

impl fmt::Debug for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Question")
            .field("hook", &self.hook.id())
            .field("uid", &self.uid)
            .finish_non_exhaustive()
    }
}

/// An id in the form of a UUID that is the same for the same bytes.
pub(super) fn identify(parts: [&[u8]; 2]) -> String {
    // FNV-1a with 128 bits. Ids tell questions apart in logs; nothing is trusted because of them.
    const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let hash = parts.iter().fold(BASIS, |hash, part| {
        // A length before each part keeps ("a", "bc") and ("ab", "c") apart.
        let length = part.len().to_le_bytes();
        let bytes = length.iter().chain(part.iter());
        bytes.fold(hash, |hash, byte| {
            (hash ^ u128::from(*byte)).wrapping_mul(PRIME)
        })
    });
    let digits = format!("{hash:032x}");
    let (a, rest) = digits.split_at(8);
    let (b, rest) = rest.split_at(4);
    let (c, rest) = rest.split_at(4);
    let (d, e) = rest.split_at(4);
    format!("{a}-{b}-{c}-{d}-{e}")
}
