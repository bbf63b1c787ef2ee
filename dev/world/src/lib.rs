//! The whole product in one process: a control plane, simulated members, and a clock that tests hold.
//!
//! A [`World`] is put together by the same code as the binary, on a store in memory. Nothing in it opens a socket: calls
//! between the parts, to members and from tests are made inside the process, so that under tokio's paused time a test
//! runs as fast as the machine can and waits for nothing.
//!
//! # How to write a test
//!
//! ```
//! use std::time::Duration;
//! use object::Value;
//! use world::{World, json};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap().block_on(async {
//! // In a test: #[tokio::test(start_paused = true)] async fn …
//! let world = World::with_members(2).await; // m1 and m2 have joined and are ready
//! world.apply("
//!     apiVersion: v1
//!     kind: ConfigMap
//!     metadata: {name: greeting, namespace: default}
//!     data: {hello: world}
//!     ---
//!     apiVersion: policy.karmada.io/v1alpha1
//!     kind: PropagationPolicy
//!     metadata: {name: all, namespace: default}
//!     spec:
//!       resourceSelectors: [{apiVersion: v1, kind: ConfigMap}]
//!       placement: {clusterAffinity: {clusterNames: [m1]}}
//! ").await;
//! // Wait for a state, with a deadline in virtual time; what was found last is in the failure.
//! world.until_is("the greeting is in m1", Duration::from_secs(5), json!("world"), async || {
//!     world.member("m1").field("configmaps", "default/greeting", "data.hello").await
//! }).await;
//! assert!(world.member("m2").get("configmaps", "default/greeting").await.is_none());
//! // Trouble, time, and a control plane that starts anew on the same store.
//! world.member("m1").faults().cut_off(true);
//! world.advance(Duration::from_secs(60)).await;
//! world.restart().await;
//! # });
//! ```
//!
//! - Kinds are named as with `kubectl`: plural, singular, kind or short name, with the group after a dot where it is needed.
//! - Objects are named `namespace/name`, or by their name alone where there are no namespaces.
//! - [`World::until`] takes any condition; [`World::advance`] only lets time pass, for claims that nothing happens.
//! - Text is dedented before it is read, so that manifests can stand in a test as they look best.
//! - [`World::shown`] writes an object for a snapshot: times as `<t0+5m>`, uids as `<uid-1>`.
//! - [`Api::forbid`] lets a server refuse something, as its operators may.
//! - [`World::stand`] starts one of several control planes on the same store.
//! - Settings of the parts are in [`Builder::settings`]; members of another shape in [`Builder::member`].
//! - `KARAVEL_LOG=debug cargo nextest run -p karavel-world --no-capture NAME` shows the log.
//!
//! Entry points: [`World::with_members`], [`World::build`].
//!
//! Invariants: time stands still while anything can be done; no sockets, no threads of our own.
//!
//! Non-goals: the network itself (`client`, `listen` and the binary's own tests use real ones); speed figures.

mod api;
mod builder;
mod candidate;
mod door;
mod forbidden;
mod member;
mod report;
mod shown;
mod wire;
mod world;

pub use crate::api::Api;
pub use crate::builder::{Builder, Roster, config, sized};
pub use crate::candidate::Candidate;
pub use crate::member::SimulatedMember;
pub use crate::wire::Wires;
pub use crate::world::World;
/// How values are written in tests.
pub use serde_json::json;
