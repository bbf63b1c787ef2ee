use serde_json::{Value, json};
use serve::call::User;

use crate::world::{Answer, World, known, master, subject, user};

/// Who asks, in the order of the columns below.
fn identities() -> [(&'static str, User); 10] {
    let agent = user(
        "system:karmada:agent:m1",
        &["system:karmada:agents", "system:authenticated"],
    );
    let scheduler = user(
        "system:karavel:scheduler",
        &["system:karavel:components", "system:authenticated"],
    );
    let newcomer = user(
        "system:bootstrap:abcdef",
        &[
            "system:bootstrappers",
            "system:bootstrappers:karmada:default-cluster-token",
            "system:authenticated",
        ],
    );
    let nobody = user("system:anonymous", &["system:unauthenticated"]);
    [
        ("master", master()),
        ("admin of shop", known("adam")),
        ("editor of shop", known("edith")),
        ("viewer of shop", known("vera")),
        ("viewer everywhere", known("rita")),
        ("known", known("paul")),
        ("agent of m1", agent),
        ("scheduler", scheduler),
        ("newcomer", newcomer),
        ("nobody", nobody),
    ]
}

/// The calls, and who is let.
const CALLS: &str = include_str!("calls.txt");

/// A row: a `+` or a `-` for each identity, and the call.
fn calls() -> impl Iterator<Item = (&'static str, &'static str)> {
    let rows = CALLS.lines().filter(|line| !line.starts_with('#'));
    rows.map(|row| row.split_once(' ').unwrap())
}

/// Applies an object of which nothing is said but which it is.
async fn apply(world: &World, user: &User, kind: &str, path: &str, options: &str) -> Answer {
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    let version = match parts[0] {
        "api" => parts[1].to_owned(),
        _ => format!("{}/{}", parts[1], parts[2]),
    };
    let object = json!({"apiVersion": version, "kind": kind, "metadata": {"name": parts.last()}});
    let line = format!("PATCH {path}?fieldManager=m&{options}");
    let headers = [("content-type", "application/apply-patch+yaml")];
    world.ask_with(user, &headers, &line, object).await
}

async fn prepare() -> World {
    let world = World::start().await;
    for namespace in ["shop", "other", "karmada-es-m1", "karmada-es-m2"] {
        world.namespace(namespace).await;
    }
    for (role, name) in [("admin", "adam"), ("edit", "edith"), ("view", "vera")] {
        world
            .bind("shop", ("ClusterRole", role), subject(name))
            .await;
    }
    world
        .bind("", ("ClusterRole", "view"), subject("rita"))
        .await;
    let agent = || subject("system:karmada:agent:m1");
    world
        .role(
            "",
            "system:karmada:m1:agent",
            &[
                "get,delete cluster.karmada.io clusters m1",
                "create,list,watch cluster.karmada.io clusters",
                "update cluster.karmada.io clusters/status m1",
                "get,list,watch config.karmada.io resourceinterpreterwebhookconfigurations,resourceinterpretercustomizations",
                "get core namespaces",
                "get,create,update coordination.k8s.io leases",
                "get,create certificates.k8s.io certificatesigningrequests",
                "list,watch core services",
                "create,patch,update core events",
            ],
        )
        .await;
    world
        .bind("", ("ClusterRole", "system:karmada:m1:agent"), agent())
        .await;
    world
        .role(
            "karmada-cluster",
            "system:karmada:m1:agent-secret",
            &[
                "get,patch core secrets m1,m1-impersonator",
                "create core secrets",
            ],
        )
        .await;
    world
        .bind(
            "karmada-cluster",
            ("Role", "system:karmada:m1:agent-secret"),
            agent(),
        )
        .await;
    world
        .role(
            "karmada-es-m1",
            "system:karmada:m1:agent-work",
            &[
                "get,create,list,watch,update,delete work.karmada.io works",
                "patch,update work.karmada.io works/status",
            ],
        )
        .await;
    world
        .bind(
            "karmada-es-m1",
            ("Role", "system:karmada:m1:agent-work"),
            agent(),
        )
        .await;
    world
}

#[tokio::test]
async fn everybody_may_do_what_their_roles_give_and_nothing_else() {
    let world = prepare().await;
    let mut asked = 0;
    let mut wrong = Vec::new();
    for (expected, line) in calls() {
        for ((who, user), expected) in identities().iter().zip(expected.chars()) {
            let answer = if let Some(line) = line.strip_prefix("APPLY ") {
                let (kind, path) = line.split_once(' ').unwrap();
                apply(&world, user, kind, path, "dryRun=All").await
            } else if line.starts_with("GET") || line.starts_with("DELETE") {
                world.ask(user, line, Value::Null).await
            } else {
                world.ask(user, line, json!({})).await
            };
            let is_let = answer.code != 403 && answer.code != 401;
            if is_let != (expected == '+') {
                wrong.push(format!(
                    "{who}: {line} gave {} {}",
                    answer.code, answer.body["message"]
                ));
            }
            asked += 1;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(asked, calls().count() * 10);
    assert!(asked >= 200);
}

#[tokio::test]
async fn a_binding_counts_from_the_moment_its_writer_is_answered() {
    let world = World::start().await;
    world.namespace("shop").await;
    let (ann, line) = (known("ann"), "GET /api/v1/namespaces/shop/pods");
    for _ in 0..20 {
        assert_eq!(world.ask(&ann, line, json!(null)).await.code, 403);
        world
            .bind("shop", ("ClusterRole", "view"), subject("ann"))
            .await;
        assert_eq!(world.ask(&ann, line, json!(null)).await.code, 200);
        let path =
            "DELETE /apis/rbac.authorization.k8s.io/v1/namespaces/shop/rolebindings/view-ann";
        assert_eq!(world.ask(&master(), path, json!(null)).await.code, 200);
    }
}

#[tokio::test]
async fn acting_as_somebody_else_needs_leave_for_every_part_of_them() {
    let world = World::start().await;
    world.namespace("shop").await;
    world
        .role(
            "",
            "act",
            &[
                "impersonate core users ann",
                "impersonate core groups ops",
                "impersonate authentication.k8s.io userextras/team red",
            ],
        )
        .await;
    world.bind("", ("ClusterRole", "act"), subject("bob")).await;
    world
        .bind("shop", ("ClusterRole", "view"), subject("ann"))
        .await;
    let line = "GET /api/v1/namespaces/shop/pods";
    let bob = known("bob");
    for (headers, code, message) in [
        (
            &[][..],
            403,
            "pods is forbidden: User \"bob\" cannot list resource \"pods\" in API group \"\" in the namespace \"shop\"",
        ),
        (&[("impersonate-user", "ann")], 200, ""),
        (
            &[
                ("impersonate-user", "ann"),
                ("impersonate-group", "ops"),
                ("impersonate-extra-team", "red"),
            ],
            200,
            "",
        ),
        (
            &[("impersonate-user", "eve")],
            403,
            "users \"eve\" is forbidden: User \"bob\" cannot impersonate resource \"users\" in API group \"\" at the cluster scope",
        ),
        (
            &[
                ("impersonate-user", "ann"),
                ("impersonate-group", "system:masters"),
            ],
            403,
            "groups \"system:masters\" is forbidden: User \"bob\" cannot impersonate resource \"groups\" in API group \"\" at the cluster scope",
        ),
        (
            &[("impersonate-user", "ann"), ("impersonate-uid", "7")],
            403,
            "uids.authentication.k8s.io \"7\" is forbidden: User \"bob\" cannot impersonate resource \"uids\" in API group \"authentication.k8s.io\" at the cluster scope",
        ),
        (
            &[
                ("impersonate-user", "ann"),
                ("impersonate-extra-team", "blue"),
            ],
            403,
            "userextras.authentication.k8s.io \"blue\" is forbidden: User \"bob\" cannot impersonate resource \"userextras/team\" in API group \"authentication.k8s.io\" at the cluster scope",
        ),
    ] {
        let answer = world.ask_with(&bob, headers, line, json!(null)).await;
        assert_eq!(
            (
                answer.code,
                answer.body["message"].as_str().unwrap_or_default()
            ),
            (code, message),
            "{headers:?}"
        );
    }
}

#[tokio::test]
async fn whoever_makes_an_object_must_be_let_create_it() {
    let world = World::start().await;
    world.namespace("shop").await;
    world
        .role(
            "",
            "changer",
            &[
                "patch,update core configmaps,endpoints,namespaces",
                "patch,update coordination.k8s.io leases",
                "create core configmaps own",
            ],
        )
        .await;
    world
        .bind("", ("ClusterRole", "changer"), subject("una"))
        .await;
    let una = known("una");
    let maps = "/api/v1/namespaces/shop/configmaps";
    let leases = "/apis/coordination.k8s.io/v1/namespaces/shop/leases";
    let ends = "/api/v1/namespaces/shop/endpoints";
    for path in [maps, ends] {
        let object = json!({"metadata": {"name": "there"}});
        world.create(path, object).await;
    }
    let no_map = "configmaps \"new\" is forbidden: User \"una\" cannot create resource \"configmaps\" in API group \"\" in the namespace \"shop\"";
    let no_lease = "leases.coordination.k8s.io \"new\" is forbidden: User \"una\" cannot create resource \"leases\" in API group \"coordination.k8s.io\" in the namespace \"shop\"";
    let no_space = "namespaces \"new\" is forbidden: User \"una\" cannot create resource \"namespaces\" in API group \"\" at the cluster scope";
    for (form, kind, path, options, code, message) in [
        ("APPLY", "ConfigMap", format!("{maps}/new"), "", 403, no_map),
        (
            "APPLY",
            "ConfigMap",
            format!("{maps}/new"),
            "dryRun=All",
            403,
            no_map,
        ),
        (
            "APPLY",
            "ConfigMap",
            format!("{maps}/new"),
            "force=true",
            403,
            no_map,
        ),
        ("APPLY", "Lease", format!("{leases}/new"), "", 403, no_lease),
        (
            "APPLY",
            "Namespace",
            "/api/v1/namespaces/new".to_owned(),
            "",
            403,
            no_space,
        ),
        ("PUT", "Lease", format!("{leases}/new"), "", 403, no_lease),
        (
            "PUT",
            "Lease",
            format!("{leases}/new"),
            "dryRun=All",
            403,
            no_lease,
        ),
        // Updates of this kind make nothing, and patches that are no applies never do.
        (
            "PUT",
            "ConfigMap",
            format!("{maps}/new"),
            "",
            404,
            "configmaps \"new\" not found",
        ),
        (
            "PATCH",
            "Lease",
            format!("{leases}/new"),
            "",
            404,
            "leases.coordination.k8s.io \"new\" not found",
        ),
        // What is there is changed, and what a rule names may be made.
        ("APPLY", "ConfigMap", format!("{maps}/there"), "", 200, ""),
        ("PUT", "Endpoints", format!("{ends}/there"), "", 200, ""),
        ("APPLY", "ConfigMap", format!("{maps}/own"), "", 201, ""),
    ] {
        let answer = if form == "APPLY" {
            apply(&world, &una, kind, &path, options).await
        } else {
            let name = path.rsplit('/').next();
            let line = format!("{form} {path}?{options}");
            let object = json!({"metadata": {"name": name}});
            world.ask(&una, &line, object).await
        };
        let found = answer.body["message"].as_str().unwrap_or_default();
        assert_eq!(
            (answer.code, found),
            (code, message),
            "{form} {path} {options}"
        );
        if path.ends_with("/new") {
            let line = format!("GET {path}");
            let there = world.ask(&master(), &line, Value::Null).await;
            assert_eq!(there.code, 404, "{form} {path} {options} wrote something");
        }
    }
}
