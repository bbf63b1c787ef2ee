use super::{super::*, *};

const POD: (&str, &str) = ("", "Pod");

#[test]
fn parts_of_a_container_are_checked() {
    for (part, errors) in [
        (
            json!({"securityContext": {"privileged": true, "allowPrivilegeEscalation": false}}),
            &[
                "spec.containers[0].securityContext: Invalid value: {\"privileged\":true,\"allowPrivilegeEscalation\":false}: cannot set `allowPrivilegeEscalation` to false and `privileged` to true",
            ][..],
        ),
        (
            json!({"securityContext": {"privileged": true, "allowPrivilegeEscalation": true}}),
            &[],
        ),
        (
            json!({"securityContext": {"runAsUser": -1, "runAsGroup": 2_147_483_648_i64}}),
            &[
                "spec.containers[0].securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive",
                "spec.containers[0].securityContext.runAsGroup: Invalid value: 2147483648: must be between 0 and 2147483647, inclusive",
            ],
        ),
        (
            json!({"envFrom": [{"prefix": "A_"}]}),
            &[
                "spec.containers[0].envFrom: Invalid value: \"\": must specify one of: `configMapRef` or `secretRef`",
            ],
        ),
        (
            json!({"envFrom": [{"configMapRef": {"name": "a"}}, {"secretRef": {"name": "a"}}]}),
            &[],
        ),
        (
            json!({"livenessProbe": {"exec": {}}, "lifecycle": {"preStop": {"exec": {"command": []}}}}),
            &[
                "spec.containers[0].lifecycle.preStop.exec.command: Required value",
                "spec.containers[0].livenessProbe.exec.command: Required value",
            ],
        ),
        (
            json!({"resources": {"limits": {"example.com/gpu": "500m"}, "requests": {"example.com/gpu": "500m"}}}),
            &[
                "spec.containers[0].resources.limits[example.com/gpu]: Invalid value: \"500m\": must be an integer",
                "spec.containers[0].resources.requests[example.com/gpu]: Invalid value: \"500m\": must be an integer",
            ],
        ),
        (
            json!({"resources": {"limits": {"example.com/gpu": "2k", "cpu": "500m"}}}),
            &[],
        ),
    ] {
        let container = with(json!({"name": "web", "image": "nginx:1"}), part);
        check(POD, json!({"spec": {"containers": [container]}}), errors);
    }
}

#[test]
fn parts_of_a_pod_are_checked() {
    for (spec, errors) in [
        (
            json!({"securityContext": {"fsGroup": -1, "supplementalGroups": [1, -2]}}),
            &[
                "spec.securityContext.fsGroup: Invalid value: -1: must be between 0 and 2147483647, inclusive",
                "spec.securityContext.supplementalGroups[1]: Invalid value: -2: must be between 0 and 2147483647, inclusive",
            ][..],
        ),
        (
            json!({"hostAliases": [{"ip": "ten", "hostnames": ["a"]}]}),
            &[
                "spec.hostAliases[0].ip: Invalid value: \"ten\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
            ],
        ),
        (
            json!({"hostAliases": [{"ip": "10.0.0.010"}, {"ip": "fd00::1", "hostnames": ["a.b"]}]}),
            &[],
        ),
        (
            json!({"overhead": {"cpu": "-1"}}),
            &["spec.overhead[cpu]: Invalid value: \"-1\": must be greater than or equal to 0"],
        ),
        (
            json!({"readinessGates": [{"conditionType": "example.com/a"}]}),
            &[],
        ),
        (
            json!({"readinessGates": [{"conditionType": "-"}]}),
            &[
                "spec.readinessGates[0].conditionType: Invalid value: \"-\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
            ],
        ),
    ] {
        check(POD, json!({"spec": spec}), errors);
    }
}

#[test]
fn ephemeral_containers_stay_as_they_are() {
    let gvk = gvk("", "Pod");
    let debug = |name: &str, image: &str| json!({"name": name, "image": image});
    let mut old = created("", "Pod", json!({}));
    old["spec"]["ephemeralContainers"] = json!([debug("a", "x:1"), debug("b", "x:1")]);
    crate::defaults::apply_defaults(&gvk, &mut old);
    for (containers, errors) in [
        (
            json!([debug("c", "x:1"), debug("b", "x:1"), debug("a", "x:1")]),
            &[][..],
        ),
        (
            json!([debug("a", "x:1")]),
            &[
                "spec.ephemeralContainers: Forbidden: existing ephemeral containers \"b\" may not be removed\n",
            ],
        ),
        (
            json!([debug("a", "x:2"), debug("b", "x:1")]),
            &[
                "spec.ephemeralContainers: Forbidden: existing ephemeral containers \"a\" may not be changed\n",
            ],
        ),
    ] {
        let part = "ephemeralcontainers";
        let mut new = with(
            old.clone(),
            json!({"spec": {"ephemeralContainers": containers}}),
        );
        prepare_subresource_update(&gvk, part, &old, &mut new);
        let found: Vec<String> = validate_subresource_update(&gvk, part, &old, &new)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(found, errors);
    }
}
