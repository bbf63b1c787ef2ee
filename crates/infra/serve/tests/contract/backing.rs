//! Where the servers of these tests keep their objects: a store in a directory.

use store::{Store, embedded};
use tempfile::TempDir;

pub(crate) struct Backing(TempDir);

impl Backing {
    pub(crate) async fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) async fn open(&self) -> Store {
        let opened = embedded::Embedded::open(self.0.path(), embedded::Options::default());
        Store::Embedded(opened.unwrap())
    }
}
