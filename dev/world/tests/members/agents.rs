//! Agents of clusters that report by themselves: how they get in, and what they may do. What the control plane does for
//! them is its own; the agent is played by the test.

use cli::{NewToken, create_token, tokens};
use client::{CallError, WriteOptions};
use intent::Part;
use object::{Value, base64};
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use world::{Api, World, json};
use x509_parser::pem::parse_x509_pem;

use crate::{SOON, config_map, everywhere, seconds};

const AGENTS: &str = "system:karmada:agents";
const NEWCOMERS: &str = "system:bootstrappers:karmada:default-cluster-token";
const REQUESTS: &str = "certificatesigningrequests";
const USUAL: [&str; 3] = ["digital signature", "key encipherment", "client auth"];

fn agent_name(cluster: &str) -> String {
    format!("system:karmada:agent:{cluster}")
}

async fn agent(world: &World, cluster: &str) -> Api {
    world.as_user(&agent_name(cluster), &[AGENTS]).await
}

/// Somebody with a bootstrap token.
async fn newcomer(world: &World) -> Api {
    let groups = ["system:bootstrappers", NEWCOMERS];
    world.as_user("system:bootstrap:abcdef", &groups).await
}

/// What a certificate is asked for.
struct Wish<'a> {
    name: &'a str,
    organisations: &'a [&'a str],
    hosts: &'a [&'a str],
    usages: &'a [&'a str],
}

impl<'a> Wish<'a> {
    fn of(name: &'a str) -> Self {
        Self {
            name,
            organisations: &[AGENTS],
            hosts: &[],
            usages: &USUAL,
        }
    }

    /// Asks, with a new key each time.
    async fn ask(&self, who: &Api, request: &str) {
        let hosts: Vec<String> = self.hosts.iter().map(ToString::to_string).collect();
        let mut params = CertificateParams::new(hosts).expect("the hosts are names");
        params.distinguished_name = DistinguishedName::new();
        let subject = &mut params.distinguished_name;
        subject.push(DnType::CommonName, self.name);
        for (place, organisation) in self.organisations.iter().enumerate() {
            // The same field a second time, which the library does not write by its name.
            let kind = match place {
                0 => DnType::OrganizationName,
                _ => DnType::CustomDnType(vec![2, 5, 4, 10]),
            };
            subject.push(kind, *organisation);
        }
        let key = KeyPair::generate().expect("a key can be made");
        let pem = params.serialize_request(&key).and_then(|made| made.pem());
        let pem = pem.expect("a request can be written");
        let object = json!({
            "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
            "metadata": {"name": request},
            "spec": {
                "request": base64::encode(pem.as_bytes()), "usages": self.usages,
                "signerName": "kubernetes.io/kube-apiserver-client",
            },
        });
        let asked = who.try_create(&object.to_string()).await;
        asked.unwrap_or_else(|error| panic!("{request}: {error}"));
    }
}

/// Subject and key of the certificate that came of a request.
async fn issued(world: &World, request: &str) -> (String, Vec<u8>) {
    world
        .until("it is issued", SOON, async || {
            let certificate = world.field(REQUESTS, request, "status.certificate").await;
            certificate.is_string()
        })
        .await;
    let text = world.field(REQUESTS, request, "status.certificate").await;
    let bytes = base64::decode(text.as_str().unwrap_or_default()).expect("it is base64");
    let (_, pem) = parse_x509_pem(&bytes).expect("it is PEM");
    let certificate = pem.parse_x509().expect("it is a certificate");
    let key = certificate.public_key().raw.to_vec();
    (certificate.subject().to_string(), key)
}

/// Lets a newcomer register a cluster, as far as its Cluster is there.
async fn register(world: &World, cluster: &str) -> Api {
    let wish = agent_name(cluster);
    Wish::of(&wish).ask(&newcomer(world).await, cluster).await;
    let approved = async || json!(world.condition(REQUESTS, cluster, "Approved").await);
    world
        .until_is("it is approved", SOON, json!("True AutoApproved"), approved)
        .await;
    issued(world, cluster).await;
    let agent = agent(world, cluster).await;
    let made = agent
        .try_create(&format!(
            "{{apiVersion: cluster.karmada.io/v1alpha1, kind: Cluster, metadata: {{name: {cluster}}}, spec: {{syncMode: Pull, apiEndpoint: 'https://{cluster}.example', id: id-of-{cluster}}}}}"
        ))
        .await;
    made.unwrap_or_else(|error| panic!("{cluster}: {error}"));
    agent
}

/// Replaces a cluster, or its status, after a change.
async fn write(
    who: &Api,
    read: &Api,
    cluster: &str,
    part: Part,
    more: Value,
) -> Result<(), CallError> {
    let object = read.get("clusters", cluster).await.expect("it is there");
    let mut changed = object.into_value();
    for (field, value) in more.as_object().into_iter().flatten() {
        changed[field] = value.clone();
    }
    let object = object::Object::from_value(changed).expect("it is an object");
    let resource = read.resource("clusters", None).await;
    let options = WriteOptions::by("agent");
    let written = who
        .client()
        .replace(&resource, &object, &part, &options)
        .await;
    written.map(drop)
}

fn well(world: &World) -> Value {
    json!({"status": {
        "conditions": [{"type": "Ready", "status": "True", "reason": "ClusterReady", "message": "",
                        "lastTransitionTime": world.now().to_string()}],
        "apiEnablements": [{"groupVersion": "v1", "resources": [{"name": "configmaps", "kind": "ConfigMap"}]}],
    }})
}

#[tokio::test(start_paused = true)]
async fn c18_a_token_lasts_for_ever_if_nobody_says_how_long() {
    let world = World::with_members(0).await;
    let new = |seconds| NewToken {
        seconds,
        usages: vec!["signing".to_owned(), "authentication".to_owned()],
        groups: vec![NEWCOMERS.to_owned()],
        description: "for the far side".to_owned(),
    };
    let make = async |seconds| {
        let made = create_token(world.client(), &new(seconds), world.now()).await;
        let token = made.unwrap_or_else(|failure| panic!("{failure}"));
        let id = token.split('.').next().unwrap_or_default().to_owned();
        (token, format!("kube-system/bootstrap-token-{id}"))
    };
    let (token, secret) = make(0).await;
    let (_, passing) = make(3600).await;
    let data = world.field("secrets", &secret, "data").await;
    assert!(data["token-secret"].is_string() && data["expiration"].is_null());
    assert!(
        world
            .field("secrets", &passing, "data.expiration")
            .await
            .is_string()
    );
    world
        .until("the other one ends", seconds(2 * 3600), async || {
            world.get("secrets", &passing).await.is_none()
        })
        .await;
    let listed = tokens(world.client(), world.now()).await;
    let listed = listed.unwrap_or_else(|failure| panic!("{failure}")).text;
    let row = listed.lines().find(|line| line.contains(&token));
    let row: Vec<&str> = row.unwrap_or_default().split_whitespace().collect();
    assert_eq!(
        &row[1..4],
        ["<forever>", "<never>", "signing,authentication"],
        "{listed}"
    );
}

#[tokio::test(start_paused = true)]
async fn c19_an_agent_registers_its_cluster_and_finds_its_works() {
    let world = World::with_members(0).await;
    // The name by which the reference has roles written opens nothing here: they are written with the approval.
    let generator = agent_name("rbac-generator");
    Wish::of(&generator)
        .ask(&newcomer(&world).await, "generator")
        .await;
    let agent = register(&world, "far").await;
    assert_eq!(world.condition(REQUESTS, "generator", "Approved").await, "");
    assert_eq!(
        world.field("clusters", "far", "spec.syncMode").await,
        json!("Pull")
    );
    insta::assert_snapshot!(rules(&world, "far").await, @"
    system:karmada:far:agent: get,delete clusters [far]
    system:karmada:far:agent: create,list,watch clusters []
    system:karmada:far:agent: update clusters/status [far]
    system:karmada:far:agent: get,list,watch resourceinterpreterwebhookconfigurations,resourceinterpretercustomizations []
    system:karmada:far:agent: get namespaces []
    system:karmada:far:agent: get,create certificatesigningrequests []
    system:karmada:far:agent: list,watch services []
    system:karmada:far:agent: create,patch,update events []
    karmada-cluster/system:karmada:far:agent-secret: get,patch secrets [far,far-impersonator]
    karmada-cluster/system:karmada:far:agent-secret: create secrets []
    karmada-cluster/system:karmada:far:agent-secret: get,update leases [far]
    karmada-cluster/system:karmada:far:agent-secret: create leases []
    karmada-es-far/system:karmada:far:agent-work: get,create,list,watch,update,delete works []
    karmada-es-far/system:karmada:far:agent-work: patch,update works/status []
    karmada-system/system:karmada:far:agent-election: get,update leases [karmada-agent-far]
    karmada-system/system:karmada:far:agent-election: create leases []
    ");
    let written = write(&agent, &agent, "far", Part::Status, well(&world)).await;
    written.unwrap_or_else(|error| panic!("{error}"));
    world.apply(&everywhere("v1", "ConfigMap")).await;
    world.apply(&config_map("a", "'1'")).await;
    world
        .until("its work is there", SOON, async || {
            let works = agent.names("works", "karmada-es-far").await;
            works.iter().any(|name| name.contains("/a-"))
        })
        .await;
}

/// What the roles of an agent give, a line for each rule.
async fn rules(world: &World, cluster: &str) -> String {
    let mut roles = world.list("clusterroles", "").await;
    roles.extend(world.list("roles", "").await);
    let prefix = format!("system:karmada:{cluster}:agent");
    let mut lines = Vec::new();
    for role in roles.iter().filter(|role| role.name().starts_with(&prefix)) {
        let rules = role.at(&["rules"]).and_then(Value::as_array).cloned();
        for rule in rules.unwrap_or_default() {
            let words = |field: &str| {
                let words = rule[field].as_array().into_iter().flatten();
                let words: Vec<&str> = words.filter_map(Value::as_str).collect();
                words.join(",")
            };
            let (what, names) = (words("resources"), words("resourceNames"));
            let line = format!("{}: {} {what} [{names}]", role.key(), words("verbs"));
            lines.push(line);
        }
    }
    lines.join("\n")
}

#[tokio::test(start_paused = true)]
async fn c20_an_agent_reaches_its_own_cluster_and_no_other() {
    let world = World::with_members(0).await;
    let a = register(&world, "a").await;
    register(&world, "b").await;
    let is_forbidden = |done: Result<(), CallError>| {
        let error = done.expect_err("it is forbidden");
        assert!(error.to_string().contains("forbidden"), "{error}");
    };
    let secrets = world.resource("secrets", None).await;
    let works = world.resource("works", None).await;
    let key = object::ObjectKey::namespaced("karmada-cluster", "b");
    is_forbidden(a.client().get(&secrets, &key).await.map(drop));
    let all = client::ListOptions::default();
    let listed = a.client().list_all(&works, "karmada-es-b", &all).await;
    is_forbidden(listed.map(drop));
    let elsewhere = json!({"spec": {"syncMode": "Pull", "apiEndpoint": "https://evil.example"}});
    is_forbidden(write(&a, &world, "a", Part::Object, elsewhere).await);
    is_forbidden(write(&a, &world, "b", Part::Status, well(&world)).await);
    assert_eq!(a.names("clusters", "").await, ["a", "b"]);
    let written = write(&a, &world, "a", Part::Status, well(&world)).await;
    written.unwrap_or_else(|error| panic!("{error}"));
}

#[tokio::test(start_paused = true)]
async fn c21_what_is_more_than_an_agents_own_waits_for_somebody_to_look() {
    let world = World::with_members(0).await;
    let a = register(&world, "a").await;
    register(&world, "b").await;
    let newcomer = newcomer(&world).await;
    let (plain, anothers) = (agent_name("c"), agent_name("b"));
    let cases = [
        (
            "named",
            &newcomer,
            Wish {
                hosts: &["c.example"],
                ..Wish::of(&plain)
            },
        ),
        (
            "of-two",
            &newcomer,
            Wish {
                organisations: &[AGENTS, "devs"],
                ..Wish::of(&plain)
            },
        ),
        (
            "serving",
            &newcomer,
            Wish {
                usages: &["digital signature", "server auth"],
                ..Wish::of(&plain)
            },
        ),
        ("anothers", &a, Wish::of(&anothers)),
        ("taken", &newcomer, Wish::of(&anothers)),
    ];
    for (request, who, wish) in &cases {
        wish.ask(who, request).await;
    }
    // One that is sound comes after them and is served.
    Wish::of(&plain).ask(&newcomer, "sound").await;
    issued(&world, "sound").await;
    world.advance(seconds(60)).await;
    for (request, ..) in &cases {
        let status = world.field(REQUESTS, request, "status").await;
        let is_pending = status["conditions"].as_array().is_none_or(Vec::is_empty);
        assert!(
            is_pending && status["certificate"].is_null(),
            "{request}: {status}"
        );
    }
}

/// Whenever its certificate comes to an end an agent gets the next for itself, by itself.
#[tokio::test(start_paused = true)]
async fn c22_an_agent_gets_a_new_certificate_for_a_new_key() {
    let world = World::with_members(0).await;
    register(&world, "far").await;
    world.restart().await;
    let name = agent_name("far");
    Wish::of(&name)
        .ask(&agent(&world, "far").await, "renewal")
        .await;
    let (first, second) = (issued(&world, "far").await, issued(&world, "renewal").await);
    assert_eq!(first.0, second.0, "the subject is the same");
    assert_ne!(first.1, second.1, "the key is another");
    let why = world
        .field(
            REQUESTS,
            "renewal",
            "status.conditions.type=Approved.message",
        )
        .await;
    let expected = "Auto approving self karmada agent certificate after SubjectAccessReview.";
    assert_eq!(why, json!(expected));
}
