//! Brings works to a member.

pub(crate) mod breaker;
pub(crate) mod contest;
pub(crate) mod namespace;
pub(crate) mod outcome;
mod ownership;
pub(crate) mod plan;
pub(crate) mod record;
pub(crate) mod release;
#[cfg(test)]
mod tests;
pub(crate) mod undeclared;

pub use crate::apply::ownership::MANAGER;
