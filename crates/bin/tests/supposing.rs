//! What `simulate` foretells and `explain` says where something other than a policy decides: suspensions, namespaces, what
//! members have already, other schedulers, and users who may see little.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod asking;
mod running;
mod waiting;

use asking::{check, until};
use object::Value;
use running::{Up, both};
use waiting::wait_for;

/// Supposes until this is what would become of one object in each cluster: `member1 created, member2 held back`. What was
/// applied before may still be on its way.
#[track_caller]
fn foretell(up: &Up, flags: &str, input: &str, (kind, name): (&str, &str), expected: &str) {
    wait_for(|| match foretold(up, flags, input, kind, name) {
        told if told == expected => Ok(()),
        told => Err(format!(
            "simulate {flags}: {kind} {name}: {told}\ninstead of: {expected}"
        )),
    });
}

/// What would become of one object in each cluster, as it is seen now.
#[track_caller]
fn foretold(up: &Up, flags: &str, input: &str, kind: &str, name: &str) -> String {
    let output = up.shell(&format!("karavel simulate {flags} -o json"), input);
    assert!(output.status.success(), "{}", both(&output));
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    let templates = told["templates"].as_array().unwrap();
    let found = templates
        .iter()
        .find(|template| template["kind"] == kind && template["name"] == name);
    let Some(found) = found else {
        return "nothing".to_owned();
    };
    let clusters = found["clusters"].as_array().unwrap().iter();
    let clusters: Vec<String> = clusters
        .map(|cluster| {
            let text = |field: &str| cluster[field].as_str().unwrap_or_default().to_owned();
            format!("{} {}", text("name"), text("action"))
        })
        .collect();
    let affected = match found["isAffected"] == true {
        true => "",
        false => " (as it is)",
    };
    format!("{}{affected}", clusters.join(", "))
}

fn config_map(name: &str, colour: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}}}, data: {{colour: {colour}}}}}"
    )
}

fn policy(spec: &str) -> String {
    format!(
        "{{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {{name: p}}, spec: {{resourceSelectors: [{{apiVersion: v1, kind: ConfigMap, name: a}}]{spec}}}}}"
    )
}

fn documents(all: &[String]) -> String {
    all.join("\n---\n")
}

#[test]
fn suspensions_and_what_members_have_are_foretold_as_they_come() {
    let up = Up::start(2);
    let suspended = policy(", suspension: {dispatchingOnClusters: {clusterNames: [member1]}}");
    let both_files = documents(&[config_map("a", "blue"), suspended.clone()]);
    foretell(
        &up,
        "-f -",
        &both_files,
        ("ConfigMap", "a"),
        "member1 held back, member2 created",
    );
    check(&up, "karavel apply -f -", &both_files, 0, &["created"]);
    until(
        &up,
        "karavel get configmap a -C member2 -s members",
        "",
        &["member2"],
    );
    let again = until(
        &up,
        "karavel simulate -f -",
        &both_files,
        &["nothing would change"],
    );
    assert!(!again.contains("held back"), "{again}");
    // What is changed meanwhile waits too; and all of it goes once the suspension ends.
    let red = config_map("a", "red");
    foretell(
        &up,
        "-f -",
        &red,
        ("ConfigMap", "a"),
        "member1 held back, member2 changed",
    );
    check(
        &up,
        "karavel simulate -f -",
        &red,
        0,
        &[
            "member1",
            "held back: dispatching is suspended",
            "~ /data/colour \"blue\" -> \"red\"",
            "member2",
            "changed",
        ],
    );
    foretell(
        &up,
        "-f -",
        &policy(""),
        ("ConfigMap", "a"),
        "member1 created, member2 stays",
    );

    // What a member has already is not created.
    let own = "karavel --karmada-context member1 create configmap a --from-literal=colour=green";
    check(&up, own, "", 0, &["created"]);
    check(
        &up,
        "karavel simulate -f -",
        &policy(""),
        0,
        &["member1", "conflict", "conflictResolution: Overwrite"],
    );
    let over = policy(", conflictResolution: Overwrite");
    check(
        &up,
        "karavel simulate -f -",
        &over,
        0,
        &[
            "member1",
            "changed",
            "is taken over",
            "~ /data/colour \"green\" -> \"blue\"",
        ],
    );
    check(&up, "karavel apply -f -", &over, 0, &["configured"]);
    until(
        &up,
        "karavel get configmap a -C member1 -s members -o jsonpath='{.data.colour}'",
        "",
        &["blue"],
    );
}

#[test]
fn what_has_not_arrived_is_asked_for_in_the_cluster() {
    let up = Up::start(2);
    let own = "karavel --karmada-context member1 create configmap a --from-literal=colour=green";
    check(&up, own, "", 0, &["created"]);
    let files = documents(&[config_map("a", "blue"), policy("")]);
    check(&up, "karavel apply -f -", &files, 0, &["created"]);
    let applied = [
        "karmada-es-member1/",
        "Applied False",
        "karmada-es-member2/",
        "Applied True",
    ];
    until(&up, "karavel explain configmap/a", "", &applied);
    let told = |input: &str, expected: &str| {
        foretell(&up, "-f -", input, ("ConfigMap", "a"), expected);
    };
    // What stands in the way is no change, no news, and not deleted.
    told(&config_map("a", "red"), "member1 conflict, member2 changed");
    told(
        &config_map("other", "red"),
        "member1 conflict, member2 stays (as it is)",
    );
    let only = policy(", placement: {clusterAffinity: {clusterNames: [member2]}}");
    check(
        &up,
        "karavel simulate -f -",
        &only,
        0,
        &["member1", "stays", "is not managed from here", "member2"],
    );
    // That it is taken over is news, though what is sent is the same.
    check(
        &up,
        "karavel simulate -f -",
        &policy(", conflictResolution: Overwrite"),
        0,
        &[
            "member1",
            "changed",
            "is taken over",
            "~ /data/colour \"green\" -> \"blue\"",
        ],
    );
    // What is not there cannot be deleted.
    let gone = "karavel --karmada-context member1 delete configmap a";
    let held = policy(", suspension: {dispatching: true}");
    check(&up, "karavel apply -f -", &held, 0, &["configured"]);
    let held = [
        "karmada-es-member1/",
        "held back",
        "karmada-es-member2/",
        "held back",
    ];
    until(&up, "karavel explain configmap/a", "", &held);
    check(&up, gone, "", 0, &["deleted"]);
    check(
        &up,
        "karavel simulate -f -",
        &only,
        0,
        &["member1", "is not there", "member2"],
    );
}

#[test]
fn namespaces_stay_in_clusters_that_no_policy_sends_them_to() {
    let up = Up::start(2);
    let space = |name: &str, labels: &str| {
        format!(
            "{{apiVersion: v1, kind: Namespace, metadata: {{name: {name}, labels: {{{labels}}}}}}}"
        )
    };
    let claim = "{apiVersion: policy.karmada.io/v1alpha1, kind: ClusterPropagationPolicy, metadata: {name: spaces}, spec: {resourceSelectors: [{apiVersion: v1, kind: Namespace, name: bank}], placement: {clusterAffinity: {clusterNames: [member1]}}}}";
    let both_files = documents(&[space("bank", ""), claim.to_owned()]);
    let told = |input: &str, expected: &str| {
        foretell(&up, "-f -", input, ("Namespace", "bank"), expected);
    };
    told(&both_files, "member1 created, member2 created");
    check(&up, "karavel apply -f -", &both_files, 0, &["created"]);
    until(
        &up,
        "karavel explain namespace/bank",
        "",
        &["ClusterPropagationPolicy spaces"],
    );
    for member in ["member1", "member2"] {
        let line = format!("karavel get namespace bank -C {member} -s members");
        until(&up, &line, "", &[member]);
    }
    until(
        &up,
        "karavel explain namespace/bank --cluster member1",
        "",
        &["Applied True"],
    );
    told(
        &config_map("other", "red"),
        "member1 stays, member2 stays (as it is)",
    );

    // What opted out has to be there already for what is in it.
    let skip = "namespace.karmada.io/skip-auto-propagation: \"true\"";
    let home = space("home", skip);
    check(&up, "karavel apply -f -", &home, 0, &["created"]);
    let inside =
        |text: String| text.replace("metadata: {name:", "metadata: {namespace: home, name:");
    let files = documents(&[inside(config_map("a", "blue")), inside(policy(""))]);
    check(
        &up,
        "karavel simulate -f -",
        &files,
        0,
        &[
            "ConfigMap home/a (new)",
            "member1",
            "refused",
            "the cluster has no namespace home",
            "skip-auto-propagation",
        ],
    );
    let own = "karavel --karmada-context member2 create namespace home";
    check(&up, own, "", 0, &["created"]);
    foretell(
        &up,
        "-f -",
        &files,
        ("ConfigMap", "a"),
        "member1 refused, member2 created",
    );
}

#[test]
fn kinds_come_along_with_their_objects() {
    let up = Up::start(2);
    let gadgets = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: gadgets.shop.io}, spec: {group: shop.io, scope: Namespaced, names: {kind: Gadget, plural: gadgets, singular: gadget, listKind: GadgetList}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}";
    let gadget = "{apiVersion: shop.io/v1, kind: Gadget, metadata: {name: g}, spec: {size: 3}}";
    let kinds = "{apiVersion: policy.karmada.io/v1alpha1, kind: ClusterPropagationPolicy, metadata: {name: kinds}, spec: {resourceSelectors: [{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, name: gadgets.shop.io}]}}";
    let objects = "{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: objects}, spec: {resourceSelectors: [{apiVersion: shop.io/v1, kind: Gadget}]}}";
    let all = [gadgets, gadget, objects, kinds].map(str::to_owned);
    let created = "member1 created, member2 created";
    foretell(&up, "-f -", &documents(&all), ("Gadget", "g"), created);
    check(
        &up,
        "karavel simulate -f -",
        &documents(&all),
        0,
        &[
            "(Gadget) are taken as they are",
            "no server has checked them",
        ],
    );
    // Clusters that are not sent the definition do not serve the kind.
    check(
        &up,
        "karavel simulate -f -",
        &documents(&all[..3]),
        0,
        &["Gadget default/g (new)", "did not have the API"],
    );
    check(&up, "karavel apply -f -", &documents(&all), 0, &["created"]);
    let everywhere = ["member1", "member2"];
    until(&up, "karavel get gadgets -s members", "", &everywhere);
}

#[test]
fn a_file_is_supposed_in_the_order_in_which_it_is_applied() {
    let up = Up::start(1);
    let gadgets = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: gadgets.shop.io}, spec: {group: shop.io, scope: Cluster, names: {kind: Gadget, plural: gadgets, singular: gadget, listKind: GadgetList}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}";
    let gadget = "{apiVersion: shop.io/v1, kind: Gadget, metadata: {name: g}}";
    let space = "{apiVersion: v1, kind: Namespace, metadata: {name: bank}}";
    let inside = config_map("a", "red").replace("{name: a}", "{name: a, namespace: bank}");
    for (first, then, said) in [
        (space, inside.as_str(), "namespaces \"bank\" not found"),
        (gadgets, gadget, "no matches for kind \"Gadget\""),
    ] {
        let wrong = documents(&[then.to_owned(), first.to_owned()]);
        let right = documents(&[first.to_owned(), then.to_owned()]);
        check(
            &up,
            "karavel simulate -f -",
            &right,
            0,
            &["Nothing was done"],
        );
        let words = [said, "it comes later in what was given: put it first"];
        check(&up, "karavel simulate -f -", &wrong, 1, &words);
        check(&up, "karavel apply -f -", &wrong, 1, &[said]);
    }
}

#[test]
fn only_what_is_there_is_lost_with_a_cluster_and_what_is_kept_is_not_gone() {
    let up = Up::start(2);
    let own = "karavel --karmada-context member1 create configmap a --from-literal=colour=green";
    check(&up, own, "", 0, &["created"]);
    let files = documents(&[config_map("a", "blue"), policy("")]);
    check(&up, "karavel apply -f -", &files, 0, &["created"]);
    let applied = ["karmada-es-member1/", "Applied False", "Applied True"];
    until(&up, "karavel explain configmap/a", "", &applied);
    let told = |flags: &str, expected: &str| {
        foretell(&up, flags, "", ("ConfigMap", "a"), expected);
    };
    told("--lose member1", "member1 absent, member2 stays (as it is)");
    told(
        "--lose member2",
        "member1 conflict, member2 lost with its cluster",
    );
    let keeping = "
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 2, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: nginx}]}}}}
---
{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: web}, spec: {preserveResourcesOnDeletion: true, resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}], placement: {clusterAffinity: {clusterNames: [member1, member2]}}}}";
    check(&up, "karavel apply -f -", keeping, 0, &["created"]);
    let applied = ["member1/", "Applied True", "member2/", "Applied True"];
    until(&up, "karavel explain deployment/web", "", &applied);
    let only = keeping.replace("[member1, member2]", "[member2]");
    check(
        &up,
        "karavel simulate -f -",
        &only,
        0,
        &[
            "member1   2 replicas   stays, no longer managed",
            "member1   0         0         0         0      0\n",
        ],
    );
}

#[test]
fn namespaces_names_to_be_made_and_rules_that_fail_anyway_are_told_for_what_they_are() {
    let up = Up::start(2);
    let space = |labels: &str| {
        format!(
            "{{apiVersion: v1, kind: Namespace, metadata: {{name: bank, labels: {{{labels}}}}}}}"
        )
    };
    let created = "member1 created, member2 created";
    let told = |expected: &str| {
        foretell(&up, "-f -", &space(""), ("Namespace", "bank"), expected);
    };
    told(created);
    check(
        &up,
        "karavel simulate -f -",
        &space("namespace.karmada.io/skip-auto-propagation: \"true\""),
        0,
        &[
            "Namespace bank (new)",
            "goes to no cluster: it has opted out",
        ],
    );
    // One member has it already, and keeps it.
    let own = "karavel --karmada-context member1 create namespace bank";
    check(&up, own, "", 0, &["created"]);
    told("member1 stays, member2 created");
    check(&up, "karavel apply -f -", &space(""), 0, &["created"]);
    until(
        &up,
        "karavel explain namespace/bank",
        "",
        &[
            "none is needed: namespaces go to every cluster",
            "member1",
            "Applied False",
            "member2",
            "Applied True",
        ],
    );
    check(
        &up,
        "karavel explain namespace/default",
        "",
        0,
        &["none: it goes to no cluster"],
    );
    check(
        &up,
        "karavel simulate --lose member2,member2",
        "",
        0,
        &[
            "Without member2:",
            "Namespace bank",
            "lost with its cluster",
        ],
    );

    let job = "{apiVersion: batch/v1, kind: Job, metadata: {generateName: pay-, namespace: bank}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}}";
    check(
        &up,
        "karavel simulate -f -",
        job,
        0,
        &[
            "Job bank/pay-",
            "its name is an example",
            "no policy selects it",
        ],
    );
    check(
        &up,
        "karavel apply -f -",
        job,
        1,
        &["cannot use generate name with apply", "karavel create -f"],
    );

    // What objects mean, and what is for the control plane alone.
    check(
        &up,
        "karavel simulate -f examples/interpretation/customization.yaml",
        "",
        0,
        &["nothing would change"],
    );
    let rebalancer = "{apiVersion: apps.karmada.io/v1alpha1, kind: WorkloadRebalancer, metadata: {name: w}, spec: {workloads: [{apiVersion: apps/v1, kind: Deployment, name: x, namespace: bank}]}}";
    check(
        &up,
        "karavel simulate -f -",
        rebalancer,
        0,
        &[
            "WorkloadRebalancer w (new)",
            "is for the control plane itself",
        ],
    );
    check(
        &up,
        "karavel get cluster member1 -o yaml | sed 's/^  taints:.*/  taints: [{key: a, effect: NoExecute}]/; /resourceVersion/d' | karavel simulate -f -",
        "",
        0,
        &["what a NoExecute taint drives out of member1"],
    );

    // A rule that fails today fails tomorrow: nothing of it would change.
    let failing = "{apiVersion: policy.karmada.io/v1alpha1, kind: OverridePolicy, metadata: {name: o}, spec: {overrideRules: [{overriders: {plaintext: [{path: /data/none/below, operator: replace, value: x}]}}]}}";
    let all = documents(&[failing.to_owned(), config_map("a", "blue"), policy("")]);
    check(&up, "karavel apply -f -", &all, 0, &["created"]);
    let failing = ["cannot be made for it"];
    until(&up, "karavel explain configmap/a", "", &failing);
    let settled = ["nothing would change"];
    until(&up, "karavel simulate -f -", &all, &settled);
    check(
        &up,
        "karavel simulate -f - --all",
        &all,
        0,
        &["ConfigMap default/a", "member1", "refused"],
    );
    // Who applies decides what goes along with a field that left the file.
    let plain = |data: &str| {
        format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: two}}, data: {{{data}}}}}")
    };
    let apply = "karavel apply --field-manager robot -f -";
    check(&up, apply, &plain("x: one, z: two"), 0, &["created"]);
    let edited = |flags: &str| {
        let line = format!("karavel simulate {flags} -f - -o json");
        let output = up.shell(&line, &plain("x: one"));
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        let templates = told["templates"].as_array().unwrap();
        let two = templates.iter().find(|one| one["name"] == "two").unwrap();
        two["isEdited"] == true
    };
    assert!(edited("--field-manager robot"));
    assert!(!edited(""));
}

#[test]
fn what_others_decide_is_not_waited_for() {
    let up = Up::start(1);
    let elsewhere = documents(&[config_map("a", "blue"), policy(", schedulerName: mine")]);
    check(
        &up,
        "karavel simulate -f -",
        &elsewhere,
        0,
        &["where it goes is left to the scheduler \"mine\""],
    );
    check(&up, "karavel apply -f -", &elsewhere, 0, &["created"]);
    let said = until(
        &up,
        "karavel explain configmap/a",
        "",
        &["where it goes is left to the scheduler \"mine\""],
    );
    assert!(!said.contains("has not looked"), "{said}");
}

#[test]
fn who_may_see_one_cluster_needs_no_list_of_all() {
    let up = Up::start(2);
    let role = |name: &str, rules: &str| {
        format!(
            "{{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {{name: {name}}}, rules: [{rules}]}}\n---\n{{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {{name: {name}}}, roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {name}}}, subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: User, name: jane}}]}}"
        )
    };
    let seeing = role(
        "jane",
        "{apiGroups: [cluster.karmada.io], resources: [clusters], resourceNames: [member1], verbs: [get]}, {apiGroups: [cluster.karmada.io], resources: [clusters/proxy], resourceNames: [member1], verbs: ['*']}, {apiGroups: [''], resources: [configmaps], verbs: [get, list, watch]}",
    );
    check(&up, "karavel apply -f -", &seeing, 0, &["created"]);
    let inside = role(
        "jane",
        "{apiGroups: [''], resources: [configmaps, events], verbs: [get, list, watch]}",
    );
    check(
        &up,
        "karavel --karmada-context member1 apply -f -",
        &inside,
        0,
        &["created"],
    );
    check(&up, "karavel create configmap a", "", 0, &["created"]);
    check(
        &up,
        "karavel --karmada-context member1 create configmap a",
        "",
        0,
        &["created"],
    );
    let own = "sed '0,/\"client-certificate-data\"/s//\"as\": \"jane\", &/' $KUBECONFIG > jane";
    check(&up, own, "", 0, &[]);
    let jane = |words: &str| format!("KUBECONFIG=jane karavel {words}");
    // Who may be let through to a member is told there a moment later.
    let shown = jane("get configmap a -s members -C member1");
    until(&up, &shown, "", &["a "]);
    for words in [
        "get configmap a -s members -C member1",
        "describe configmap a -C member1",
        "events -s members -C member1",
        "get configmap a -s all -C member1",
    ] {
        check(&up, &jane(words), "", 0, &[]);
    }
    check(
        &up,
        &jane("get configmap a -s members -C member2"),
        "",
        1,
        &["cluster(member2)", "is forbidden", "cluster-proxy-admin"],
    );
    // Let through to a member, and without a role there.
    check(
        &up,
        &jane("get secret a -s members -C member1"),
        "",
        1,
        &["cluster(member1)", "is forbidden", "lacks a role there"],
    );
    // Without leave to list clusters the rest is shown, and it is said what is missing.
    check(
        &up,
        &jane("get configmap a -s all"),
        "",
        1,
        &["Karmada", "(Forbidden)", "clusters", "--clusters"],
    );
}
