//! Both directions, against bytes that another implementation of protobuf made from the reference's own description.

use api::work::v1alpha2 as work;
use prost::Message;
use serde_json::json;

use crate::message::{
    AssumedWorkload, Component, Count, MaxReplicasRequest, MaxSetsRequest, NodeClaim,
    ObjectReference, ReplicaRequirements, UnschedulableRequest,
};

/// As v1.18 writes it: older and newer fields.
const BOTH: &str = "0a026d3112c5010a770a140a120a100a047a6f6e651202496e1a01611a0162120b0a046469736b1203737364\
    1a1d0a0367707512064578697374731a00220a4e6f5363686564756c65281e22140a120a100a047a6f6e651202496e1a01611a01622a1d\
    0a0367707512064578697374731a00220a4e6f5363686564756c65281e120d0a0363707512060a043235306d120f0a066d656d6f727912\
    050a033147691a0473686f702204686967682a0d0a0363707512060a043235306d2a0f0a066d656d6f727912050a03314769";
/// As later releases write it: only the newer fields.
const NEWER: &str = "0a026d3112700a42120b0a046469736b120373736422140a120a100a047a6f6e651202496e1a01611a01622a1d0a0367\
    707512064578697374731a00220a4e6f5363686564756c65281e1a0473686f702204686967682a0d0a0363707512060a043235306d2a0f\
    0a066d656d6f727912050a03314769";
/// As earlier releases wrote it: only the older fields.
const OLDER: &str = "0a026d3112700a420a140a120a100a047a6f6e651202496e1a01611a0162120b0a046469736b12037373641a1d0a0367\
    707512064578697374731a00220a4e6f5363686564756c65281e120d0a0363707512060a043235306d120f0a066d656d6f727912050a03\
    3147691a0473686f70220468696768";
const SETS: &str = "0a026d3112260a026a6d121e120a0a0363707512030a01311a0468696768220a0a0363707512030a013118021a0473686f\
    70222e0a0473686f7012260a026a6d121e120a0a0363707512030a01311a0468696768220a0a0363707512030a01311802";
const UNSCHEDULABLE: &str =
    "0a026d3112200a07617070732f7631120a4465706c6f796d656e741a0473686f7022037765621880f092cbdd08";

fn bytes(hexadecimal: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(&hexadecimal[at..at + 2], 16).unwrap();
    (0..hexadecimal.len()).step_by(2).map(digit).collect()
}

fn shown(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn needs() -> work::ReplicaRequirements {
    serde_json::from_value(json!({
        "resourceRequest": {"cpu": "250m", "memory": "1Gi"}, "namespace": "shop", "priorityClassName": "high",
        "nodeClaim": {
            "nodeSelector": {"disk": "ssd"},
            "hardNodeAffinity": {"nodeSelectorTerms": [
                {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}]},
            ]},
            "tolerations": [
                {"key": "gpu", "operator": "Exists", "effect": "NoSchedule", "tolerationSeconds": 30},
            ],
        },
    }))
    .unwrap()
}

fn component() -> work::Component {
    serde_json::from_value(json!({
        "name": "jm", "replicas": 2,
        "replicaRequirements": {"resourceRequest": {"cpu": "1"}, "priorityClassName": "high"},
    }))
    .unwrap()
}

#[test]
fn questions_are_written_as_the_reference_writes_them() {
    let replicas = MaxReplicasRequest {
        cluster: "m1".to_owned(),
        requirements: Some(ReplicaRequirements::of(&needs())),
        assumed: Vec::new(),
    };
    assert_eq!(shown(&replicas.encode_to_vec()), BOTH);
    let component = Component::of(&component());
    let sets = MaxSetsRequest {
        cluster: "m1".to_owned(),
        components: vec![component.clone()],
        namespace: "shop".to_owned(),
        assumed: vec![AssumedWorkload {
            namespace: "shop".to_owned(),
            components: vec![component],
        }],
    };
    assert_eq!(shown(&sets.encode_to_vec()), SETS);
    let unschedulable = UnschedulableRequest {
        cluster: "m1".to_owned(),
        resource: Some(ObjectReference {
            api_version: "apps/v1".to_owned(),
            kind: "Deployment".to_owned(),
            namespace: "shop".to_owned(),
            name: "web".to_owned(),
        }),
        threshold_nanos: 300_000_000_000,
    };
    assert_eq!(shown(&unschedulable.encode_to_vec()), UNSCHEDULABLE);
}

#[test]
fn questions_of_every_age_are_understood() {
    for (age, written) in [("both", BOTH), ("newer", NEWER), ("older", OLDER)] {
        let asked = MaxReplicasRequest::decode(&bytes(written)[..]).unwrap();
        assert_eq!(asked.cluster, "m1", "{age}");
        assert_eq!(
            asked.requirements.unwrap().read().unwrap(),
            needs(),
            "{age}"
        );
    }
    let sets = MaxSetsRequest::decode(&bytes(SETS)[..]).unwrap();
    assert_eq!(sets.components[0].read().unwrap(), component());
    assert_eq!(sets.assumed[0].components[0].read().unwrap(), component());
    let unschedulable = UnschedulableRequest::decode(&bytes(UNSCHEDULABLE)[..]).unwrap();
    assert_eq!(unschedulable.resource.unwrap().name, "web");
    assert_eq!(unschedulable.threshold_nanos, 300_000_000_000);
}

#[test]
fn an_answer_is_one_number() {
    for (count, written) in [(7, "0807"), (-1, "08ffffffffffffffffff01"), (0, "")] {
        assert_eq!(shown(&Count { count }.encode_to_vec()), written);
        assert_eq!(Count::decode(&bytes(written)[..]).unwrap().count, count);
    }
}

#[test]
fn what_cannot_be_read_is_named() {
    let check = |edit: fn(&mut ReplicaRequirements), expected: &str| {
        let mut asked = ReplicaRequirements::of(&needs());
        edit(&mut asked);
        assert_eq!(asked.read().unwrap_err().to_string(), expected);
    };
    check(
        |asked| {
            drop(
                asked
                    .request_bytes
                    .insert("cpu".to_owned(), b"\x0a\x04lots".to_vec()),
            )
        },
        "resourceRequest[cpu] cannot be read",
    );
    check(
        |asked| {
            drop(
                asked
                    .request_bytes
                    .insert("cpu".to_owned(), b"\x0a\x09".to_vec()),
            )
        },
        "resourceRequest[cpu] cannot be read",
    );
    let claim = |asked: &mut ReplicaRequirements, edit: fn(&mut NodeClaim)| {
        edit(asked.node_claim.as_mut().unwrap());
    };
    check(
        |asked| asked.node_claim.as_mut().unwrap().affinity_bytes = vec![0x0a],
        "nodeClaim.nodeAffinity cannot be read",
    );
    let mut asked = ReplicaRequirements::of(&needs());
    claim(&mut asked, |claim| claim.tolerations_bytes.push(vec![0xff]));
    let problem = asked.read().unwrap_err().to_string();
    assert_eq!(problem, "nodeClaim.tolerations[1] cannot be read");
}
