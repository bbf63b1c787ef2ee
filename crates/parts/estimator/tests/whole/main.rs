//! An estimator between a member and those who ask: objects in, numbers out, over a real port.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod member;

use std::{net::SocketAddr, time::Duration};

use client::DeleteOptions;
use http::uri::PathAndQuery;
use karavel_estimator::{Ledger, Port, Serving, Settings, Tls, serve};
use member::{Member, START};
use object::{ResourceType, time::Time};
use protocol::{
    Message as _, Question,
    message::{Count, MaxReplicasRequest, MaxSetsRequest, ObjectReference, UnschedulableRequest},
};
use serde_json::json;
use tonic::{
    Request,
    client::Grpc,
    transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity},
};
use tonic_prost::ProstCodec;

const PREFIX: &str = "karmada_scheduler_estimator_estimating";
const BY_QUOTAS: &str = "plugin_execution_duration_seconds_count{estimating_plugin=\"ResourceQuotaEstimator\",estimating_plugin_extension_point=\"estimate_replicas\"}";
const SETS_BY_QUOTAS: &str = "plugin_execution_duration_seconds_count{estimating_plugin=\"ResourceQuotaEstimator\",estimating_plugin_extension_point=\"estimate_components\"}";

/// What an estimator says of a count of its own.
fn counted(ledger: &Ledger, count: &str) -> u64 {
    let name = format!("{PREFIX}_{count} ");
    let text = ledger.metrics();
    let line = text.lines().find_map(|line| line.strip_prefix(&name));
    let count = line.and_then(|count| count.parse().ok());
    count.unwrap_or_else(|| panic!("there is no {name}in\n{text}"))
}

/// Three nodes as the reference's example has them: two with room, one cordoned.
async fn member_with_nodes() -> Member {
    let member = Member::new().await;
    member.node("n1", "4", 10, json!({})).await;
    member.node("n2", "8", 5, json!({})).await;
    member
        .node("n3", "64", 110, json!({"unschedulable": true}))
        .await;
    for (name, cpu, node) in [
        ("a", "500m", "n1"),
        ("b", "500m", "n1"),
        ("c", "500m", "n1"),
        ("d", "500m", "n2"),
        ("e", "500m", "n2"),
        ("f", "500m", "n2"),
        ("g", "500m", "n2"),
    ] {
        member.pod(name, cpu, node, json!({})).await;
    }
    member
}

async fn ledger(member: &Member, settings: Settings) -> Ledger {
    let (client, clock) = (member.client.clone(), member.clock.clone());
    let ledger = Ledger::start("m1", settings, client, clock, &member.tasks.spawner());
    ledger.synced().await;
    ledger
}

fn replicas(cpu: &str) -> Question {
    let needs = json!({"resourceRequest": {"cpu": cpu}, "namespace": "shop"});
    let needs: api::work::v1alpha2::ReplicaRequirements = serde_json::from_value(needs).unwrap();
    Question::Replicas(MaxReplicasRequest {
        cluster: "m1".to_owned(),
        requirements: Some(protocol::message::ReplicaRequirements::of(&needs)),
        assumed: Vec::new(),
    })
}

fn sets(components: &[(i32, &str)]) -> Question {
    let component = |(replicas, cpu): &(i32, &str)| {
        let amounts = [("cpu".to_owned(), (*cpu).to_owned())];
        protocol::message::Component::of_amounts(amounts, "", *replicas)
    };
    Question::Sets(MaxSetsRequest {
        cluster: "m1".to_owned(),
        components: components.iter().map(component).collect(),
        namespace: "shop".to_owned(),
        assumed: Vec::new(),
    })
}

/// Waits until an answer is as expected: what a member tells arrives when it arrives.
async fn until(ledger: &Ledger, question: &Question, expected: i32) {
    let mut seen = None;
    for _ in 0..1000 {
        seen = ledger.answer(question).await.ok();
        if seen == Some(expected) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("the answer is {seen:?} and does not become {expected}");
}

#[tokio::test(start_paused = true)]
async fn answers_follow_nodes_and_pods() {
    let member = member_with_nodes().await;
    let ledger = ledger(&member, Settings::default()).await;
    // 2.5 processors and 7 places on the one, 6 and 1 on the other.
    until(&ledger, &replicas("1"), 3).await;
    assert!(
        counted(
            &ledger,
            "plugin_extension_point_duration_seconds_count{estimating_plugin_extension_point=\"estimate_replicas\"}"
        ) > 0
    );
    let of_sets = "plugin_extension_point_duration_seconds_count{estimating_plugin_extension_point=\"estimate_components\"}";
    assert_eq!(counted(&ledger, of_sets), 0);
    until(&ledger, &sets(&[(1, "1"), (1, "500m")]), 2).await;
    assert_eq!(counted(&ledger, of_sets), 1);
    let on_nodes = "plugin_execution_duration_seconds_count{estimating_plugin=\"NodeResourceEstimator\",estimating_plugin_extension_point=\"estimate_components\"}";
    assert_eq!(counted(&ledger, on_nodes), 1);
    assert_eq!(counted(&ledger, BY_QUOTAS), 0, "quotas are not heeded");
    // A pod that waits for a node counts for nothing, one that ends gives its room back.
    member.pod("waiting", "2", "", json!({})).await;
    let ended = json!({"status": {"phase": "Succeeded"}});
    member.patch_status("shop/d", &ended).await;
    until(&ledger, &replicas("1"), 4).await;
    let options = DeleteOptions::default();
    let key = "n2".parse().unwrap();
    let nodes = ResourceType::cluster("", "v1", "Node", "nodes");
    member.client.delete(&nodes, &key, &options).await.unwrap();
    until(&ledger, &replicas("1"), 2).await;
}

#[tokio::test(start_paused = true)]
async fn quotas_limit_where_they_are_heeded() {
    let member = member_with_nodes().await;
    let quotas = ResourceType::namespaced("", "v1", "ResourceQuota", "resourcequotas");
    let quota = json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "shop"},
        "spec": {"hard": {"requests.cpu": "3"}},
        "status": {"hard": {"requests.cpu": "3"}, "used": {"requests.cpu": "1"}},
    });
    member.create(&quotas, quota).await;
    let heeding = Settings {
        heeds_quotas: true,
        ..Settings::default()
    };
    let limited = ledger(&member, heeding).await;
    until(&limited, &replicas("1500m"), 1).await;
    let before = counted(&limited, BY_QUOTAS);
    until(&limited, &sets(&[(1, "1500m")]), 1).await;
    assert!(before > 0, "{}", limited.metrics());
    assert_eq!(counted(&limited, BY_QUOTAS), before);
    assert_eq!(counted(&limited, SETS_BY_QUOTAS), 1);
    until(
        &ledger(&member, Settings::default()).await,
        &replicas("1500m"),
        2,
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn pods_of_the_present_replica_set_that_found_no_node_are_counted() {
    let member = member_with_nodes().await;
    let deployments = ResourceType::namespaced("apps", "v1", "Deployment", "deployments");
    let sets = ResourceType::namespaced("apps", "v1", "ReplicaSet", "replicasets");
    let template = |image: &str, hash: Option<&str>| {
        let mut template = json!({
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "c", "image": image}]},
        });
        if let Some(hash) = hash {
            template["metadata"]["labels"]["pod-template-hash"] = json!(hash);
        }
        template
    };
    let deployment = member
        .create(
            &deployments,
            json!({
                "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"},
                "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template("i:2", None)},
            }),
        )
        .await;
    let mut owners = Vec::new();
    for (name, image) in [("web-old", "i:1"), ("web-new", "i:2")] {
        let set = json!({
            "apiVersion": "apps/v1", "kind": "ReplicaSet",
            "metadata": {
                "name": name, "namespace": "shop",
                "ownerReferences": [{
                    "apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": deployment.uid(),
                    "controller": true,
                }],
            },
            "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template(image, Some(name))},
        });
        owners.push(member.create(&sets, set).await.uid().to_owned());
    }
    let refused = |owner: &str, seconds_ago: i64, reason: &str| {
        json!({
            "metadata": {"ownerReferences": [{
                "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "s", "uid": owner, "controller": true,
            }]},
            "status": {"conditions": [{
                "type": "PodScheduled", "status": "False", "reason": reason,
                "lastTransitionTime": Time::from_unix_seconds(START - seconds_ago).to_string(),
            }]},
        })
    };
    for (name, owner, ago, reason) in [
        ("old", &owners[0], 900, "Unschedulable"),
        ("long", &owners[1], 900, "Unschedulable"),
        ("longer", &owners[1], 301, "Unschedulable"),
        ("short", &owners[1], 200, "Unschedulable"),
        ("gated", &owners[1], 900, "SchedulingGated"),
    ] {
        member.pod(name, "1", "", refused(owner, ago, reason)).await;
    }
    let ledger = ledger(&member, Settings::default()).await;
    let question = |kind: &str, name: &str, seconds: i64| {
        Question::Unschedulable(UnschedulableRequest {
            cluster: "m1".to_owned(),
            resource: Some(ObjectReference {
                api_version: "apps/v1".to_owned(),
                kind: kind.to_owned(),
                namespace: "shop".to_owned(),
                name: name.to_owned(),
            }),
            threshold_nanos: seconds * 1_000_000_000,
        })
    };
    until(&ledger, &question("Deployment", "web", 300), 2).await;
    until(&ledger, &question("Deployment", "web", -1), 3).await;
    let refusal = ledger.answer(&question("StatefulSet", "web", 300)).await;
    assert_eq!(
        refusal.unwrap_err().to_string(),
        "kind(StatefulSet) of workload(shop/web) is not supported"
    );
    ledger
        .answer(&question("Deployment", "gone", 300))
        .await
        .unwrap_err();
    let step = |result: &str, step: &str| {
        counted(
            &ledger,
            &format!(
                "algorithm_duration_seconds_count{{result=\"{result}\",step=\"{step}\",type=\"GetUnschedulableReplicas\"}}"
            ),
        )
    };
    let found = step("success", "GetObjectFromCache");
    assert!(found >= 2, "{}", ledger.metrics());
    assert_eq!(step("success", "GetWorkloadUnschedulablePods"), found);
    assert_eq!(step("error", "GetObjectFromCache"), 1);
    assert_eq!(step("error", "GetWorkloadUnschedulablePods"), 0);
}

/// A port that answers for a member of three nodes.
async fn open(tls: Option<Tls>) -> (Member, SocketAddr) {
    let member = member_with_nodes().await;
    let ledger = ledger(&member, Settings::default()).await;
    let port = Port::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let address = port.address();
    serve(ledger, port, &Serving { tls }, &member.tasks.spawner()).unwrap();
    (member, address)
}

async fn ask(channel: Channel, question: Question) -> Result<i32, tonic::Status> {
    let mut grpc = Grpc::new(channel);
    grpc.ready()
        .await
        .map_err(|error| tonic::Status::unknown(format!("{error:?}")))?;
    let path = PathAndQuery::from_static(question.path());
    let codec = ProstCodec::<MaxReplicasRequest, Count>::default();
    let Question::Replicas(asked) = question else {
        panic!("only replicas are asked for here")
    };
    let answer = grpc.unary(Request::new(asked), path, codec).await?;
    Ok(answer.into_inner().count)
}

#[tokio::test]
async fn schedulers_are_answered_over_a_port() {
    let (_member, address) = open(None).await;
    let channel = Endpoint::from_shared(format!("http://{address}")).unwrap();
    let channel = channel.connect().await.unwrap();
    assert_eq!(ask(channel.clone(), replicas("1")).await.unwrap(), 3);
    let Question::Replicas(mut other) = replicas("1") else {
        panic!("replicas were asked for")
    };
    other.cluster = "m2".to_owned();
    let refusal = ask(channel.clone(), Question::Replicas(other))
        .await
        .unwrap_err();
    assert_eq!(
        refusal.message(),
        "cluster name does not match, got: m2, desire: m1"
    );
    let Question::Replicas(mut broken) = replicas("1") else {
        panic!("replicas were asked for")
    };
    let needs = broken.requirements.as_mut().unwrap();
    needs
        .request_bytes
        .insert("cpu".to_owned(), b"\x0a\x04lots".to_vec());
    let refusal = ask(channel, Question::Replicas(broken)).await.unwrap_err();
    assert_eq!(refusal.code(), tonic::Code::InvalidArgument);
    assert!(
        refusal.message().contains("resourceRequest[cpu]"),
        "{refusal}"
    );
}

/// Questions as the reference's own scheduler sends them, and its answers, byte for byte.
#[tokio::test]
async fn recorded_questions_are_answered_with_the_references_bytes() {
    // A question of a later release: cluster m1, namespace shop, cpu 1 in the newer field only.
    let newer = "0a026d3112121a0473686f702a0a0a0363707512030a0131";
    let bytes = |text: &str| -> Vec<u8> {
        let digit = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
        (0..text.len()).step_by(2).map(digit).collect()
    };
    let (_member, address) = open(None).await;
    let channel = Endpoint::from_shared(format!("http://{address}")).unwrap();
    let channel = channel.connect().await.unwrap();
    let asked = MaxReplicasRequest::decode(&bytes(newer)[..]).unwrap();
    assert_eq!(asked.encode_to_vec(), bytes(newer));
    let count = ask(channel, Question::Replicas(asked)).await.unwrap();
    assert_eq!(Count { count }.encode_to_vec(), [0x08, 0x03]);
}

/// An authority, and a certificate of it for `name`.
fn certificates(name: &str) -> (String, String, String) {
    let mut authority = rcgen::CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority_key = rcgen::KeyPair::generate().unwrap();
    let authority_pem = authority.self_signed(&authority_key).unwrap().pem();
    let issuer = rcgen::Issuer::new(authority, authority_key);
    let key = rcgen::KeyPair::generate().unwrap();
    let params = rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &issuer).unwrap();
    (authority_pem, certificate.pem(), key.serialize_pem())
}

#[tokio::test]
async fn only_those_with_a_certificate_are_answered_where_one_is_wanted() {
    let (authority, certificate, key) = certificates("localhost");
    let (client_authority, client_certificate, client_key) = certificates("scheduler");
    let (_member, address) = open(Some(Tls {
        certificate,
        key,
        client_authority: Some(client_authority),
    }))
    .await;
    let endpoint = |identity: Option<Identity>| {
        let mut tls = ClientTlsConfig::new()
            .ca_certificate(Certificate::from_pem(&authority))
            .domain_name("localhost");
        if let Some(identity) = identity {
            tls = tls.identity(identity);
        }
        let endpoint = Endpoint::from_shared(format!("https://{address}")).unwrap();
        endpoint.tls_config(tls).unwrap().connect_lazy()
    };
    let known = Identity::from_pem(client_certificate, client_key);
    assert_eq!(ask(endpoint(Some(known)), replicas("1")).await.unwrap(), 3);
    ask(endpoint(None), replicas("1")).await.unwrap_err();
    let (_, foreign, foreign_key) = certificates("scheduler");
    let foreign = Identity::from_pem(foreign, foreign_key);
    ask(endpoint(Some(foreign)), replicas("1"))
        .await
        .unwrap_err();
}

#[test]
fn certificates_that_make_no_sense_are_refused() {
    let (authority, certificate, key) = certificates("localhost");
    let check = |certificate: &str, key: &str, client_authority: Option<&str>, expected: &str| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let member = Member::new().await;
            let client = member.client.clone();
            let spawner = member.tasks.spawner();
            let settings = Settings::default();
            let ledger = Ledger::start("m1", settings, client, member.clock.clone(), &spawner);
            let port = Port::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
            let tls = Some(Tls {
                certificate: certificate.to_owned(),
                key: key.to_owned(),
                client_authority: client_authority.map(str::to_owned),
            });
            let problem = serve(ledger, port, &Serving { tls }, &spawner).unwrap_err();
            assert_eq!(problem.to_string(), expected);
        });
    };
    check("", &key, None, "the certificate has no certificate");
    check(&certificate, "", None, "the key cannot be read");
    let (_, _, other_key) = certificates("localhost");
    check(
        &certificate,
        &other_key,
        None,
        "certificate and key cannot be used",
    );
    check(
        &certificate,
        &key,
        Some(""),
        "the authority of callers has no certificate",
    );
    assert!(authority.contains("CERTIFICATE"));
}
