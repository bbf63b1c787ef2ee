//! The object inside a work, as the member gets it; the same that admission of works makes of it.

pub use api::manifest::{JobLifetime, finish, prune};
