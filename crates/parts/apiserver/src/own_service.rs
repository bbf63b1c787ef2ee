//! The service `default/kubernetes`: how whatever runs in a cluster finds the API, and what many tools look for first.
//!
//! Reads:  the service of that name, its Endpoints and its EndpointSlice, the ServiceCIDR its address is from.
//! Writes: all four.
//! Keeps:  they are there, and tell where this server listens. Of several on one store, the one that does the chores
//!         tells of itself.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;

use access::following::{Follower, write};
use futures_util::future::select_all;
use http::Method;
use object::Value;
use serde_json::json;
use serve::cache;
use serve::server::Server;

const NAMESPACE: &str = "default";
const NAME: &str = "kubernetes";
/// The first address of the range that clusters give to their services, in each family.
const SERVICE_V4: Ipv4Addr = Ipv4Addr::new(10, 96, 0, 1);
const SERVICE_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0x10, 0x96, 0, 0, 0, 0, 1);
/// Those ranges.
const RANGE_V4: &str = "10.96.0.0/12";
const RANGE_V6: &str = "fd00:10:96::/112";

/// One of the objects: where its kind is, what it should be, and the fields that are put right if they differ.
struct Kept {
    group: &'static str,
    plural: &'static str,
    /// Empty for what is in no namespace.
    namespace: &'static str,
    wanted: Value,
    fields: &'static [&'static str],
}

/// Keeps the objects, until it is dropped.
pub(crate) async fn follow(server: Arc<Server>, advertised: Option<IpAddr>, port: u16) {
    let mut all = objects(advertised, port).map(|kept| {
        let follower = Follower::new(&server, kept.group, kept.plural);
        (kept, follower)
    });
    loop {
        for (kept, follower) in &mut all {
            // Which of them changed does not matter: there is one to look at.
            follower.changed_keys();
            let key = cache::object_key(kept.namespace, NAME);
            let existing = follower.collection.find(&key);
            let existing = existing.map(|record| record.value());
            if let Some(wanted) = put_right(existing.as_ref(), kept) {
                let (method, path) = kept.place(existing.is_some());
                write(&server, method, &path, &wanted).await;
            }
        }
        let changes = all
            .iter_mut()
            .map(|(_, follower)| Box::pin(follower.changed()));
        select_all(changes).await;
    }
}

/// The address others are told: that of the listener, or, if it takes calls on all interfaces or only from this machine,
/// the one this machine has on the way to others. `None` if it has none. Upstream: the same choice.
pub(crate) fn advertised(listening: SocketAddr) -> Option<IpAddr> {
    let address = listening.ip();
    if !address.is_unspecified() && !address.is_loopback() {
        return Some(address);
    }
    // Addresses nobody has, kept for documents: naming one finds the way there, and nothing is sent.
    let (from, to): (IpAddr, IpAddr) = if address.is_ipv4() {
        (
            Ipv4Addr::UNSPECIFIED.into(),
            Ipv4Addr::new(192, 0, 2, 1).into(),
        )
    } else {
        let to = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
        (Ipv6Addr::UNSPECIFIED.into(), to.into())
    };
    let socket = UdpSocket::bind((from, 0)).ok()?;
    socket.connect((to, 9)).ok()?;
    let found = socket.local_addr().ok()?.ip();
    (!found.is_unspecified() && !found.is_loopback()).then_some(found)
}

impl Kept {
    /// How the object is written.
    fn place(&self, exists: bool) -> (Method, String) {
        let Self {
            group,
            plural,
            namespace,
            ..
        } = self;
        let api = match *group {
            "" => "/api/v1".to_owned(),
            group => format!("/apis/{group}/v1"),
        };
        let collection = match *namespace {
            "" => format!("{api}/{plural}"),
            namespace => format!("{api}/namespaces/{namespace}/{plural}"),
        };
        if exists {
            (Method::PUT, format!("{collection}/{NAME}"))
        } else {
            (Method::POST, collection)
        }
    }
}

/// The object as it should be; `None` if it is so, or is going.
fn put_right(existing: Option<&Value>, kept: &Kept) -> Option<Value> {
    let Some(existing) = existing else {
        return Some(kept.wanted.clone());
    };
    if existing["metadata"].get("deletionTimestamp").is_some() {
        return None;
    }
    let differing = || {
        let fields = kept.fields.iter();
        fields.filter(|field| existing[**field] != kept.wanted[**field])
    };
    differing().next()?;
    let mut wanted = existing.clone();
    for field in differing() {
        wanted[*field] = kept.wanted[*field].clone();
    }
    Some(wanted)
}

fn objects(advertised: Option<IpAddr>, port: u16) -> [Kept; 4] {
    let metadata = |labels: Value| json!({"name": NAME, "namespace": NAMESPACE, "labels": labels});
    let is_v6 = advertised.is_some_and(|address| address.is_ipv6());
    let family = if is_v6 { "IPv6" } else { "IPv4" };
    let (service_ip, range) = if is_v6 {
        (SERVICE_V6.to_string(), RANGE_V6)
    } else {
        (SERVICE_V4.to_string(), RANGE_V4)
    };
    let own = json!([{"name": "https", "port": port, "protocol": "TCP"}]);
    let subsets = advertised.map_or_else(
        || Value::Null,
        |address| json!([{"addresses": [{"ip": address.to_string()}], "ports": own}]),
    );
    let ends = advertised.map_or_else(
        || json!([]),
        |address| json!([{"addresses": [address.to_string()], "conditions": {"ready": true}}]),
    );
    let mut endpoints = json!({
        "apiVersion": "v1", "kind": "Endpoints",
        // Upstream: so that nobody mirrors them into a second slice.
        "metadata": metadata(json!({"endpointslice.kubernetes.io/skip-mirror": "true"})),
    });
    if !subsets.is_null() {
        endpoints["subsets"] = subsets;
    }
    let slice = json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": metadata(json!({"kubernetes.io/service-name": NAME})),
        "addressType": family, "endpoints": ends, "ports": own,
    });
    let service = json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": metadata(json!({"component": "apiserver", "provider": "kubernetes"})),
        "spec": {
            "type": "ClusterIP", "clusterIP": service_ip, "clusterIPs": [service_ip],
            "ipFamilies": [family], "ipFamilyPolicy": "SingleStack", "sessionAffinity": "None",
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": port}],
        },
    });
    let addresses = json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR",
        "metadata": {"name": NAME}, "spec": {"cidrs": [range]},
    });
    [
        Kept {
            group: "networking.k8s.io",
            plural: "servicecidrs",
            namespace: "",
            wanted: addresses,
            fields: &[],
        },
        Kept {
            group: "",
            plural: "services",
            namespace: NAMESPACE,
            wanted: service,
            fields: &[],
        },
        Kept {
            group: "",
            plural: "endpoints",
            namespace: NAMESPACE,
            wanted: endpoints,
            fields: &["subsets"],
        },
        Kept {
            group: "discovery.k8s.io",
            plural: "endpointslices",
            namespace: NAMESPACE,
            wanted: slice,
            fields: &["endpoints", "ports"],
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_service_is_made_once_and_its_addresses_follow_the_server() {
        let here = Some(IpAddr::from([10, 1, 2, 3]));
        let [range, service, endpoints, slice] = objects(here, 5443);
        for kept in [&range, &service, &endpoints, &slice] {
            assert_eq!(put_right(None, kept).as_ref(), Some(&kept.wanted));
            assert_eq!(put_right(Some(&kept.wanted), kept), None);
            let mut going = kept.wanted.clone();
            going["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
            going["subsets"] = Value::Null;
            assert_eq!(put_right(Some(&going), kept), None);
        }
        let [_, _, moved, moved_slice] = objects(Some(IpAddr::from([10, 9, 9, 9])), 6443);
        let mut labelled = endpoints.wanted.clone();
        labelled["metadata"]["labels"]["mine"] = json!("yes");
        let now = put_right(Some(&labelled), &moved).unwrap();
        assert_eq!(now["subsets"], moved.wanted["subsets"]);
        assert_eq!(now["metadata"]["labels"]["mine"], "yes");
        let now = put_right(Some(&slice.wanted), &moved_slice).unwrap();
        assert_eq!(now["endpoints"][0]["addresses"], json!(["10.9.9.9"]));
        assert_eq!(now["ports"][0]["port"], 6443);
    }

    #[test]
    fn a_server_others_can_reach_tells_its_own_address() {
        for (listening, expected) in [
            ("10.1.2.3:6443", "10.1.2.3"),
            ("[2001:db8::7]:6443", "2001:db8::7"),
        ] {
            let told = advertised(listening.parse().unwrap());
            assert_eq!(told, Some(expected.parse().unwrap()));
        }
        for listening in ["127.0.0.1:6443", "0.0.0.0:6443", "[::1]:6443"] {
            let told = advertised(listening.parse().unwrap());
            assert!(told.is_none_or(|address| !address.is_loopback() && !address.is_unspecified()));
        }
    }
}
