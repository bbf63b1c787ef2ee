//! Names that change with what is in a configmap or a secret, so that whatever refers to one starts anew with another.
//!
//! Upstream: kubectl's very hash, so that either program finds what the other has made.

use std::fmt::Write as _;

use aws_lc_rs::digest::{SHA256, digest};
use object::ResourceType;
use serde_json::{Value, json};

use crate::failure::Failure;

/// So much of the hash is in the name.
const LENGTH: usize = 10;
/// Digits that could make words, and what stands for them.
const HARMLESS: [(char, char); 5] = [('0', 'g'), ('1', 'h'), ('3', 'k'), ('a', 'm'), ('e', 't')];
/// What Go escapes in JSON and nobody else does.
const ESCAPED: [(char, &str); 5] = [
    ('<', "\\u003c"),
    ('>', "\\u003e"),
    ('&', "\\u0026"),
    ('\u{2028}', "\\u2028"),
    ('\u{2029}', "\\u2029"),
];

/// The name with the hash of what was made behind it.
pub(super) fn name(
    name: &str,
    (resource, body): &(ResourceType, Value),
) -> Result<String, Failure> {
    let kind = resource.kind.kind.as_str();
    let data = body.get("data").cloned().unwrap_or_else(|| json!({}));
    // The fields in the order of their names.
    let hashed = match (kind, body.get("binaryData")) {
        ("ConfigMap", Some(binary)) => {
            json!({"binaryData": binary, "data": data, "kind": kind, "name": name})
        }
        ("ConfigMap", None) => json!({"data": data, "kind": kind, "name": name}),
        ("Secret", _) => {
            // Nobody has filled in the usual type yet.
            let secret_type = body["type"].as_str().unwrap_or_default();
            json!({"data": data, "kind": kind, "name": name, "type": secret_type})
        }
        _ => {
            return Err(Failure::refused(
                "--append-hash is for configmaps and secrets",
                "leave it out",
            ));
        }
    };
    let mut text = String::new();
    for letter in hashed.to_string().chars() {
        match ESCAPED.iter().find(|(escaped, _)| *escaped == letter) {
            Some((_, escape)) => text.push_str(escape),
            None => text.push(letter),
        }
    }
    let mut hex = String::new();
    for byte in digest(&SHA256, text.as_bytes()).as_ref() {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
    }
    let harmless = |letter: char| {
        let known = HARMLESS.iter().find(|(digit, _)| *digit == letter);
        known.map_or(letter, |(_, other)| *other)
    };
    let hash: String = hex.chars().take(LENGTH).map(harmless).collect();
    Ok(format!("{name}-{hash}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_kubectl() {
        let kind = |kind: &str| ResourceType::namespaced("", "v1", kind, "");
        for (what, body, expected) in [
            // As `kubectl create ... --append-hash --dry-run=client -o name` of 1.32 says.
            ("ConfigMap", json!({}), "n-tbhhg784dc"),
            ("ConfigMap", json!({"data": {"a": "b"}}), "n-dk78588646"),
            (
                "ConfigMap",
                json!({"data": {"a": "b"}, "binaryData": {"bin": "AAH/"}}),
                "n-7f2c57ttc9",
            ),
            (
                "ConfigMap",
                json!({"binaryData": {"bin": "AAH/"}}),
                "n-gf8fdg94kf",
            ),
            (
                "ConfigMap",
                json!({"data": {"txt": "line <a> & \"q\"\nü\t\n"}}),
                "n-4879d8bk77",
            ),
            ("Secret", json!({}), "n-gfg8gtt5hb"),
            ("Secret", json!({"data": {"a": "Yg=="}}), "n-6kmbh65mmk"),
            (
                "Secret",
                json!({"type": "Opaque", "data": {"a": "Yg=="}}),
                "n-fghfc5fmg5",
            ),
            (
                "Secret",
                json!({"type": "x/y", "data": {"a": "Yg=="}}),
                "n-m9c6ggg89f",
            ),
        ] {
            let found = name("n", &(kind(what), body.clone()));
            assert_eq!(found.unwrap(), expected, "{what} {body}");
        }
        assert!(name("n", &(kind("Service"), json!({}))).is_err());
    }
}
