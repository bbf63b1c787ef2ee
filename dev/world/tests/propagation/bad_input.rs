//! What users get wrong is told where they look, and hurts nobody else.

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use world::json;

use crate::stage::{
    CONFIG_MAPS, DEPLOYMENTS, SOON, Stage, WHILE, all, cluster_policy, config_map, customization,
    deployment, on, one_deployment, overriding, policy,
};

/// Waits until a condition of a binding in `test` has the status and reason, and its message all of the texts.
async fn says(stage: &Stage, binding: &str, condition: &str, status: &str, texts: &[&str]) {
    let name = format!("test/{binding}");
    let what = format!("{condition} of {name} is {status} and says {texts:?}");
    let path = format!("status.conditions.type={condition}.message");
    stage
        .until(&what, SOON, async || {
            let message = stage.template("rb", &name).field(&path).await;
            let message = message.as_str().unwrap_or_default();
            stage.template("rb", &name).condition(condition).await == status
                && texts.iter().all(|text| message.contains(text))
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_policy_that_names_a_kind_nobody_serves_says_so() {
    let stage = Stage::with(1).await;
    stage
        .spread(
            &[deployment("web", 1)],
            &format!("{{apiVersion: acme.io/v1, kind: Gadget}}, {DEPLOYMENTS}"),
            "m1",
        )
        .await;
    stage
        .template("deployments", "test/web")
        .shows("status.readyReplicas", 1)
        .await;
    stage
        .told(
            "PropagationPolicy",
            "test/p",
            "SelectorMatchesNothing",
            "spec.resourceSelectors[0]: no kind Gadget is served in acme.io",
        )
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_comes_right_after_its_policy_is_not_missed() {
    let stage = Stage::with(1).await;
    let definition = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: gadgets.acme.io}, spec: {group: acme.io, scope: Namespaced, names: {plural: gadgets, kind: Gadget}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}";
    stage
        .apply(&policy(
            "p",
            "{apiVersion: acme.io/v1, kind: Gadget}",
            &on("m1"),
        ))
        .await;
    stage.advance(Duration::from_secs(1)).await;
    stage.apply(definition).await;
    stage.advance(WHILE).await;
    let told = stage.events("PropagationPolicy", "p").await;
    assert!(told.is_empty(), "{told:#?}");
}

#[tokio::test(start_paused = true)]
async fn a_selector_that_can_select_nothing_says_what_is_wrong_with_it() {
    let stage = Stage::with(1).await;
    let selectors = "{apiVersion: apps/v1beta9, kind: Deployment}, {apiVersion: v1, kind: Node}, {apiVersion: a/b/c, kind: Odd}";
    stage
        .apply(&all(&[
            policy("p", selectors, &on("m1")),
            overriding("o", selectors, "", "{labelsOverrider: []}"),
            cluster_policy("c", "{apiVersion: v1, kind: Node}", &on("m1")),
        ]))
        .await;
    for (kind, name) in [
        ("PropagationPolicy", "test/p"),
        ("OverridePolicy", "test/o"),
    ] {
        for text in [
            "[0]: Deployment of apps is not served in \"v1beta9\", but in v1",
            "[1]: Node of the core group has no namespace, and this policy selects only what is in test",
            "[2]: apiVersion \"a/b/c\" is neither a version nor a group and a version",
        ] {
            stage.told(kind, name, "SelectorMatchesNothing", text).await;
        }
    }
    let told = stage.events("ClusterPropagationPolicy", "c").await;
    assert!(told.is_empty(), "{told:#?}");
}

#[tokio::test(start_paused = true)]
async fn a_namespace_where_a_cluster_wide_policy_selects_nothing_is_told() {
    let stage = Stage::with(1).await;
    let selectors = "{apiVersion: v1, kind: Node, namespace: dep}, {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, namespace: dep, name: foo}, {apiVersion: v1, kind: Secret, namespace: karmada-system}, {apiVersion: v1, kind: Secret, namespace: dep}";
    let overriding = overriding("o", selectors, "", "{labelsOverrider: []}")
        .replace("kind: OverridePolicy", "kind: ClusterOverridePolicy")
        .replace(", namespace: test}", "}");
    stage
        .apply(&all(&[
            cluster_policy("c", selectors, &on("m1")),
            overriding,
        ]))
        .await;
    for (kind, name) in [
        ("ClusterPropagationPolicy", "c"),
        ("ClusterOverridePolicy", "o"),
    ] {
        for text in [
            "[0]: Node of the core group has no namespace, and this selector selects only what is in dep",
            "[1]: ClusterRole of rbac.authorization.k8s.io has no namespace, and this selector selects only what is in dep",
            "[2]: nothing in karmada-system is ever propagated: the namespace belongs to the control plane",
        ] {
            stage.told(kind, name, "SelectorMatchesNothing", text).await;
        }
        assert_eq!(stage.events(kind, name).await.len(), 3, "{kind}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_version_that_is_served_no_longer_is_told_on_the_policy_that_names_it() {
    let stage = Stage::with(1).await;
    let gadgets = |is_old_served: bool| {
        let version = |name: &str, is_served: bool, is_stored: bool| {
            format!(
                "{{name: {name}, served: {is_served}, storage: {is_stored}, schema: {{openAPIV3Schema: {{type: object}}}}}}"
            )
        };
        let versions = [
            version("v1", is_old_served, false),
            version("v2", true, true),
        ];
        format!(
            "{{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {{name: gadgets.acme.io}}, spec: {{group: acme.io, scope: Namespaced, names: {{plural: gadgets, singular: gadget, kind: Gadget}}, versions: [{}]}}}}",
            versions.join(", ")
        )
    };
    stage.apply(&gadgets(true)).await;
    stage.advance(SOON).await;
    let selector = "{apiVersion: acme.io/v1, kind: Gadget}";
    stage.apply(&policy("p", selector, &on("m1"))).await;
    stage.advance(SOON).await;
    assert!(stage.events("PropagationPolicy", "p").await.is_empty());
    stage.apply(&gadgets(false)).await;
    let text = "[0]: Gadget of acme.io is not served in \"v1\", but in v2";
    stage
        .told(
            "PropagationPolicy",
            "test/p",
            "SelectorMatchesNothing",
            text,
        )
        .await;
}

#[tokio::test(start_paused = true)]
async fn an_override_path_that_does_not_exist_is_told_with_policy_rule_and_path() {
    let stage = Stage::with(1).await;
    stage
        .apply(&all(&[
            overriding(
                "op",
                &one_deployment("bad"),
                "",
                "{plaintext: [{path: /spec/nothing/here, operator: replace, value: 1}]}",
            ),
            deployment("bad", 1),
            deployment("good", 1),
            policy("p", DEPLOYMENTS, &on("m1")),
        ]))
        .await;
    stage
        .template("deployments", "test/good")
        .shows("status.readyReplicas", 1)
        .await;
    for (kind, name) in [
        ("Deployment", "test/bad"),
        ("ResourceBinding", "test/bad-deployment"),
        ("OverridePolicy", "test/op"),
    ] {
        for text in ["test/op", "m1", "/spec/nothing/here", "overrideRules[0]"] {
            stage
                .told(kind, name, "ApplyOverridePolicyFailed", text)
                .await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_override_that_makes_another_object_of_a_template_reaches_no_member() {
    let stage = Stage::with(1).await;
    let root = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: root}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}, subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: eve}]}";
    stage
        .apply(&all(&[
            overriding(
                "op",
                &one_deployment("bad"),
                "",
                &format!("{{plaintext: [{{path: '', operator: replace, value: {root}}}]}}"),
            ),
            deployment("bad", 1),
            deployment("good", 1),
            policy("p", DEPLOYMENTS, &on("m1")),
        ]))
        .await;
    stage
        .template("deployments", "test/good")
        .shows("status.readyReplicas", 1)
        .await;
    says(
        &stage,
        "bad-deployment",
        "Rendered",
        "False ApplyOverridePolicyFailed",
        &[
            "m1: ",
            "OverridePolicy test/op",
            "spec.overrideRules[0].overriders.plaintext",
            "API group would change from \"apps\" to \"rbac.authorization.k8s.io\"",
        ],
    )
    .await;
    assert!(stage.work("Deployment", "bad", "m1").await.is_none());
    assert!(
        stage
            .work("ClusterRoleBinding", "root", "m1")
            .await
            .is_none()
    );
}

#[tokio::test(start_paused = true)]
async fn an_override_gives_nobody_rights_in_members() {
    let stage = Stage::with(1).await;
    let bindings = "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding}";
    let copy = stage.copy("m1", "rolebindings", "test/readers");
    stage.spread(&[readers("view")], bindings, "m1").await;
    copy.shows("roleRef.name", "view").await;
    let admin = "{plaintext: [{path: /roleRef/name, operator: replace, value: cluster-admin}, {path: /metadata/labels, operator: add, value: {new: 'yes'}}]}";
    stage.apply(&overriding("op", bindings, "", admin)).await;
    says(
        &stage,
        "readers-rolebinding",
        "Rendered",
        "False ApplyOverridePolicyFailed",
        &[
            "m1: ",
            "OverridePolicy test/op",
            "spec.overrideRules[0].overriders.plaintext at /roleRef",
            "no override gives rights",
        ],
    )
    .await;
    for (kind, name) in [
        ("RoleBinding", "test/readers"),
        ("ResourceBinding", "test/readers-rolebinding"),
        ("OverridePolicy", "test/op"),
    ] {
        stage
            .told(kind, name, "ApplyOverridePolicyFailed", "at /roleRef")
            .await;
    }
    copy.shows("roleRef.name", "view").await;
    assert_eq!(copy.field("metadata.labels.new").await, json!(null));
    // What the author writes anew with another role is made anew in the member, where no role can be exchanged.
    stage.delete("overridepolicies", "test/op").await;
    stage.delete("rolebindings", "test/readers").await;
    stage.apply(&readers("edit")).await;
    copy.shows("roleRef.name", "edit").await;
    stage
        .template("rb", "test/readers-rolebinding")
        .shows("status.conditions.type=FullyApplied.status", "True")
        .await;
}

/// A RoleBinding in `test` that gives a group the rights of a ClusterRole.
fn readers(role: &str) -> String {
    format!(
        "{{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {{name: readers, namespace: test}}, roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {role}}}, subjects: [{{kind: Group, apiGroup: rbac.authorization.k8s.io, name: readers}}]}}"
    )
}

#[tokio::test(start_paused = true)]
async fn a_binding_written_by_hand_sends_nothing_from_outside_its_namespace() {
    let stage = Stage::with(1).await;
    let by_hand = |name: &str, resource: &str| {
        format!(
            "{{apiVersion: work.karmada.io/v1alpha2, kind: ResourceBinding, metadata: {{name: {name}, namespace: test}}, spec: {{resource: {{{resource}}}, clusters: [{{name: m1}}]}}}}"
        )
    };
    stage
        .apply(&all(&[
            config_map("own", "{a: b}"),
            by_hand("own", "apiVersion: v1, kind: ConfigMap, namespace: test, name: own"),
            by_hand("nowhere", "apiVersion: v1, kind: ConfigMap, name: own"),
            by_hand("wide", "apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, name: view"),
            by_hand("wider", "apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, namespace: test, name: view"),
        ]))
        .await;
    stage
        .copy("m1", "configmaps", "test/own")
        .shows("metadata.name", "own")
        .await;
    for (name, text) in [
        ("nowhere", "spec.resource.namespace is \"\""),
        ("wide", "spec.resource.namespace is \"\""),
        (
            "wider",
            "spec.resource.kind ClusterRole.rbac.authorization.k8s.io has no namespace",
        ),
    ] {
        says(&stage, name, "Rendered", "False SyncWorkFailed", &[text]).await;
        stage
            .told(
                "ResourceBinding",
                &format!("test/{name}"),
                "SyncWorkFailed",
                text,
            )
            .await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_goes_is_told_on_the_policy_that_selects_it() {
    let stage = Stage::with(1).await;
    stage
        .apply("{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: gadgets.acme.io}, spec: {group: acme.io, scope: Namespaced, names: {plural: gadgets, singular: gadget, kind: Gadget}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}")
        .await;
    stage.advance(SOON).await;
    stage
        .apply(&policy(
            "p",
            "{apiVersion: acme.io/v1, kind: Gadget}",
            &on("m1"),
        ))
        .await;
    stage.advance(SOON).await;
    assert!(stage.events("PropagationPolicy", "p").await.is_empty());
    stage
        .template("customresourcedefinitions", "gadgets.acme.io")
        .delete()
        .await;
    stage
        .told(
            "PropagationPolicy",
            "test/p",
            "SelectorMatchesNothing",
            "spec.resourceSelectors[0]: no kind Gadget is served in acme.io",
        )
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_binding_that_was_applied_says_so_no_longer_once_an_override_fails_for_one_cluster() {
    let stage = Stage::with(2).await;
    let web_in_m1 = stage.copy("m1", "deployments", "test/web");
    stage
        .spread(&[deployment("web", 1)], DEPLOYMENTS, "m1, m2")
        .await;
    let binding = "web-deployment";
    says(
        &stage,
        binding,
        "FullyApplied",
        "True FullyAppliedSuccess",
        &["2 clusters"],
    )
    .await;
    let rendered = stage
        .template("rb", "test/web-deployment")
        .condition("Rendered")
        .await;
    assert_eq!(rendered, "", "what never failed is not told");
    let broken = overriding(
        "op",
        DEPLOYMENTS,
        "m1",
        "{plaintext: [{path: /spec/nothing/here, operator: replace, value: 1}]}",
    );
    stage.apply(&broken).await;
    let place = [
        "m1: ",
        "OverridePolicy test/op",
        "spec.overrideRules[0].overriders.plaintext[0]",
        "/spec/nothing/here",
    ];
    let failed = "False ApplyOverridePolicyFailed";
    says(&stage, binding, "Rendered", failed, &place).await;
    says(
        &stage,
        binding,
        "FullyApplied",
        "False FullyAppliedFailed",
        &place,
    )
    .await;
    // A change of the template reaches the cluster that has no such rule.
    stage
        .template("deployments", "test/web")
        .patch(json!({"spec": {"replicas": 3}}))
        .await;
    let path = "spec.replicas";
    stage
        .copy("m2", "deployments", "test/web")
        .shows(path, 3)
        .await;
    web_in_m1.keeps(path, 1).await;
    says(
        &stage,
        binding,
        "FullyApplied",
        "False FullyAppliedFailed",
        &place,
    )
    .await;
    stage.template("overridepolicies", "test/op").delete().await;
    web_in_m1.shows(path, 3).await;
    says(&stage, binding, "Rendered", "True Success", &[]).await;
    says(
        &stage,
        binding,
        "FullyApplied",
        "True FullyAppliedSuccess",
        &["2 clusters"],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_override_that_fails_for_one_cluster_is_nowhere_told_as_a_success() {
    let stage = Stage::with(2).await;
    stage
        .apply(&all(&[
            overriding(
                "op",
                DEPLOYMENTS,
                "m1",
                "{plaintext: [{path: /spec/nothing/here, operator: replace, value: 1}]}",
            ),
            deployment("web", 1),
            policy("p", DEPLOYMENTS, &on("m1, m2")),
        ]))
        .await;
    let web = stage.template("deployments", "test/web");
    web.shows("status.readyReplicas", 1).await;
    web.patch(json!({"spec": {"replicas": 2}})).await;
    web.shows("status.readyReplicas", 2).await;
    stage.advance(SOON).await;
    for (kind, name) in [
        ("Deployment", "test/web"),
        ("ResourceBinding", "test/web-deployment"),
    ] {
        let events = stage.events(kind, name).await;
        let told = |reason: &str| events.iter().any(|event| event.starts_with(reason));
        assert!(told("ApplyOverridePolicyFailed"), "{events:#?}");
        for reason in ["SyncWorkSucceed", "AggregateStatusSucceed"] {
            assert!(!told(reason), "{events:#?}");
        }
    }
    let client = stage.client();
    let figures = client.request(Method::GET, "/metrics", "text/plain", Bytes::new());
    let figures = String::from_utf8(figures.await.unwrap().to_vec()).unwrap();
    let counted = "binding_sync_work_duration_seconds_count{result=";
    let results: Vec<&str> = figures
        .lines()
        .filter_map(|line| line.strip_prefix(counted))
        .collect();
    assert!(
        results.len() == 1 && results[0].starts_with("\"error\""),
        "{results:?}"
    );
    // Once it is mended, that is told.
    stage.template("overridepolicies", "test/op").delete().await;
    stage
        .told(
            "Deployment",
            "test/web",
            "SyncWorkSucceed",
            "test/web-deployment",
        )
        .await;
    stage
        .told(
            "ResourceBinding",
            "test/web-deployment",
            "AggregateStatusSucceed",
            "2 clusters",
        )
        .await;
}

#[tokio::test(start_paused = true)]
async fn what_a_policy_selects_in_vain_is_told_as_long_as_it_is_so() {
    let stage = Stage::with(0).await;
    stage
        .apply(&policy(
            "p",
            "{apiVersion: acme.io/v1, kind: Gadget}",
            &on("m1"),
        ))
        .await;
    // Events are kept for an hour.
    stage.advance(SOON * 65).await;
    stage
        .told(
            "PropagationPolicy",
            "test/p",
            "SelectorMatchesNothing",
            "spec.resourceSelectors[0]: no kind Gadget is served in acme.io",
        )
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_rule_that_fails_is_told_on_template_binding_and_customization_until_it_is_mended() {
    let stage = Stage::with(1).await;
    stage
        .apply(&all(&[
            deployment("old", 1),
            policy("p", &one_deployment("old"), &on("m1")),
            policy("q", &one_deployment("new"), &on("m1")),
            config_map("other", "{a: b}"),
            policy("r", CONFIG_MAPS, &on("m1")),
        ]))
        .await;
    let binding = "old-deployment";
    says(
        &stage,
        binding,
        "FullyApplied",
        "True FullyAppliedSuccess",
        &[],
    )
    .await;
    let rule = |body: &str| {
        let script = format!("function GetReplicas(o)\n{body}\nend");
        let operations = [("replicaResource", script.as_str())];
        customization("rule", "apps/v1/Deployment", &operations)
    };
    stage.apply(&rule("while true do end")).await;
    stage.apply(&deployment("new", 1)).await;
    let place = ["rule: InterpretReplica: line 2: stopped after"];
    for name in ["test/old", "test/new"] {
        stage
            .told("Deployment", name, "GetReplicasFailed", place[0])
            .await;
    }
    stage
        .told(
            "ResourceInterpreterCustomization",
            "rule",
            "InterpreterRuleFailed",
            "InterpretReplica: line 2: stopped after",
        )
        .await;
    let failed = "False GetReplicasFailed";
    says(&stage, binding, "PolicyApplied", failed, &place).await;
    says(
        &stage,
        binding,
        "FullyApplied",
        "False FullyAppliedFailed",
        &place,
    )
    .await;
    stage.copy("m1", "configmaps", "test/other").comes().await;
    // With another rule both go on, the one without a binding too.
    stage.apply(&rule("return o.spec.replicas, nil")).await;
    stage.copy("m1", "deployments", "test/new").comes().await;
    says(&stage, binding, "PolicyApplied", "True Success", &[]).await;
    says(
        &stage,
        binding,
        "FullyApplied",
        "True FullyAppliedSuccess",
        &[],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_rule_for_health_or_revision_that_fails_is_told_where_the_author_looks() {
    let stage = Stage::with(1).await;
    stage
        .spread(&[deployment("web", 1)], DEPLOYMENTS, "m1")
        .await;
    let binding = "web-deployment";
    says(
        &stage,
        binding,
        "FullyApplied",
        "True FullyAppliedSuccess",
        &[],
    )
    .await;
    stage
        .apply(&customization(
            "rule",
            "apps/v1/Deployment",
            &[
                (
                    "healthInterpretation",
                    "function InterpretHealth(o) return o.status.no.such end",
                ),
                (
                    "statusReflection",
                    "function ReflectStatus(o) while true do end end",
                ),
                (
                    "replicaRevision",
                    "function ReviseReplica(o, n) error('no revision today') end",
                ),
            ],
        ))
        .await;
    for (reason, text) in [
        ("InterpretHealthFailed", "in cluster m1: "),
        ("ReflectStatusFailed", "in cluster m1: "),
        ("SyncWorkFailed", "m1: "),
    ] {
        stage.told("Deployment", "test/web", reason, text).await;
    }
    for operation in ["InterpretHealth: ", "InterpretStatus: ", "ReviseReplica: "] {
        stage
            .told(
                "ResourceInterpreterCustomization",
                "rule",
                "InterpreterRuleFailed",
                operation,
            )
            .await;
    }
    let failed = "False SyncWorkFailed";
    says(
        &stage,
        binding,
        "Rendered",
        failed,
        &["m1: ", "no revision today"],
    )
    .await;
    stage
        .template("rb", "test/web-deployment")
        .shows("status.aggregatedStatus.clusterName=m1.health", "Unknown")
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_template_that_a_member_refuses_is_told_on_template_binding_and_work() {
    let stage = Stage::with(2).await;
    let binding = stage.template("rb", "test/bad-configmap");
    // A number where the member wants a text: an override is not looked at before it is there.
    stage
        .apply(&all(&[
            overriding(
                "op",
                "{apiVersion: v1, kind: ConfigMap, name: bad}",
                "m1",
                "{plaintext: [{path: /data/n, operator: add, value: 5}]}",
            ),
            config_map("bad", "{a: b}"),
            config_map("good", "{a: b}"),
            policy("p", CONFIG_MAPS, &on("m1, m2")),
        ]))
        .await;
    stage.copy("m2", "configmaps", "test/bad").comes().await;
    stage.copy("m2", "configmaps", "test/good").comes().await;
    let told = "status.aggregatedStatus.clusterName=m1.appliedMessage";
    stage
        .until(
            "the binding says which member refuses, and why",
            SOON,
            async || {
                let message = binding.field(told).await;
                message.as_str().is_some_and(|text| text.contains("data"))
            },
        )
        .await;
    for text in ["data", "cluster m1"] {
        stage
            .told("ConfigMap", "test/bad", "SyncFailed", text)
            .await;
    }
    assert_eq!(
        binding.condition("FullyApplied").await,
        "False FullyAppliedFailed"
    );
    let work = stage.work_of("ConfigMap", "bad", "m1").await;
    assert_eq!(work.condition("Applied").await, "False AppliedFailed");
}

#[tokio::test(start_paused = true)]
async fn a_script_that_does_not_compile_is_refused_with_its_operation() {
    let stage = Stage::with(1).await;
    let refused = stage
        .try_apply("{apiVersion: config.karmada.io/v1alpha1, kind: ResourceInterpreterCustomization, metadata: {name: bad}, spec: {target: {apiVersion: apps/v1, kind: Deployment}, customizations: {healthInterpretation: {luaScript: 'function InterpretHealth(o) retrun true end'}}}}")
        .await;
    match refused {
        Err(error) => assert!(
            error.to_string().contains("healthInterpretation"),
            "{error}"
        ),
        // Admission may not have the compiler at hand; then the object says so.
        Ok(()) => {
            stage
                .told(
                    "ResourceInterpreterCustomization",
                    "bad",
                    "InterpreterRuleUnusable",
                    "InterpretHealth",
                )
                .await;
        }
    }
}
