//! Reports what a member's objects say.

pub(crate) mod plan;
#[cfg(test)]
mod tests;
