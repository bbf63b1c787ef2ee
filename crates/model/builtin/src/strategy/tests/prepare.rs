use super::{super::*, *};
use crate::path;

/// What `over`, laid over the stored object, makes of it on an update.
fn updated(group: &str, kind: &str, old: &Value, over: Value) -> Value {
    let mut new = with(old.clone(), over);
    prepare_update(&gvk(group, kind), old, &mut new);
    new
}

#[test]
fn a_creation_sets_no_status() {
    let forged = created("apps", "Deployment", json!({"status": {"replicas": 9}}));
    assert_eq!(forged["status"], json!({}));
    let pod = created("", "Pod", json!({"status": {"phase": "Running"}}));
    assert_eq!(
        pod["status"],
        json!({"phase": "Pending", "qosClass": "BestEffort"})
    );
    let volume = created(
        "",
        "PersistentVolume",
        json!({"status": {"phase": "Bound"}}),
    );
    assert_eq!(
        volume["status"],
        json!({"phase": "Pending", "lastPhaseTransitionTime": NOW})
    );
    let request = created(
        "certificates.k8s.io",
        "CertificateSigningRequest",
        json!({"spec": {"username": "root", "groups": ["system:masters"]}}),
    );
    assert_eq!(
        (
            request["spec"].get("username"),
            request["spec"].get("groups")
        ),
        (None, None)
    );
    // Kinds without the subresource keep what they are given.
    assert_eq!(
        created("", "ConfigMap", json!({"data": {"a": "b"}}))["data"],
        json!({"a": "b"})
    );
}

#[test]
fn namespaces_get_their_finalizer_and_label() {
    let namespace = created("", "Namespace", json!({}));
    assert_eq!(namespace["spec"], json!({"finalizers": ["kubernetes"]}));
    assert_eq!(
        namespace["metadata"]["labels"],
        json!({"kubernetes.io/metadata.name": "web"})
    );
    assert_eq!(namespace["status"], json!({"phase": "Active"}));
    let changed = updated(
        "",
        "Namespace",
        &namespace,
        json!({"spec": {"finalizers": []}, "status": {"phase": "Terminating"}}),
    );
    assert_eq!(
        (&changed["spec"], &changed["status"]),
        (&namespace["spec"], &namespace["status"])
    );
    let mut finalized = with(namespace.clone(), json!({"spec": {"finalizers": null}}));
    prepare_subresource_update(
        &gvk("", "Namespace"),
        "finalize",
        &namespace,
        &mut finalized,
    );
    assert_eq!(finalized["spec"], json!({}));
}

#[test]
fn quality_of_service_follows_from_resources() {
    for (resources, quality) in [
        (json!({}), "BestEffort"),
        (
            json!({"limits": {"cpu": "1", "memory": "1Gi"}}),
            "Guaranteed",
        ),
        (
            json!({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}),
            "Burstable",
        ),
        (json!({"requests": {"cpu": "1"}}), "Burstable"),
    ] {
        let pod = created(
            "",
            "Pod",
            json!({"spec": {"containers": [{"name": "a", "image": "x", "resources": resources}]}}),
        );
        assert_eq!(pod["status"]["qosClass"], quality, "{resources}");
    }
}

#[test]
fn secrets_keep_plain_texts_encoded() {
    let secret = created(
        "",
        "Secret",
        json!({"data": {"a": "Yg==", "c": "ZA=="}, "stringData": {"a": "new"}}),
    );
    assert_eq!(
        (&secret["data"], secret.get("stringData")),
        (&json!({"a": "bmV3", "c": "ZA=="}), None)
    );
    let changed = updated("", "Secret", &secret, json!({"stringData": {"e": "é"}}));
    assert_eq!(
        changed["data"],
        json!({"a": "bmV3", "c": "ZA==", "e": "w6k="})
    );
    // What is no text is left to be refused by its own path.
    let wrong = created("", "Secret", json!({"stringData": {"a": "x", "b": 5}}));
    assert_eq!(
        (&wrong["data"], &wrong["stringData"]),
        (&json!({"a": "eA=="}), &json!({"b": 5}))
    );
}

#[test]
fn jobs_find_their_pods_by_uid() {
    let job = created("batch", "Job", json!({}));
    let labels = json!({
        "app": "web", "job-name": "web", "batch.kubernetes.io/job-name": "web",
        "controller-uid": "u-1", "batch.kubernetes.io/controller-uid": "u-1",
    });
    assert_eq!(job["spec"]["template"]["metadata"]["labels"], labels);
    assert_eq!(
        job["spec"]["selector"],
        json!({"matchLabels": {"batch.kubernetes.io/controller-uid": "u-1"}})
    );
    assert_eq!(job["metadata"]["labels"], json!({"app": "web"}));
    let manual =
        json!({"spec": {"manualSelector": true, "selector": {"matchLabels": {"app": "web"}}}});
    let job = created("batch", "Job", manual);
    assert_eq!(
        job["spec"]["selector"],
        json!({"matchLabels": {"app": "web"}})
    );
    let bare = created(
        "batch",
        "Job",
        json!({"spec": {"template": {"metadata": {"labels": null}}}}),
    );
    assert_eq!(
        bare["metadata"]["labels"],
        bare["spec"]["template"]["metadata"]["labels"]
    );
}

#[test]
fn generations_count_what_authors_change() {
    #[track_caller]
    fn check(kind: (&str, &str), over: Value, expected: Option<i64>) {
        let old = created(kind.0, kind.1, json!({}));
        let new = updated(kind.0, kind.1, &old, over);
        assert_eq!(
            path::at(&new, "metadata.generation").and_then(Value::as_i64),
            expected
        );
    }
    let (deployment, pod) = (("apps", "Deployment"), ("", "Pod"));
    check(deployment, json!({}), Some(1));
    check(deployment, json!({"spec": {"replicas": 2}}), Some(2));
    check(
        deployment,
        json!({"metadata": {"annotations": {"a": "b"}}}),
        Some(2),
    );
    check(
        deployment,
        json!({"metadata": {"labels": {"a": "b"}, "generation": 7}}),
        Some(1),
    );
    check(deployment, json!({"status": {"replicas": 2}}), Some(1));
    check(pod, json!({"spec": {"activeDeadlineSeconds": 3}}), Some(2));
    check(
        ("apps", "ReplicaSet"),
        json!({"metadata": {"annotations": {"a": "b"}}}),
        Some(1),
    );
    check(("", "ConfigMap"), json!({"data": {"a": "b"}}), None);
    check(
        ("scheduling.k8s.io", "PriorityClass"),
        json!({"value": 3}),
        Some(1),
    );
    check(("storage.k8s.io", "CSIDriver"), json!({}), None);
    check(
        ("storage.k8s.io", "CSIDriver"),
        json!({"spec": {"podInfoOnMount": true}}),
        Some(1),
    );
    check(
        ("discovery.k8s.io", "EndpointSlice"),
        json!({"metadata": {"labels": {"a": "b"}}}),
        Some(2),
    );
    check(
        (
            "admissionregistration.k8s.io",
            "ValidatingWebhookConfiguration",
        ),
        json!({"webhooks": [{"name": "a.b.c"}]}),
        Some(2),
    );
}

#[test]
fn each_path_changes_its_own_part() {
    let old = created(
        "apps",
        "Deployment",
        json!({"metadata": {"labels": {"a": "b"}}}),
    );
    let over = json!({"metadata": {"labels": {"a": "c"}, "annotations": {"x": "y"}}, "spec": {"replicas": 5}, "status": {"replicas": 4}});
    let main = updated("apps", "Deployment", &old, over.clone());
    assert_eq!(
        (&main["spec"]["replicas"], &main["status"]),
        (&json!(5), &json!({}))
    );
    let mut status = with(old.clone(), over);
    prepare_subresource_update(&gvk("apps", "Deployment"), "status", &old, &mut status);
    assert_eq!(
        (&status["spec"], &status["status"]),
        (&old["spec"], &json!({"replicas": 4}))
    );
    assert_eq!(
        (
            &status["metadata"]["labels"],
            &status["metadata"]["annotations"]
        ),
        (&json!({"a": "b"}), &json!({"x": "y"}))
    );

    let csr = "CertificateSigningRequest";
    let old = created("certificates.k8s.io", csr, json!({}));
    let over = json!({"spec": {"username": "x"}, "status": {"certificate": "Zm9v", "conditions": [{"type": "Approved", "status": "True"}, {"type": "Failed", "status": "True"}]}});
    let through = |subresource: &str| {
        let mut new = with(old.clone(), over.clone());
        prepare_subresource_update(
            &gvk("certificates.k8s.io", csr),
            subresource,
            &old,
            &mut new,
        );
        assert_eq!(new["spec"], old["spec"]);
        let conditions = new["status"]["conditions"].as_array().map_or(0, Vec::len);
        (conditions, new["status"].get("certificate").is_some())
    };
    assert_eq!(through("approval"), (2, false));
    // That the signer adds a decision is told it, not hidden from it.
    assert_eq!(through("status"), (2, true));
    let main = updated("certificates.k8s.io", csr, &old, over.clone());
    assert_eq!(
        (&main["spec"], &main["status"]),
        (&old["spec"], &old["status"])
    );

    let old = created("", "Pod", json!({}));
    let mut debugged = with(
        old.clone(),
        json!({"spec": {"nodeName": "n", "ephemeralContainers": [{"name": "d", "image": "x"}]}}),
    );
    prepare_subresource_update(&gvk("", "Pod"), "ephemeralcontainers", &old, &mut debugged);
    assert_eq!(debugged["spec"].get("nodeName"), None);
    assert_eq!(debugged["spec"]["ephemeralContainers"][0]["name"], "d");
}

#[test]
fn a_resize_changes_what_containers_ask_for_and_nothing_else() {
    let gvk = gvk("", "Pod");
    let container = |name: &str, image: &str, cpu: &str| json!({"name": name, "image": image, "resources": {"requests": {"cpu": cpu}}});
    let pod = |containers: Value| json!({"spec": {"containers": containers}});
    let old = created(
        "",
        "Pod",
        pod(json!([container("a", "i", "1"), container("b", "i", "1")])),
    );
    let resized = |over: Value| {
        let mut new = with(old.clone(), over);
        prepare_subresource_update(&gvk, "resize", &old, &mut new);
        let errors = validate_subresource_update(&gvk, "resize", &old, &new);
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        (new, errors.join("; "))
    };
    let sent = json!([container("a", "other", "2"), container("b", "i", "1000m")]);
    let mut over = pod(sent);
    over["spec"]["nodeSelector"] = json!({"x": "y"});
    over["metadata"] = json!({"labels": {"x": "y"}});
    let (new, errors) = resized(over);
    assert_eq!(errors, "");
    let mut expected = old.clone();
    expected["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": "2"}});
    expected["spec"]["containers"][1]["resources"] = json!({"requests": {"cpu": "1"}});
    assert_eq!(
        (&new["spec"], &new["metadata"]["labels"]),
        (&expected["spec"], &old["metadata"]["labels"])
    );
    let asking = |resources: Value| {
        pod(json!([{"name": "a", "image": "i", "resources": resources}, container("b", "i", "1")]))
    };
    for (over, expected) in [
        (
            pod(json!([container("b", "i", "1"), container("a", "i", "1")])),
            "spec.containers[0].name: Forbidden: containers may not be renamed or reordered on resize; \
             spec.containers[1].name: Forbidden: containers may not be renamed or reordered on resize",
        ),
        (
            pod(json!([container("a", "i", "1")])),
            "spec.containers: Forbidden: containers may not be added or removed on resize",
        ),
        (
            asking(json!({"limits": {"memory": "1Gi"}, "requests": {"memory": "1Gi"}})),
            "spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed",
        ),
        (
            asking(json!({"requests": {"cpu": "1", "ephemeral-storage": "1Gi"}})),
            "spec: Forbidden: only cpu and memory resources are mutable",
        ),
    ] {
        assert_eq!(resized(over).1, expected);
    }
    let whole =
        json!({"resources": {"requests": {"cpu": "3"}}, "containers": [container("a", "i", "1")]});
    let old = created("", "Pod", json!({"spec": whole}));
    let errors = validate_subresource_update(&gvk, "resize", &old, &old);
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(errors.len(), 1, "{errors:?}");
    let idle = created(
        "",
        "Pod",
        json!({"spec": {"containers": [{"name": "a", "image": "i"}]}}),
    );
    let mut busy = with(idle.clone(), pod(json!([container("a", "i", "1")])));
    prepare_subresource_update(&gvk, "resize", &idle, &mut busy);
    let errors = validate_subresource_update(&gvk, "resize", &idle, &busy);
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let why = "Pod QOS Class may not change as a result of resizing";
    assert_eq!(
        errors,
        [format!("spec: Invalid value: \"BestEffort\": {why}")]
    );
}

#[test]
fn ports_of_a_service_keep_what_they_have_on_the_nodes_by_their_names() {
    let old = created(
        "",
        "Service",
        json!({"spec": {"type": "NodePort", "ports": [
            {"name": "a", "port": 80, "nodePort": 30080}, {"name": "b", "port": 81, "nodePort": 30081},
        ]}}),
    );
    for (ports, expected) in [
        (
            json!([{"name": "a", "port": 90}, {"name": "b", "port": 81}]),
            json!([30080, 30081]),
        ),
        (
            json!([{"name": "b", "port": 80}, {"name": "a", "port": 81}]),
            json!([30081, 30080]),
        ),
        (
            json!([{"name": "c", "port": 80}, {"name": "a", "port": 81}]),
            json!([null, 30080]),
        ),
        (
            json!([{"name": "a", "port": 80}, {"name": "b", "port": 81, "nodePort": 30080}]),
            json!([null, 30080]),
        ),
        (
            json!([{"name": "a", "port": 80, "nodePort": 31000}]),
            json!([31000]),
        ),
    ] {
        let new = updated("", "Service", &old, json!({"spec": {"ports": ports}}));
        let found = new["spec"]["ports"].as_array().unwrap().iter();
        let found: Vec<_> = found.map(|port| port["nodePort"].clone()).collect();
        assert_eq!(json!(found), expected, "{ports}");
    }
    let balanced = json!({"spec": {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": false, "ports": [{"name": "a", "port": 80}]}});
    let new = updated("", "Service", &old, balanced);
    assert_eq!(new["spec"]["ports"][0].get("nodePort"), None);
}

#[test]
fn services_keep_what_was_allocated() {
    let old = created(
        "",
        "Service",
        json!({"spec": {
            "type": "NodePort", "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack",
            "ports": [{"port": 80, "nodePort": 30080}],
        }}),
    );
    let forgetful = json!({"spec": {"clusterIP": null, "clusterIPs": null, "ipFamilies": null, "ipFamilyPolicy": null, "ports": [{"port": 80}]}});
    assert_eq!(
        updated("", "Service", &old, forgetful)["spec"]["ports"][0]["nodePort"],
        30080
    );
    let forgetful =
        json!({"spec": {"clusterIP": null, "clusterIPs": null, "ports": [{"port": 81}]}});
    let new = updated("", "Service", &old, forgetful);
    assert_eq!(
        (
            &new["spec"]["clusterIP"],
            new["spec"]["ports"][0].get("nodePort")
        ),
        (&json!("10.0.0.1"), Some(&json!(30080)))
    );
    let named = updated(
        "",
        "Service",
        &old,
        json!({"spec": {"type": "ExternalName", "externalName": "x", "clusterIP": null, "clusterIPs": null}}),
    );
    assert_eq!(named["spec"].get("clusterIP"), None);
}

#[test]
fn the_addresses_a_service_names_agree_and_none_are_invented() {
    let shown = |service: &Value| {
        let fields = ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"];
        let shown = fields.map(|field| service["spec"].get(field).unwrap_or(&Value::Null));
        json!(shown).to_string()
    };
    for (spec, expected) in [
        (json!({}), "[null,null,null,null]"),
        (
            json!({"clusterIP": "10.0.0.7"}),
            r#"["10.0.0.7",["10.0.0.7"],["IPv4"],"SingleStack"]"#,
        ),
        (
            json!({"clusterIP": "fd00::7"}),
            r#"["fd00::7",["fd00::7"],["IPv6"],"SingleStack"]"#,
        ),
        (
            json!({"clusterIP": "None"}),
            r#"["None",["None"],null,null]"#,
        ),
        (
            json!({"clusterIP": "10.0.0.7", "clusterIPs": ["10.0.0.7", "fd00::7"], "ipFamilyPolicy": "PreferDualStack"}),
            r#"["10.0.0.7",["10.0.0.7","fd00::7"],["IPv4","IPv6"],"PreferDualStack"]"#,
        ),
        // What cannot be is left as it is for validation to name.
        (json!({"clusterIP": "ten"}), r#"["ten",["ten"],null,null]"#),
        (
            json!({"clusterIPs": ["10.0.0.7"]}),
            r#"[null,["10.0.0.7"],["IPv4"],"SingleStack"]"#,
        ),
        (
            json!({"type": "ExternalName", "externalName": "a.b", "clusterIP": "10.0.0.7"}),
            r#"["10.0.0.7",null,null,null]"#,
        ),
    ] {
        let mut spec = spec;
        spec["ports"] = json!([{"port": 80}]);
        assert_eq!(
            shown(&created("", "Service", json!({"spec": spec}))),
            expected
        );
    }
    let ports = json!([{"port": 80}]);
    let old = created(
        "",
        "Service",
        json!({"spec": {"clusterIP": "10.0.0.7", "ports": ports}}),
    );
    for (over, expected) in [
        (
            json!({"clusterIPs": null}),
            r#"["10.0.0.7",["10.0.0.7"],["IPv4"],"SingleStack"]"#,
        ),
        // Immutability is told of the list, so it follows.
        (
            json!({"clusterIP": "10.0.0.8"}),
            r#"["10.0.0.8",["10.0.0.8"],["IPv4"],"SingleStack"]"#,
        ),
        (
            json!({"clusterIP": null}),
            r#"["10.0.0.7",["10.0.0.7"],["IPv4"],"SingleStack"]"#,
        ),
    ] {
        let new = updated("", "Service", &old, json!({"spec": over}));
        assert_eq!(shown(&new), expected, "{over}");
    }
    // What was stored without the list gets it with the next change.
    let mut older = old;
    older["spec"]
        .as_object_mut()
        .unwrap()
        .shift_remove("clusterIPs");
    let new = updated(
        "",
        "Service",
        &older,
        json!({"spec": {"ports": [{"port": 81}]}}),
    );
    assert_eq!(new["spec"]["clusterIPs"], json!(["10.0.0.7"]));
}

#[test]
fn managers_own_only_what_their_path_stores() {
    for (kind, subresource, expected) in [
        (("apps", "Deployment"), "", &["status"][..]),
        (
            ("apps", "Deployment"),
            "status",
            &["spec", "metadata.labels"],
        ),
        (("apps", "ReplicaSet"), "status", &["spec"]),
        (("", "ConfigMap"), "", &[]),
        (
            ("certificates.k8s.io", "CertificateSigningRequest"),
            "approval",
            &["spec", "status.certificate"],
        ),
    ] {
        assert_eq!(reset_fields(&gvk(kind.0, kind.1), subresource), expected);
    }
}

#[test]
fn a_service_of_another_type_leaves_behind_what_the_old_one_had() {
    let old = created(
        "",
        "Service",
        json!({"spec": {
            "type": "LoadBalancer", "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack", "externalTrafficPolicy": "Local", "healthCheckNodePort": 30001,
            "loadBalancerClass": "a.io/b", "ports": [{"port": 80, "nodePort": 30080}],
        }}),
    );
    let of_balancers = [
        "allocateLoadBalancerNodePorts",
        "loadBalancerClass",
        "healthCheckNodePort",
    ];
    let of_clusters = ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"];
    for (over, gone, kept, wrong) in [
        (
            json!({"type": "NodePort"}),
            &of_balancers[..],
            &of_clusters[..],
            &[][..],
        ),
        (
            json!({"type": "ClusterIP"}),
            &of_balancers[..],
            &of_clusters[..],
            &[],
        ),
        (
            json!({"type": "ExternalName", "externalName": "a.b"}),
            &of_clusters[..],
            &[],
            &[],
        ),
        // What the author changes is the author's, and judged.
        (
            json!({"type": "ClusterIP", "ports": [{"port": 80, "nodePort": 30081}], "loadBalancerClass": "c.io/d"}),
            &["allocateLoadBalancerNodePorts"],
            &["loadBalancerClass"],
            &["spec.ports[0].nodePort", "spec.loadBalancerClass"],
        ),
    ] {
        let new = updated("", "Service", &old, json!({"spec": over}));
        for field in gone {
            assert_eq!(new["spec"].get(*field), None, "{over}: {field}");
        }
        for field in kept {
            assert!(new["spec"].get(*field).is_some(), "{over}: {field}");
        }
        let errors = validate_update(&gvk("", "Service"), &old, &new);
        let paths: Vec<String> = errors.iter().map(|error| error.path.to_string()).collect();
        assert_eq!(paths, wrong, "{over}");
    }
    let node_port = |ty: &str| {
        let new = updated("", "Service", &old, json!({"spec": {"type": ty}}));
        new["spec"]["ports"][0].get("nodePort").cloned()
    };
    assert_eq!(node_port("NodePort"), Some(json!(30080)));
    assert_eq!(node_port("ClusterIP"), None);
}
