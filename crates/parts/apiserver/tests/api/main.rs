//! What the whole server makes of requests that are not as they should be, and of webhooks it depends on.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod asking;
mod conversion;
mod definitions;
#[path = "../admission/hook.rs"]
#[expect(dead_code, reason = "other tests need more of it")]
mod hook;
mod lists;
mod random;
mod refusals;
mod registrations;
#[path = "../protection/served.rs"]
#[expect(dead_code, reason = "other tests need more of it")]
mod served;
mod strangers;
mod templates;
#[path = "../access/world.rs"]
#[expect(dead_code, reason = "other tests need more of it")]
mod world;
