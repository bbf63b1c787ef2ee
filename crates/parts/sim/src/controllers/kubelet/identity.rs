//! What runtimes call images and containers.

use object::{Object, Value};
use serde_json::json;

use crate::controllers::template::hash_of;
use crate::read;

/// What an image is known by whatever its tag.
pub(super) fn image_id(container: &Value) -> String {
    let image = read::text(container, "image");
    let name = image.split(['@', ':']).next().unwrap_or_default();
    format!("{name}@sha256:{}", digest(image))
}

/// A container of a pod, another one after each start.
pub(super) fn container_id(pod: &Object, container: &Value, restarts: i64) -> String {
    let seed = format!("{}/{}/{restarts}", pod.uid(), read::text(container, "name"));
    format!("containerd://{}", digest(&seed))
}

/// Sixty-four digits that are always the same for the same text; nothing depends on what they are.
fn digest(text: &str) -> String {
    let seed = hash_of(&json!(text), 0);
    let mut state: u64 = seed.bytes().fold(17, |sum, byte| {
        sum.wrapping_mul(131).wrapping_add(u64::from(byte))
    });
    let parts = (0..4).map(|_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        format!("{state:016x}")
    });
    parts.collect()
}
