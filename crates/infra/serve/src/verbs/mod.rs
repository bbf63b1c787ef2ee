//! What can be done with resources. One file a verb or two; each turns a [`Call`](crate::call::Call) into an answer.

mod delete;
mod patch;
mod read;
mod scale;
mod write;

pub(crate) use delete::DeleteOptions;
pub(crate) use patch::readable as patch_forms;
pub(crate) use write::encode;
