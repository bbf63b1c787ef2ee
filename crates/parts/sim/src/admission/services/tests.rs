use object::time::Time;
use serde_json::json;

use super::*;

fn asked(service: &Value) -> String {
    let shown = asked_by(service)
        .into_iter()
        .map(|asked| match asked.claim() {
            Some(Claim::Address(address)) => address.to_string(),
            Some(Claim::Port(port)) => port.to_string(),
            None => asked.is_outside().to_string(),
        });
    shown.collect::<Vec<_>>().join(" ")
}

#[test]
fn a_service_asks_for_its_address_and_its_ports() {
    for (spec, wanted) in [
        (json!({}), ""),
        (json!({"clusterIP": "None", "clusterIPs": ["None"]}), ""),
        (json!({"clusterIP": "10.96.0.10"}), "10.96.0.10"),
        (json!({"clusterIP": "10.111.255.254"}), "10.111.255.254"),
        (
            json!({"type": "ExternalName", "clusterIP": "10.96.0.10"}),
            "",
        ),
        (
            json!({"clusterIP": "10.112.0.1"}),
            "spec.clusterIPs: Invalid value: [\"10.112.0.1\"]: failed to allocate IP 10.112.0.1: the provided IP (10.112.0.1) \
             is not in the valid range. The range of valid IPs is 10.96.0.0/12",
        ),
        (
            json!({"type": "NodePort", "ports": [{"nodePort": 0}, {"nodePort": 30080}, {"nodePort": 80}]}),
            "30080 spec.ports[2].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid \
             ports is 30000-32767",
        ),
        (json!({"healthCheckNodePort": 32767}), "32767"),
    ] {
        assert_eq!(asked(&json!({"spec": spec})), wanted, "{spec}");
    }
}

#[test]
fn what_is_promised_is_nobody_elses() {
    let mut ledger = Ledger::default();
    let until = Time::from_unix_seconds(60);
    let address = Claim::Address(ledger.free_address().unwrap());
    let port = ledger.free_port("shop/web", 80).unwrap();
    for claim in [address, Claim::Port(port)] {
        assert!(ledger.is_free(claim, "shop/web"));
        ledger.promise(claim, "shop/web", until);
        assert!(ledger.is_free(claim, "shop/web"), "{claim:?}");
        assert!(!ledger.is_free(claim, "shop/other"), "{claim:?}");
    }
    assert_ne!(ledger.free_address().map(Claim::Address), Some(address));
    assert_eq!(ledger.free_port("shop/web", 80), Some(port + 1));
}

#[test]
fn every_port_is_given_out_before_none_is_left() {
    let mut ledger = Ledger::default();
    let mut given = std::collections::BTreeSet::new();
    while let Some(port) = ledger.free_port("shop/web", 80) {
        assert!(given.insert(port));
        ledger.promise(Claim::Port(port), "shop/web", Time::MIN);
    }
    let range = (given.first().copied(), given.last().copied(), given.len());
    assert_eq!(range, (Some(30_000), Some(32_767), 2_768));
}
