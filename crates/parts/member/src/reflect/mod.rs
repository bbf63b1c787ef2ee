//! Reports what a member's objects say.

pub(crate) mod plan;
pub(crate) mod reading;
#[cfg(test)]
mod tests;
