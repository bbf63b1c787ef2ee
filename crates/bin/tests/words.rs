//! What verbs of kubectl do here is what they do there: objects made of words, and flags that choose and change.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod asking;
mod running;
mod waiting;

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use asking::{check, until};
use running::{KARAVEL, Up, both};
use serde_json::Value;

/// What a line prints as JSON, without what says nothing.
#[track_caller]
fn printed(up: &Up, line: &str) -> Value {
    let output = up.shell(line, "");
    assert!(output.status.success(), "{line}\n{}", both(&output));
    let mut value: Value = serde_json::from_slice(&output.stdout).unwrap();
    clear(&mut value);
    value
}

/// Drops empty fields, which kubectl writes along.
fn clear(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(clear);
            fields.retain(|name, value| {
                let is_empty = value.is_null() || *value == serde_json::json!({}) || value == "";
                !is_empty && name != "status" && *value != serde_json::json!([])
            });
        }
        Value::Array(items) => items.iter_mut().for_each(clear),
        _ => {}
    }
}

#[test]
fn words_make_what_kubectl_makes_of_them() {
    let up = Up::start(1);
    let prepare = "printf 'A=1\\nB=x y\\n' > e.env; mkdir files; echo one > files/a.txt; echo two > files/b.txt; \
        openssl req -x509 -newkey rsa:2048 -nodes -keyout tls.key -out tls.crt -subj /CN=x -days 2 2>/dev/null; \
        karavel create cronjob nightly --image=busybox --schedule='0 0 * * *' -- date";
    check(&up, prepare, "", 0, &["cronjob.batch/nightly created"]);
    for words in [
        "namespace shop",
        "serviceaccount builder",
        "deployment web --image=docker.io/library/nginx:1.27 --replicas=3 --port=80",
        "deployment web --image=nginx --image=redis:7",
        "deployment web --image=busybox -- sleep 9",
        "job once --image=busybox -- date -u",
        "job again --from=cronjob/nightly",
        "cronjob often --image=busybox --schedule='*/5 * * * *' --restart=Never",
        "configmap settings --from-literal=a=b --from-literal=c=d=e",
        "configmap settings --from-file=files --from-file=other=e.env",
        "configmap settings --from-env-file=e.env",
        "secret generic keys --from-literal=a=b --from-file=files/a.txt --type=Opaque",
        "secret tls cert --cert=tls.crt --key=tls.key",
        "secret docker-registry pull --docker-username=u --docker-password=p --docker-email=e@x.io",
        "service clusterip web --tcp=80:8080 --tcp=443",
        "service clusterip web --clusterip=None",
        "service nodeport web --tcp=80:http --node-port=30080",
        "service loadbalancer web --tcp=80",
        "service externalname web --external-name=x.io",
        "ingress web --class=nginx --rule='a.io/x*=web:80,tls=c' --rule='a.io/y=web:http' --rule='b.io/=db:1,tls=c' --annotation=k=v",
        "ingress web --default-backend=web:80",
        "pdb web --selector=app=web,tier=x --min-available=50%",
        "pdb web --selector=app=web --max-unavailable=1",
        "role reader --verb=get,list --verb=watch --resource=pods,deploy,pods/log,deployments.apps/scale",
        "role one --verb=get --resource=configmaps --resource-name=a --resource-name=b",
        "clusterrole reader --verb=get --resource=nodes --non-resource-url=/logs/*,/healthz",
        "clusterrole sum --aggregation-rule=rbac.example.com/to=view",
        "rolebinding b --clusterrole=view --user=jane --group=devs --serviceaccount=a:b",
        "clusterrolebinding b --clusterrole=view --user=jane",
        "quota q --hard=cpu=1,pods=2 --scopes=BestEffort",
        "priorityclass p --value=7 --description=d --global-default=true",
    ] {
        let (words, command) = match words.split_once(" -- ") {
            Some((words, command)) => (words, format!(" -- {command}")),
            None => (words, String::new()),
        };
        let line = |program: &str, dry_run: &str| {
            format!("{program} create {words} {dry_run} -o json{command}")
        };
        let expected = printed(&up, &line("kubectl", "--dry-run=client"));
        let made = printed(&up, &line("karavel", "--dry-run"));
        if words.starts_with("secret generic") {
            // Upstream: the type is left out where it is the usual one, and the server writes it in.
            assert_eq!(made["data"], expected["data"], "{words}");
            continue;
        }
        assert_eq!(
            made, expected,
            "{words}\n{made:#}\ninstead of\n{expected:#}"
        );
    }
    let token = check(
        &up,
        "karavel create token default --duration 10m",
        "",
        0,
        &[],
    );
    assert_eq!(token.trim().split('.').count(), 3, "{token}");
    check(&up, "karavel create token nobody", "", 1, &["NotFound"]);
    check(
        &up,
        "karavel create role r --verb=get --resource=podz",
        "",
        1,
        &["did you mean \"pods\"?"],
    );
    check(
        &up,
        "karavel create job j --from=cronjob/none",
        "",
        1,
        &["NotFound"],
    );
}

#[test]
fn flags_choose_and_change_as_in_kubectl() {
    let up = Up::start(1);
    check(
        &up,
        "karavel create deployment web --image=nginx --save-config && karavel create configmap settings --from-literal=a=b",
        "",
        0,
        &["deployment.apps/web created", "configmap/settings created"],
    );
    let file = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: default}\n";
    check(&up, "cat > web.yaml", file, 0, &[]);
    for (line, code, expected) in [
        (
            "karavel patch -f web.yaml -p '{\"spec\":{\"replicas\":2}}'",
            0,
            "deployment.apps/web patched",
        ),
        (
            "karavel label -f web.yaml tier=gold",
            0,
            "deployment.apps/web labeled",
        ),
        (
            "karavel annotate -f web.yaml owner=shop",
            0,
            "deployment.apps/web annotated",
        ),
        ("karavel get -f web.yaml --show-labels", 0, "tier=gold"),
        (
            "karavel label deployment web tier=iron --overwrite --resource-version 1",
            1,
            "Conflict",
        ),
        (
            "karavel get deployment web -o go-template --template '{{.spec.replicas}}'",
            0,
            "2",
        ),
        (
            "karavel get deployment web -o jsonpath --template '{.metadata.name}'",
            0,
            "web",
        ),
        (
            "karavel get deployment web -o go-template",
            1,
            "needs what to show",
        ),
        (
            "karavel -n kube-system create configmap elsewhere",
            0,
            "configmap/elsewhere created",
        ),
        ("karavel -n kube-system get configmaps", 0, "elsewhere"),
        (
            "karavel apply view-last-applied deployment/web",
            0,
            "replicas: 1",
        ),
        (
            "karavel apply view-last-applied configmap/settings",
            1,
            "no last-applied-configuration",
        ),
        (
            "EDITOR='sed -i s/nginx/httpd/' karavel edit deployment web --output-patch --save-config",
            0,
            "Patch: {",
        ),
        (
            "karavel apply view-last-applied deployment/web -o json",
            0,
            "httpd",
        ),
        ("karavel get pods", 0, "add -s members"),
        ("karavel get deployments -C member1", 0, "add -s members"),
        (
            "karavel get bindings",
            1,
            "did you mean \"resourcebindings\"",
        ),
        ("karavel get polices", 1, "\"propagationpolicies\""),
        (
            "karavel delete configmaps --field-selector metadata.name=nothing",
            0,
            "",
        ),
        (
            "karavel get configmap settings -o name",
            0,
            "configmap/settings",
        ),
    ] {
        check(&up, line, "", code, &[expected]);
    }
    check(
        &up,
        "karavel apply -f -",
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: applied}, data: {x: '1'}}",
        0,
        &["configmap/applied created"],
    );
    let shown = check(
        &up,
        "karavel apply view-last-applied configmap/applied",
        "",
        0,
        &["x: \"1\""],
    );
    assert!(!shown.contains("uid"), "{shown}");
    check(
        &up,
        "karavel delete configmap settings -i",
        "n\n",
        0,
        &[
            "about to delete the following 1 resource(s):\nconfigmap/settings",
            "cancelled",
        ],
    );
    check(
        &up,
        "karavel delete configmap settings -i",
        "y\n",
        0,
        &["configmap \"settings\" deleted"],
    );
    check(
        &up,
        "karavel delete all --all",
        "",
        0,
        &["deployment.apps \"web\" deleted"],
    );
    check(
        &up,
        "karavel get deployments",
        "",
        0,
        &["No resources found"],
    );
}

#[test]
fn commands_in_pods_of_files_run_and_events_are_followed() {
    let up = Up::start(1);
    check(
        &up,
        "karavel apply -f examples/first-steps/web.yaml --all-clusters",
        "",
        0,
        &["created"],
    );
    let command = "karavel exec -f examples/first-steps/web.yaml -C member1 -- date";
    until(&up, command, "", &[]);
    // Followed until what is looked for has come, however long that takes; whoever is interrupted has ended well.
    let mut followed = Command::new(KARAVEL)
        .args(["events", "--watch", "--for", "deployment/web"])
        .env("KUBECONFIG", up.kubeconfig())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(followed.stdout.take().unwrap()).lines();
    let mut lines = lines.map(Result::unwrap);
    let head = lines.next().unwrap();
    assert!(head.starts_with("LAST SEEN"), "{head}");
    // As without --watch: nobody adopts what has happened.
    assert!(!head.contains("ADOPTION"), "{head}");
    let mut seen = Vec::new();
    let is_seen = lines.any(|line| {
        let is_it = line.contains("ScheduleBindingSucceed");
        seen.push(line);
        is_it
    });
    assert!(is_seen, "{seen:?}");
    let interrupt = format!("kill -INT {}", followed.id());
    check(&up, &interrupt, "", 0, &[]);
    assert!(followed.wait().unwrap().success());
    // A reader that has gone ends it too, once there is more to say.
    let line = "karavel get deployment web --watch -o name | \
        (read -r first && exec <&- && karavel annotate deployment web seen=yes && echo $first)";
    check(&up, line, "", 0, &["deployment.apps/web"]);
}

#[test]
fn what_was_switched_at_the_server_is_told_and_heeded() {
    let up = Up::start_with(
        2,
        &[
            "--feature-gates",
            "PropagationPolicyPreemption=true",
            "--plugins",
            "*,-TaintToleration",
        ],
    );
    check(
        &up,
        "kubectl get --raw /configz",
        "",
        0,
        &[
            "\"PropagationPolicyPreemption\":true",
            "\"-TaintToleration\"",
        ],
    );
    check(
        &up,
        "karavel taint clusters member2 k=v:NoSchedule",
        "",
        0,
        &["tainted"],
    );
    check(
        &up,
        "karavel apply -f examples/first-steps/web.yaml",
        "",
        0,
        &[],
    );
    let policy = "{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: p}, spec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}], placement: {clusterAffinity: {clusterNames: [member2]}}}}";
    let told = check(
        &up,
        "karavel simulate -f -",
        policy,
        0,
        &["member2", "created"],
    );
    assert!(!told.contains("Note"), "{told}");
    let refused = check(
        &up,
        "karavel simulate -f - --plugins '*'",
        policy,
        0,
        &["NoClusterFit"],
    );
    assert!(!refused.contains("created"), "{refused}");
}
