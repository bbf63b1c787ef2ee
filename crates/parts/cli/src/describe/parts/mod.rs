//! What pages about several kinds have in common.

pub(super) mod amounts;
pub(super) mod conditions;
pub(super) mod containers;
pub(super) mod endpoints;
pub(super) mod environment;
pub(super) mod happened;
pub(super) mod metadata;
pub(super) mod probes;
pub(super) mod selectors;
pub(super) mod template;
pub(super) mod volumes;
