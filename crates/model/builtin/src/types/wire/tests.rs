use object::Value;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::types::Body;

/// One sample of each kind, as JSON and as the bytes an independent protobuf implementation makes of it from the
/// published message definitions.
const SAMPLES: &str = include_str!("../../../golden/wire.txt");

fn samples() -> impl Iterator<Item = (Value, Vec<u8>)> {
    SAMPLES.lines().map(|line| {
        let (json, hex) = line.split_once('\t').unwrap();
        let bytes = (0..hex.len()).step_by(2);
        let bytes = bytes.map(|place| u8::from_str_radix(&hex[place..place + 2], 16).unwrap());
        (serde_json::from_str(json).unwrap(), bytes.collect())
    })
}

#[test]
fn samples_of_every_kind_are_read_and_written_as_others_do() {
    let mut seen = std::collections::BTreeSet::new();
    for (object, bytes) in samples() {
        let name = format!("{} {}", object["apiVersion"], object["kind"]);
        assert_eq!(wire().decode(&bytes).unwrap(), object, "{name}");
        let written = wire().encode(object.to_string().as_bytes()).unwrap();
        assert_eq!(wire().decode(&written).unwrap(), object, "{name}");
        // Fields may come in another order, which takes the same room.
        assert_eq!(written.len(), bytes.len(), "{name}");
        seen.insert(name);
    }
    for kind in kinds() {
        let name = format!("{:?} {:?}", kind.api_version(), kind.kind);
        assert!(seen.contains(&name), "{name} has a sample");
        let known = wire().find(&kind.api_version(), kind.kind);
        assert!(known.is_some(), "{name}");
        if kind.verbs.contains(&"list") {
            let list = wire().find(&kind.api_version(), &kind.list_kind());
            assert!(list.is_some(), "{name} has lists");
        }
    }
}

#[test]
fn every_field_has_a_number_but_kind_and_version() {
    for (name, def) in catalog().iter() {
        let Body::Fields(fields) = &def.body else {
            continue;
        };
        for field in fields {
            let unnumbered = field.number.is_empty();
            let named_outside = matches!(field.name, "apiVersion" | "kind");
            assert!(!unnumbered || named_outside, "{name}.{}", field.name);
        }
    }
}

#[test]
fn zeros_are_kept_where_they_differ_from_absence() {
    // (what is sent, what is read): as Go's JSON of the decoded object shows it.
    #[track_caller]
    fn check(sent: Value, expected: Value) {
        let bytes = wire().encode(sent.to_string().as_bytes()).unwrap();
        assert_eq!(wire().decode(&bytes).unwrap(), expected, "{sent}");
    }
    let deployment =
        |spec: Value| json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec});
    check(
        deployment(json!({"replicas": 0, "paused": false, "minReadySeconds": 0, "selector": {}})),
        deployment(json!({"replicas": 0, "selector": {}})),
    );
    check(
        deployment(json!({"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "0%"}}})),
        deployment(json!({"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "0%"}}})),
    );
    check(
        json!({"apiVersion": "v1", "kind": "Service", "spec": {"ports": [{"port": 0, "name": "", "targetPort": 0}]}}),
        json!({"apiVersion": "v1", "kind": "Service", "spec": {"ports": [{"port": 0}]}}),
    );
    check(
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"creationTimestamp": null, "name": ""},
               "data": {"a": ""}, "binaryData": {"b": ""}, "immutable": false, "novel": 1}),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}, "data": {"a": ""}, "binaryData": {"b": ""},
               "immutable": false}),
    );
}

#[test]
fn what_go_sends_for_an_empty_time_is_no_time() {
    // metadata {creationTimestamp: an empty message}
    let bytes = b"k8s\0\x0a\x0f\x0a\x02v1\x12\x09Namespace\x12\x04\x0a\x02\x42\x00";
    assert_eq!(
        wire().decode(bytes).unwrap(),
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {}})
    );
}

#[test]
fn bad_bytes_are_refused_with_the_field() {
    #[track_caller]
    fn check(raw: &[u8], expected: &str) {
        let mut bytes = b"k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod\x12".to_vec();
        bytes.push(u8::try_from(raw.len()).unwrap());
        bytes.extend_from_slice(raw);
        assert_eq!(wire().decode(&bytes).unwrap_err().to_string(), expected);
    }
    check(b"\x0a\x05\x0a", "metadata: unexpected end of the message");
    check(
        b"\x0a\x04\x0a\x02\xff\xfe",
        "metadata.name: the text is not valid UTF-8",
    );
    check(
        b"\x0a\x02\x08\x01",
        "metadata.name: the value does not have the field's type",
    );
    check(b"\x07", "the tag of a field is malformed");
    check(
        b"\x0a\x0b\x38\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
        "metadata.generation: a number has more than 64 bits",
    );
    check(b"\xfb\x3e\xfb\x3e", "unexpected end of the message");
    let foreign = wire().decode(b"{}").unwrap_err().to_string();
    assert!(foreign.contains("expected prefix"), "{foreign}");
    let unknown = wire()
        .decode(b"k8s\0\x0a\x07\x0a\x02v9\x12\x01X")
        .unwrap_err();
    assert_eq!(
        unknown.to_string(),
        "there is no protobuf message for kind \"X\" of \"v9\""
    );
}

#[test]
fn nesting_is_bounded() {
    // A schema within a schema, again and again: `not` holds the next.
    let mut raw = Vec::new();
    for _ in 0..100_000 {
        let mut outer = vec![0xe2, 0x01]; // Field 28, delimited by length.
        let mut length = raw.len();
        while length >= 0x80 {
            outer.push(u8::try_from(length & 0x7f).unwrap() | 0x80);
            length >>= 7;
        }
        outer.push(u8::try_from(length).unwrap());
        outer.extend_from_slice(&raw);
        raw = outer;
        if raw.len() > 4_000 {
            break;
        }
    }
    let schema = wire()
        .find("apiextensions.k8s.io/v1", "JSONSchemaProps")
        .unwrap();
    let envelope = schema::wire::Envelope {
        api_version: "",
        kind: "",
        raw: &raw,
        content_type: "",
    };
    let error = wire().decode_message(&envelope.seal(), schema).unwrap_err();
    assert_eq!(error.problem, schema::wire::Problem::Depth);
    assert!(error.path.len() < 600, "{}", error.path.len());
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(raw in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut bytes = b"k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod\x12\xff\x01".to_vec();
        bytes.truncate(bytes.len() - 2);
        bytes.push(u8::try_from(raw.len() & 0x7f).unwrap());
        bytes.extend_from_slice(&raw);
        let _ = wire().decode(&bytes);
        let _ = wire().decode(&raw);
    }

    #[test]
    fn damaged_samples_are_refused_or_read(pick in any::<prop::sample::Index>(), place in any::<prop::sample::Index>(), byte in any::<u8>()) {
        static ALL: LazyLock<Vec<(Value, Vec<u8>)>> = LazyLock::new(|| samples().collect());
        let (_, mut bytes) = ALL[pick.index(ALL.len())].clone();
        let place = place.index(bytes.len());
        bytes[place] = byte;
        if let Ok(object) = wire().decode(&bytes) {
            // What was read can be written again, and means the same.
            if let Ok(written) = wire().encode(object.to_string().as_bytes()) {
                prop_assert_eq!(wire().decode(&written).unwrap(), object);
            }
        }
    }
}
