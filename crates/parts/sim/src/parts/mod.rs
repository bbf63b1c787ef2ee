//! What a member's server answers that is not stored, and what every cluster begins with.

mod binding;
mod foundation;

use std::sync::Arc;

use access::access::Access;
use access::{reviews, token_request};
use serve::handler::Handlers;

pub(crate) use foundation::found;

/// Who answers for parts of objects that are calls.
pub(crate) fn handlers(access: &Arc<Access>) -> Handlers {
    let mut handlers = Handlers::default();
    reviews::insert(&mut handlers, access);
    token_request::insert(&mut handlers, access);
    handlers.insert("", "pods", "binding", Arc::new(binding::Binding));
    handlers
}
