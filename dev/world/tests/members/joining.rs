//! Joining: what it makes on both sides, and what it refuses.

use std::pin::Pin;
use std::task::{Context, Poll};

use client::{AnswerBody, BoxError, Client};
use http::{Method, Request, Response, StatusCode};
use member::join::{JoinError, JoinOptions, join};
use tower_service::Service;
use world::{SimulatedMember, World, config, json};

#[tokio::test(start_paused = true)]
async fn c01_joining_makes_two_accounts_there_and_two_secrets_here() {
    let world = World::with_members(1).await;
    let m1 = world.member("m1");
    for account in ["karmada-m1", "karmada-impersonator"] {
        let key = format!("karmada-cluster/{account}");
        let found = m1.get("serviceaccounts", &key).await;
        let found = found.unwrap_or_else(|| panic!("no account {key}"));
        assert_eq!(found.label("karmada.io/system"), Some("true"), "{account}");
        let kind = m1.field("secrets", &key, "type").await;
        assert_eq!(
            kind,
            json!("kubernetes.io/service-account-token"),
            "{account}"
        );
    }
    for kind in ["clusterroles", "clusterrolebindings"] {
        let found = m1.get(kind, "karmada-controller-manager:karmada-m1").await;
        let found = found.unwrap_or_else(|| panic!("no {kind}"));
        assert_eq!(found.label("karmada.io/system"), Some("true"), "{kind}");
    }
    let cluster = world
        .get("clusters", "m1")
        .await
        .expect("the cluster is there");
    let id = m1.field("namespaces", "kube-system", "metadata.uid").await;
    assert_eq!(cluster.at(&["spec", "id"]), Some(&id));
    for secret in ["m1", "m1-impersonator"] {
        let secret = world
            .get("secrets", &format!("karmada-cluster/{secret}"))
            .await;
        let secret = secret.expect("the credentials are kept");
        let owners: Vec<String> = secret.owner_references().map(|owner| owner.uid).collect();
        assert_eq!(owners, [cluster.uid()]);
    }
}

#[tokio::test(start_paused = true)]
async fn c02_and_c03_a_cluster_joins_once_and_under_a_name_that_can_be() {
    let world = World::build()
        .members(1)
        .member(config("m2"))
        .stranger()
        .start()
        .await;
    let m1 = world.member("m1");
    let before = world.names("secrets", "karmada-cluster").await;
    let options = JoinOptions::new("other", m1.address());
    let error = join(world.client(), m1.client(), &options)
        .await
        .unwrap_err();
    let id = m1.field("namespaces", "kube-system", "metadata.uid").await;
    let id = id.as_str().unwrap_or_default();
    assert_eq!(
        error.to_string(),
        format!(
            "the cluster ID {id} or the cluster name other has been registered: it has joined as cluster m1 already"
        )
    );
    assert_eq!(world.names("clusters", "").await, ["m1"]);
    assert_eq!(world.names("secrets", "karmada-cluster").await, before);

    // Another cluster under a name that is taken: the other half of what makes a cluster itself.
    let m2 = world.member("m2");
    let options = JoinOptions::new("m1", m2.address());
    let error = join(world.client(), m2.client(), &options)
        .await
        .unwrap_err();
    assert!(matches!(error, JoinError::Registered { .. }), "{error}");
    let holder = format!("another cluster, with the ID {id}, has that name");
    assert!(error.to_string().ends_with(&holder), "{error}");
    assert_eq!(m2.get("namespaces", "karmada-cluster").await, None);
    assert_eq!(world.names("secrets", "karmada-cluster").await, before);

    let options = JoinOptions::new("a".repeat(49), m1.address());
    let error = join(world.client(), m1.client(), &options)
        .await
        .unwrap_err();
    assert!(matches!(error, JoinError::Name { .. }), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_join_that_failed_half_way_is_done_again() {
    let world = World::build().member(config("m1")).stranger().start().await;
    let m1 = world.member("m1");
    let options = JoinOptions::new("m1", m1.address());
    // Credentials of an earlier life are in the way, and the control plane is lost after the member's side is done.
    world
        .apply("{apiVersion: v1, kind: Secret, metadata: {name: m1, namespace: karmada-cluster}, stringData: {token: old}}")
        .await;
    world.stop().await;
    join(world.client(), m1.client(), &options)
        .await
        .unwrap_err();
    world.begin().await;
    world.join("m1").await;
    world.until_ready("m1").await;
    let again = join(world.client(), m1.client(), &options).await;
    assert!(matches!(again, Err(JoinError::Registered { .. })));
}

/// What a cluster has that was never joined: not even an empty account.
async fn assert_untouched(world: &World, member: &str) {
    let m = world.member(member);
    let accounts = m.names("serviceaccounts", "karmada-cluster").await;
    let mut made: Vec<String> = accounts
        .into_iter()
        .filter(|name| name.contains("/karmada-"))
        .collect();
    made.extend(m.names("secrets", "karmada-cluster").await);
    for kind in ["clusterroles", "clusterrolebindings"] {
        let names = m.names(kind, "").await;
        made.extend(names.into_iter().filter(|name| name.contains("karmada")));
    }
    assert_eq!(made, Vec::<String>::new(), "{member}");
}

#[tokio::test(start_paused = true)]
async fn a_name_by_which_a_clusters_things_would_be_anothers_is_refused_before_anything_is_made() {
    let world = World::build()
        .members(1)
        .member(config("m2"))
        .stranger()
        .start()
        .await;
    let m2 = world.member("m2");
    let before = world.names("secrets", "karmada-cluster").await;
    for (name, problem) in [
        (
            "rbac-generator",
            "it is the name under which agents are registered",
        ),
        (
            "impersonator",
            "its account in the cluster would be karmada-impersonator, which acts for users there",
        ),
        (
            "m1-impersonator",
            "its secret would be the one for the impersonator of a cluster m1",
        ),
    ] {
        let options = JoinOptions::new(name, m2.address());
        let joined = join(world.client(), m2.client(), &options).await;
        let error = joined.unwrap_err().to_string();
        assert_eq!(error, format!("invalid cluster name({name}): {problem}"));
    }
    // The other way round: somebody made a cluster whose secret is the one for the impersonator of this.
    world
        .apply("{apiVersion: cluster.karmada.io/v1alpha1, kind: Cluster, metadata: {name: s-impersonator}, spec: {syncMode: Push, apiEndpoint: 'https://s.example', secretRef: {namespace: karmada-cluster, name: s-impersonator}}}")
        .await;
    for dry_run in [true, false] {
        let options = JoinOptions {
            dry_run,
            ..JoinOptions::new("s", m2.address())
        };
        let joined = join(world.client(), m2.client(), &options).await;
        assert_eq!(
            joined.unwrap_err().to_string(),
            "secret karmada-cluster/s-impersonator belongs to cluster s-impersonator"
        );
    }
    assert_eq!(m2.get("namespaces", "karmada-cluster").await, None);
    assert_eq!(world.names("secrets", "karmada-cluster").await, before);
}

#[tokio::test(start_paused = true)]
async fn a_join_that_fails_takes_back_what_it_made_and_nothing_else() {
    let world = World::build()
        .members(1)
        .member(config("m2"))
        .stranger()
        .start()
        .await;
    let m2 = world.member("m2");
    let secrets = world.names("secrets", "karmada-cluster").await;
    world
        .forbid("CREATE", "clusters", "nobody joins today")
        .await;
    let options = JoinOptions::new("m2", m2.address());
    let refused = async || {
        let joined = join(world.client(), m2.client(), &options).await;
        let error = joined.unwrap_err();
        let doing = "cannot make the cluster m2 in the control plane";
        assert_eq!(error.to_string(), doing);
        assert_eq!(world.names("secrets", "karmada-cluster").await, secrets);
        assert_eq!(world.names("clusters", "").await, ["m1"]);
    };
    refused().await;
    assert_untouched(&world, "m2").await;
    // An account from an earlier life, or of another control plane, is not this one's to take away.
    m2.apply(IMPERSONATOR).await;
    let kept = "karmada-cluster/karmada-impersonator";
    let uid = m2.field("serviceaccounts", kept, "metadata.uid").await;
    refused().await;
    assert_eq!(m2.field("serviceaccounts", kept, "metadata.uid").await, uid);
    m2.delete("serviceaccounts", kept).await;
    assert_untouched(&world, "m2").await;

    world.allow().await;
    world.join("m2").await;
    world.until_ready("m2").await;
}

/// The control plane of somebody who is about to register a cluster when another registers the same one.
#[derive(Clone)]
struct Hurried {
    control: Client,
    member: SimulatedMember,
    /// Under which name the other does.
    name: &'static str,
}

impl Service<Request<client::Body>> for Hurried {
    type Response = Response<AnswerBody>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<client::Body>) -> Self::Future {
        let Self {
            control,
            member,
            name,
        } = self.clone();
        Box::pin(async move {
            if request.method() == Method::POST && request.uri().path().ends_with("/clusters") {
                let options = JoinOptions::new(name, member.address());
                join(&control, member.client(), &options).await?;
            }
            control.send(request).await
        })
    }
}

/// Neither sees the other when it looks who has joined; whoever is later finds out and gives way.
#[tokio::test(start_paused = true)]
async fn of_two_joins_of_one_cluster_at_once_the_first_succeeds() {
    let world = World::build().member(config("m1")).stranger().start().await;
    let m1 = world.member("m1");
    let hurried = Client::in_process(Hurried {
        control: world.client().clone(),
        member: m1.clone(),
        name: "first",
    });
    let options = JoinOptions::new("second", m1.address());
    let error = join(&hurried, m1.client(), &options).await.unwrap_err();
    let id = m1.field("namespaces", "kube-system", "metadata.uid").await;
    let id = id.as_str().unwrap_or_default();
    assert_eq!(
        error.to_string(),
        format!(
            "the cluster ID {id} or the cluster name second has been registered: it has joined as cluster first already"
        )
    );
    assert_eq!(world.names("clusters", "").await, ["first"]);
    assert_eq!(
        world.names("secrets", "karmada-cluster").await,
        [
            "karmada-cluster/first",
            "karmada-cluster/first-impersonator"
        ]
    );
    let accounts = m1.names("serviceaccounts", "karmada-cluster").await;
    let accounts: Vec<&str> = accounts
        .iter()
        .filter_map(|name| name.strip_prefix("karmada-cluster/karmada-"))
        .collect();
    // The second made the account that both have; it is still there for the first.
    assert_eq!(accounts, ["first", "impersonator"]);
    let roles = m1.names("clusterroles", "").await;
    let roles: Vec<&String> = roles
        .iter()
        .filter(|name| name.contains("karmada-second"))
        .collect();
    assert!(roles.is_empty(), "{roles:?}");
    world.until_ready("first").await;
}

/// Somebody writes a Cluster by hand for one that has joined: both say so, and letting one go tells the truth of the other.
#[tokio::test(start_paused = true)]
async fn one_cluster_under_two_names_is_noticed() {
    let world = World::with_members(1).await;
    let m1 = world.member("m1");
    let id = m1.field("namespaces", "kube-system", "metadata.uid").await;
    let stated = "status.conditions.type=UniqueIdentity.message";
    assert_eq!(world.field("clusters", "m1", stated).await, json!(null));
    world
        .apply(&format!(
            "{{apiVersion: cluster.karmada.io/v1alpha1, kind: Cluster, metadata: {{name: twin}}, spec: {{syncMode: Push, id: {id}, apiEndpoint: '{}', secretRef: {{namespace: karmada-cluster, name: twin}}}}}}",
            m1.address()
        ))
        .await;
    let id = id.as_str().unwrap_or_default();
    for (name, other) in [("m1", "twin"), ("twin", "m1")] {
        let expected = format!(
            "it has joined as cluster {other}, too, which has the same ID {id}: what is counted there is counted twice, and each undoes what the other brings; unjoin one of them"
        );
        world
            .until_is("it says so", crate::SOON, json!(expected), async || {
                world.field("clusters", name, stated).await
            })
            .await;
    }
    world.delete("clusters", "twin").await;
    world
        .until_is("it is alone again", crate::SOON, json!(null), async || {
            world.field("clusters", "m1", stated).await
        })
        .await;
}

/// The API of a member in which somebody else makes an account in the moment in which it was found not to be there.
#[derive(Clone)]
struct Crowded(SimulatedMember);

impl Service<Request<client::Body>> for Crowded {
    type Response = Response<AnswerBody>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<client::Body>) -> Self::Future {
        let Self(member) = self.clone();
        Box::pin(async move {
            let path = request.uri().path().to_owned();
            let is_asked = request.method() == Method::GET
                && path.ends_with("/serviceaccounts/karmada-impersonator");
            let answer = member.client().send(request).await?;
            if is_asked && answer.status() == StatusCode::NOT_FOUND {
                member.apply(IMPERSONATOR).await;
            }
            Ok(answer)
        })
    }
}

const IMPERSONATOR: &str = "{apiVersion: v1, kind: ServiceAccount, metadata: {name: karmada-impersonator, namespace: karmada-cluster}}";

#[tokio::test(start_paused = true)]
async fn a_join_that_fails_takes_nothing_back_that_another_made_in_the_same_moment() {
    let world = World::build().member(config("m1")).stranger().start().await;
    let m1 = world.member("m1");
    world
        .forbid("CREATE", "clusters", "nobody joins today")
        .await;
    let crowded = Client::in_process(Crowded(m1.clone()));
    let options = JoinOptions::new("m1", m1.address());
    let joined = join(world.client(), &crowded, &options).await;
    let doing = "cannot make the cluster m1 in the control plane";
    assert_eq!(joined.unwrap_err().to_string(), doing);
    let kept = "karmada-cluster/karmada-impersonator";
    let found = m1.get("serviceaccounts", kept).await;
    let found = found.expect("what somebody else made stays");
    assert_eq!(found.label("karmada.io/system"), Some("true"));
    m1.delete("serviceaccounts", kept).await;
    assert_untouched(&world, "m1").await;
}

/// A cluster that was let go a moment ago joins again: what is still being deleted is waited for, and not for ever.
#[tokio::test(start_paused = true)]
async fn a_join_waits_for_what_is_left_of_an_earlier_life() {
    let world = World::build().member(config("m1")).stranger().start().await;
    let m1 = world.member("m1");
    let hold = |finalizers: &str| {
        format!(
            "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: slow, namespace: karmada-cluster, finalizers: [{finalizers}]}}}}"
        )
    };
    m1.apply("{apiVersion: v1, kind: Namespace, metadata: {name: karmada-cluster}}")
        .await;
    m1.apply(&hold("example.com/slow")).await;
    m1.delete("namespaces", "karmada-cluster").await;
    let options = JoinOptions::new("m1", m1.address());
    let late = join(world.client(), m1.client(), &options).await;
    assert!(
        matches!(late, Err(JoinError::NamespaceEnding { .. })),
        "{late:?}"
    );
    assert_eq!(world.names("clusters", "").await, Vec::<String>::new());
    let (joined, ()) = tokio::join!(join(world.client(), m1.client(), &options), async {
        world.advance(std::time::Duration::from_secs(5)).await;
        m1.patch(
            "configmaps",
            "karmada-cluster/slow",
            json!({"metadata": {"finalizers": null}}),
        )
        .await;
    });
    joined.unwrap_or_else(|error| panic!("{error}"));
    world.until_ready("m1").await;
}

/// Neither another cluster's credentials, nor what a Secret of the cluster's name holds elsewhere in the control plane.
#[tokio::test(start_paused = true)]
async fn credentials_go_to_no_other_cluster() {
    let world = World::build()
        .members(1)
        .member(config("thief"))
        .start()
        .await;
    let thief = world.member("thief").address().to_owned();
    world
        .apply(
            "{apiVersion: v1, kind: Secret, metadata: {name: treasure, namespace: kube-system},
              stringData: {token: t, caBundle: ''}}",
        )
        .await;
    for (name, secret) in [
        ("trap", "{namespace: karmada-cluster, name: m1}"),
        ("treasure", "{namespace: kube-system, name: treasure}"),
    ] {
        world
            .apply(&format!(
                "
                apiVersion: cluster.karmada.io/v1alpha1
                kind: Cluster
                metadata: {{name: {name}}}
                spec:
                  syncMode: Push
                  apiEndpoint: {thief}
                  insecureSkipTLSVerification: true
                  secretRef: {secret}
                "
            ))
            .await;
        let expected = format!("does not belong to cluster {name}");
        world
            .until("the trap is told why", crate::SOON, async || {
                let message = world
                    .field("clusters", name, "status.conditions.type=Ready.message")
                    .await;
                let message = message.as_str();
                message.is_some_and(|text| text.contains(&expected))
            })
            .await;
    }
}

#[tokio::test(start_paused = true)]
async fn c04_and_c05_what_a_cluster_says_is_checked_and_filled_in() {
    let world = World::with_members(0).await;
    let cluster = |spec: &str| {
        format!(
            "{{apiVersion: cluster.karmada.io/v1alpha1, kind: Cluster, metadata: {{name: c}}, spec: {{syncMode: Pull, {spec}}}}}"
        )
    };
    for refused in [
        "taints: [{key: a, effect: PreferNoSchedule}]",
        "zone: a, zones: [b]",
    ] {
        let error = world.try_create(&cluster(refused)).await.unwrap_err();
        assert!(error.is_invalid(), "{refused}: {error}");
    }
    world
        .apply(&cluster("zone: a, taints: [{key: a, effect: NoExecute}]"))
        .await;
    let stored = world.get("clusters", "c").await.expect("it is stored");
    let field = |path: &[&str]| stored.at(path).cloned().unwrap_or_default();
    assert_eq!(field(&["spec", "zones"]), json!(["a"]));
    assert_eq!(stored.at(&["spec", "zone"]), None);
    let models = field(&["spec", "resourceModels"]);
    assert_eq!(models.as_array().map(Vec::len), Some(9));
    let taint = world
        .field("clusters", "c", "spec.taints.key=a.timeAdded")
        .await;
    assert!(taint.is_string(), "{taint}");
    world
        .patch("clusters", "c", json!({"spec": {"resourceModels": []}}))
        .await;
    let models = world.field("clusters", "c", "spec.resourceModels").await;
    assert!(models.as_array().is_none_or(Vec::is_empty), "{models}");
}
