//! What operators type every day against a control plane with members, and what they get when something is wrong.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod asking;
mod running;
mod waiting;

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use asking::{check, until};
use running::{KARAVEL, Up};

const MISSPELT: &str =
    "{apiVersion: apps/v1, kind: Deployment, metadata: {name: x}, spec: {replicaz: 3}}";

#[test]
fn refusals_end_with_1_failures_with_2_and_both_say_what_to_do() {
    let up = Up::start(2);
    check(&up, "karavel create namespace shop", "", 0, &["created"]);
    check(
        &up,
        "karavel create configmap web -n shop",
        "",
        0,
        &["created"],
    );
    let dead = "sed 's/127.0.0.1:[0-9]*/127.0.0.1:1/' $KUBECONFIG > dead && karavel get pods --kubeconfig dead";
    for (line, input, code, words) in [
        // Words alone are no mistake: they are answered with what may follow.
        ("karavel", "", 0, &["Usage:", "simulate"][..]),
        ("karavel top", "", 0, &["Usage:", "node"]),
        // Bad input, from the server.
        ("karavel get configmap nope", "", 1, &["NotFound"]),
        (
            "karavel patch cluster member1 -p 'not json'",
            "",
            1,
            &["-p '{"],
        ),
        (
            "karavel patch cluster member1 --type merge -p '{\"spec\":{\"syncMode\":7}}'",
            "",
            1,
            &["Error from server (BadRequest)"],
        ),
        ("karavel get deployment -l 'a in ('", "", 1, &["correct"]),
        ("karavel get pods -n ../x", "", 1, &["correct"]),
        (
            "karavel apply -f -",
            MISSPELT,
            1,
            &["replicaz", "did you mean \"replicas\" for \"replicaz\"?"],
        ),
        (
            "karavel create -f -",
            MISSPELT,
            1,
            &[
                "unknown field \"spec.replicaz\"",
                "did you mean \"replicas\"",
            ],
        ),
        (
            "karavel apply -f -",
            "{apiVersion: apps/v1, kind: Deploymnt, metadata: {name: x}}",
            1,
            &["did you mean kind: Deployment with apiVersion: apps/v1?"],
        ),
        (
            "karavel simulate -f -",
            "{apiVersion: v1, kind: Deployment, metadata: {name: x}}",
            1,
            &["did you mean apiVersion: apps/v1?"],
        ),
        (
            "karavel get pods --karmada-context membr1",
            "",
            1,
            &["no context \"membr1\"", "did you mean \"member1\"?"],
        ),
        // What was typed is not lost, and nobody else can read it.
        (
            "TMPDIR=. EDITOR='sed -i s/^kind:/knd:/' karavel edit configmap web -n shop",
            "",
            1,
            &["kind is missing", "your text is in ./karavel-edited-"],
        ),
        (
            "grep -l knd: karavel-edited-* && stat -c %a karavel-edited-* && ls karavel-edit-* || exit 1",
            "",
            1,
            &["karavel-edited-", "600"],
        ),
        ("karavel unjoin a/b", "", 1, &["error:"]),
        (
            "karavel label cluster member1 nope-",
            "",
            0,
            &["label \"nope\" not found.", "not labeled"],
        ),
        (
            "karavel create configmap web -n shop",
            "",
            1,
            &["AlreadyExists", "choose another name"],
        ),
        (
            "karavel get pods --kubeconfig /etc/passwd",
            "",
            1,
            &["--kubeconfig"],
        ),
        (
            "karavel join x --cluster-kubeconfig nope",
            "",
            1,
            &["the member's own kubeconfig"],
        ),
        (dead, "", 2, &["check that the server runs"]),
        // The right name for a wrong one.
        (
            "karavel cordon membr2",
            "",
            1,
            &["did you mean \"member2\"?"],
        ),
        (
            "karavel unjoin membr2",
            "",
            1,
            &["did you mean \"member2\"?"],
        ),
        (
            "karavel logs x -C membr1",
            "",
            1,
            &["did you mean \"member1\"?"],
        ),
        (
            "karavel get pods -s members -C membr1,member2",
            "",
            1,
            &["clusters don't exist: membr1", "did you mean \"member1\"?"],
        ),
        (
            "karavel simulate --lose membr1",
            "",
            1,
            &["did you mean \"member1\"?"],
        ),
        (
            "karavel apply -f - -C membr1",
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}",
            1,
            &["cluster membr1 does not exist", "did you mean \"member1\"?"],
        ),
        (
            "karavel get configmap wbe -n shop",
            "",
            1,
            &["did you mean \"web\"?"],
        ),
        (
            "karavel describe configmap wbe -n shop",
            "",
            1,
            &["did you mean \"web\"?"],
        ),
        (
            "karavel delete configmap wbe -n shop",
            "",
            1,
            &["did you mean \"web\"?"],
        ),
        ("karavel get configmap web", "", 1, &["add -n shop"]),
        ("karavel explain configmap/web", "", 1, &["add -n shop"]),
        (
            "karavel get depoyments,podz",
            "",
            1,
            &["did you mean \"deployments\"?", "did you mean \"pods\"?"],
        ),
        ("karavel describe polcies", "", 1, &["propagationpolicies"]),
        (
            "karavel create configmp x",
            "",
            1,
            &["did you mean \"configmap\"?"],
        ),
        ("karavel gt pods", "", 1, &["did you mean \"get\"?"]),
        ("karavel nosuch", "", 1, &["`karavel --help`"]),
        // Verbs for what is done otherwise.
        (
            "karavel init --karmada-data /etc/karmada -p 32443",
            "",
            1,
            &["karavel server"],
        ),
        ("karavel deinit -f", "", 1, &["karavel backup"]),
        (
            "karavel addons enable karmada-descheduler",
            "",
            1,
            &["--enable-descheduler"],
        ),
        (
            "karavel register 10.0.0.1:5443 --token x",
            "",
            1,
            &["not built yet", "karavel join"],
        ),
        (
            "karavel unregister member1 --cluster-kubeconfig f",
            "",
            1,
            &["karavel unjoin"],
        ),
    ] {
        check(&up, line, input, code, words);
    }
}

#[test]
fn kinds_versions_and_tokens_are_shown_for_real() {
    let up = Up::start(1);
    check(
        &up,
        "karavel api-resources",
        "",
        0,
        &[
            "NAME",
            "propagationpolicies",
            "policy.karmada.io/v1alpha1",
            "PropagationPolicy",
        ],
    );
    check(
        &up,
        "karavel api-resources -s members --cluster member1 -o name --api-group apps",
        "",
        0,
        &["deployments.apps"],
    );
    let there = check(
        &up,
        "karavel api-resources -s members --cluster member1 -o name",
        "",
        0,
        &["pods"],
    );
    assert!(!there.contains("propagationpolicies"), "{there}");
    check(
        &up,
        "karavel api-resources --namespaced=false --verbs delete --no-headers",
        "",
        0,
        &["namespaces"],
    );
    check(
        &up,
        "karavel api-resources --api-group polic.karmada.io",
        "",
        1,
        &["policy.karmada.io"],
    );
    let versions = check(
        &up,
        "karavel api-versions",
        "",
        0,
        &["apps/v1", "work.karmada.io/v1alpha2"],
    );
    let lines: Vec<&str> = versions.lines().collect();
    assert!(lines.is_sorted() && lines.contains(&"v1"), "{versions}");
    check(
        &up,
        "karavel explain deployment.spec",
        "",
        0,
        &[
            "KIND:       Deployment",
            "FIELD: spec <DeploymentSpec>",
            "replicas\t<integer>",
        ],
    );
    check(
        &up,
        "karavel explain propagationpolicies.policy.karmada.io",
        "",
        0,
        &["GROUP:      policy.karmada.io", "FIELDS:", "spec\t<"],
    );
    check(
        &up,
        "karavel explain pod.spec --recursive --operation-scope members --cluster member1",
        "",
        0,
        &["containers\t<[]Container>", "image\t<string>"],
    );
    check(
        &up,
        "karavel explain deployment.spec.replcas",
        "",
        1,
        &["did you mean \"replicas\"?"],
    );
    check(
        &up,
        "karavel api-versions -s members",
        "",
        1,
        &["must specify a member cluster"],
    );

    let token = check(
        &up,
        "karavel token create --ttl 1h --description 'for east'",
        "",
        0,
        &[],
    );
    let (id, _) = token.trim().split_once('.').unwrap();
    check(
        &up,
        "karavel token list",
        "",
        0,
        &[
            token.trim(),
            "signing,authentication",
            "for east",
            "system:bootstrappers:karmada:default-cluster-token",
        ],
    );
    let register = check(
        &up,
        "karavel token create --print-register-command 2>/dev/null",
        "",
        0,
        &["--discovery-token-ca-cert-hash sha256:"],
    );
    assert!(
        register.starts_with("karmadactl register 127.0.0.1:"),
        "{register}"
    );
    check(
        &up,
        &format!("karavel token delete {id}"),
        "",
        0,
        &[&format!("bootstrap token \"{id}\" deleted")],
    );
    check(
        &up,
        &format!("karavel token delete {id}"),
        "",
        1,
        &[&format!("secrets \"bootstrap-token-{id}\" not found")],
    );
    check(
        &up,
        "karavel token delete XY",
        "",
        1,
        &["neither a token nor the id"],
    );
    check(&up, "karavel token create --ttl soon", "", 1, &["--ttl"]);
    check(
        &up,
        "karavel clusters -o wide",
        "",
        0,
        &["API-ENDPOINT", "karavel"],
    );
    check(
        &up,
        "karavel clusters -o json | python3 -c 'import json,sys; print(len(json.load(sys.stdin)[\"items\"]))'",
        "",
        0,
        &["1"],
    );
}

#[test]
fn an_application_with_its_own_namespace_can_be_supposed_and_its_dependencies_are_explained() {
    let up = Up::start(2);
    let supposed = check(
        &up,
        "karavel simulate -f examples/demo/shop.yaml",
        "",
        0,
        &["Deployment shop/web (new)", "member1", "created"],
    );
    assert!(
        supposed.lines().all(|line| line.chars().count() <= 80),
        "{supposed}"
    );
    check(&up, "karavel get namespace shop", "", 1, &["NotFound"]);
    let refused =
        "{apiVersion: apps/v1, kind: Deployment, metadata: {name: x}, spec: {replicas: many}}";
    let said = check(
        &up,
        "karavel simulate -f -",
        refused,
        1,
        &["would be refused"],
    );
    assert!(!said.contains("nothing would change"), "{said}");

    check(
        &up,
        "karavel apply -f examples/demo/shop.yaml",
        "",
        0,
        &["created"],
    );
    for name in ["configmap settings", "deployment web"] {
        let line = format!("karavel get {name} -n shop -s members");
        until(&up, &line, "", &["member1", "member2"]);
    }
    let explained = until(
        &up,
        "karavel explain configmap/settings -n shop",
        "",
        &[
            "comes along with others",
            "Deployment shop/web needs it in member1, member2",
            "karmada-es-member1/",
            "Applied True",
            "karmada-es-member2/",
            "Applied True",
        ],
    );
    assert!(
        !explained.contains("not chosen") && !explained.contains("has not looked"),
        "{explained}"
    );
    let told = check(
        &up,
        "karavel explain configmap/settings -n shop -o json",
        "",
        0,
        &[],
    );
    let told: object::Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["requiredBy"][0]["template"]["name"], "web");
    assert_eq!(told["clusters"][0]["target"], true);

    check(
        &up,
        "karavel __complete -- get -n shop deployment w",
        "",
        0,
        &["web"],
    );
    check(
        &up,
        "karavel __complete -- explain -n shop deployment/w",
        "",
        0,
        &["deployment/web"],
    );
    until(
        &up,
        "karavel __complete -- logs -n shop -C member1 web",
        "",
        &["web-"],
    );
    check(
        &up,
        "karavel __complete -- get pods --karmada-context mem",
        "",
        0,
        &["member1"],
    );
    let all = check(
        &up,
        "karavel get deployment web -n shop -s all -o json",
        "",
        0,
        &[],
    );
    let all: object::Value = serde_json::from_str(&all).unwrap();
    let mark = "resource.karmada.io/cached-from-cluster";
    let marks: Vec<&str> = all["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["metadata"]["annotations"][mark].as_str().unwrap())
        .collect();
    assert_eq!(marks, ["Karmada", "member1", "member2"]);
    check(
        &up,
        "karavel get all -n shop -s all",
        "",
        0,
        &[
            "pod/web-",
            "service/web",
            "deployment.apps/web",
            "replicaset.apps/web-",
        ],
    );
    // What was read from the control plane can be applied again.
    check(
        &up,
        "karavel get configmap settings -n shop -o yaml | karavel apply -f -",
        "",
        0,
        &["configmap/settings"],
    );
}

#[test]
fn what_was_only_just_decided_can_be_explained() {
    let up = Up::start(1);
    for name in ["a", "b", "c", "d"] {
        check(
            &up,
            &format!(
                "karavel create deployment {name} --image=nginx --dry-run -o yaml | karavel apply -f - --all-clusters"
            ),
            "",
            0,
            &[],
        );
        let placed = "-o jsonpath='{.spec.clusters}'";
        let line = format!("karavel get resourcebinding {name}-deployment {placed}");
        until(&up, &line, "", &["member1"]);
        let line = format!("karavel explain deployment/{name}");
        let said = check(&up, &line, "", 0, &["Decision", "{member1:1}"]);
        assert!(!said.contains("none is on record"), "{said}");
    }
}

const SPREAD: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: nginx, image: nginx}]}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: web}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: web}]
  placement:
    clusterAffinity: {clusterNames: [member1, member2]}
    replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Weighted}
";

#[test]
fn clusters_that_came_later_and_templates_that_were_before_are_told_apart() {
    let up = Up::start(2);
    let member = "member2 --cluster-kubeconfig $KUBECONFIG --cluster-context member2";
    let unjoin = format!("karavel unjoin {member}");
    check(&up, &unjoin, "", 0, &["cluster(member2) is unjoined"]);
    check(&up, "karavel apply -f -", SPREAD, 0, &["created"]);
    let targets = "karavel get resourcebinding web-deployment -o jsonpath='{.spec.clusters}'";
    until(&up, targets, "", &["member1"]);
    let unknown = "Note        the placement names the cluster \"member2\", and there is none";
    let explain = "karavel explain deployment/web";
    check(&up, explain, "", 0, &[unknown, "{member1:2}"]);
    let policy = "karavel explain propagationpolicy/web";
    check(&up, policy, "", 0, &["it names the cluster \"member2\""]);
    let join = format!("karavel join {member}");
    check(&up, &join, "", 0, &["cluster(member2) is joined"]);
    let later = "member2: not there at the last decision, and not considered yet";
    let said = check(&up, explain, "", 0, &["member2   not seen", later]);
    assert!(!said.contains("and there is none"), "{said}");
    let why = "not chosen: it was not there at the last decision, and has not been";
    let said = check(&up, &format!("{explain} -C member2"), "", 0, &[why]);
    assert!(!said.contains("refused"), "{said}");
    until(&up, "karavel clusters member2", "", &["True"]);
    // One of the same name that is made anew has a history of its own.
    check(&up, "karavel delete deployment web", "", 0, &["deleted"]);
    until(&up, "! karavel get resourcebinding web-deployment", "", &[]);
    check(&up, "karavel apply -f -", SPREAD, 0, &["created"]);
    until(&up, targets, "", &["member1", "member2"]);
    let said = check(&up, explain, "", 0, &["member2   selected"]);
    assert!(
        !said.contains("before:") && !said.contains("changed:"),
        "{said}"
    );
    // As the descheduler does where pods find no node: as many are wanted as before.
    let fewer = r#"{"spec":{"clusters":[{"name":"member1","replicas":1},{"name":"member2"}]}}"#;
    let take = format!("karavel patch resourcebinding web-deployment --type merge -p '{fewer}'");
    check(&up, &take, "", 0, &["patched"]);
    until(
        &up,
        explain,
        "",
        &["(replicas were taken", "back from clusters)"],
    );
}

#[test]
fn a_member_that_is_cut_off_takes_nothing_away_and_is_named() {
    let up = Up::start(2);
    check(
        &up,
        "karavel create deployment web --image=nginx --replicas=2 --dry-run -o yaml | karavel apply -f - --all-clusters",
        "",
        0,
        &[],
    );
    until(
        &up,
        "karavel get pods -s members --no-headers | grep -c Running",
        "",
        &["4"],
    );
    check(
        &up,
        "karavel sim fault cut-off --member member2",
        "",
        0,
        &[],
    );
    let partial = [
        "karavel get deployments -s members",
        "karavel get deployments -s all -o json",
        "karavel top nodes",
        "karavel events -s members",
        "karavel explain deployment/web",
        "karavel create deployment web --image=busybox --dry-run -o yaml | karavel simulate -f -",
    ];
    let alone = [
        "karavel describe deployment web -C member2",
        "karavel logs deployment/web -C member2",
    ];
    // Each waits until it gives the member up, so they wait together.
    std::thread::scope(|scope| {
        let up = &up;
        for line in partial {
            scope.spawn(move || {
                let words = [
                    "member1",
                    "cluster(member2)",
                    "`karavel clusters` shows which clusters are ready",
                ];
                let said = check(up, line, "", 2, &words);
                assert!(
                    !said.contains("address in the kubeconfig"),
                    "{line}\n{said}"
                );
            });
        }
        // What is supposed to be lost is not asked.
        scope.spawn(move || {
            let line = "karavel simulate --lose member2";
            check(
                up,
                line,
                "",
                0,
                &["Without member2", "lost with its cluster"],
            )
        });
        for line in alone {
            scope.spawn(move || check(up, line, "", 2, &["karavel clusters"]));
        }
    });

    // A watch begun meanwhile goes on with the member as soon as it is there.
    let mut watch = Command::new(KARAVEL)
        .args([
            "get",
            "pods",
            "-s",
            "members",
            "--watch",
            "--output-watch-events",
        ])
        .env("KUBECONFIG", up.kubeconfig())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap())
        .lines()
        .map(Result::unwrap);
    let head = lines.next().unwrap();
    assert!(head.starts_with("EVENT      NAME"), "{head}");
    let cluster = head.find("CLUSTER").unwrap();
    let mut seen = Vec::new();
    let mut has_healed = false;
    let is_back = lines.any(|line| {
        if !has_healed {
            has_healed = true;
            check(&up, "karavel sim fault heal --member member2", "", 0, &[]);
        }
        let at = line.get(cluster..).unwrap_or_default().to_owned();
        assert!(
            at.starts_with("member"),
            "not below CLUSTER: {line}\n{head}"
        );
        assert!(!line.contains("<invalid>"), "{line}");
        seen.push(line);
        at.starts_with("member2")
    });
    let _ = watch.kill();
    let _ = watch.wait();
    assert!(is_back, "{seen:?}");
}
