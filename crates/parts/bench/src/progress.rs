//! Telling whoever waits how far it is.

/// Somebody who wants to know.
pub trait Progress: Sync {
    /// Something else begins.
    fn begin(&self, what: &str);
    /// So much of it is done.
    fn advance(&self, done: usize, of: usize);
    /// It is done; in a few words, what came out.
    fn end(&self, outcome: &str);
}

/// Nobody wants to know.
#[derive(Debug)]
pub struct Silent;

impl Progress for Silent {
    fn begin(&self, _: &str) {}
    fn advance(&self, _: usize, _: usize) {}
    fn end(&self, _: &str) {}
}
