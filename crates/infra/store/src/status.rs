//! How a store is doing.

use std::sync::Arc;

use crate::key::Revision;

/// A store at a glance.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Status {
    /// The newest revision.
    pub revision: Revision,
    /// The oldest revision whose state can be read and after which can be watched.
    pub compacted: Revision,
    /// How many keys there are; `None` when that is not known cheaply.
    pub entries: Option<u64>,
    /// How many bytes are taken on disk.
    pub disk_bytes: u64,
    /// Why no writes are taken, if so.
    pub read_only: Option<Arc<str>>,
}

/// What a watch says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Notice {
    /// A transaction changed watched keys.
    Changes(crate::Changes),
    /// The answer to a request for progress: everything up to this revision has been delivered.
    Progress(Revision),
}
