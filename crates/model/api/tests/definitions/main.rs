//! The CustomResourceDefinitions: as recorded, as the reference has them, and documented throughout.

#![expect(
    clippy::disallowed_methods,
    reason = "tests read recorded documents and the environment"
)]

mod documentation;
mod goldens;
mod reference;
mod structure;
