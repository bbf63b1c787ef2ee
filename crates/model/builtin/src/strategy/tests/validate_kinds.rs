use super::{super::*, *};

const SERVICE: (&str, &str) = ("", "Service");

#[test]
fn services_fit_their_type() {
    for (spec, errors) in [
        (json!({"ports": []}), &["spec.ports: Required value"][..]),
        (json!({"ports": null, "clusterIP": "None"}), &[]),
        (
            json!({"type": "Magic"}),
            &[
                "spec.type: Unsupported value: \"Magic\": supported values: \"ClusterIP\", \"ExternalName\", \"LoadBalancer\", \"NodePort\"",
            ],
        ),
        (
            json!({"ports": [{"port": 0}]}),
            &[
                "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
                "spec.ports[0].targetPort: Invalid value: 0: must be between 1 and 65535, inclusive",
            ],
        ),
        (
            json!({"ports": [{"port": 80}, {"port": 80}]}),
            &[
                "spec.ports[0].name: Required value",
                "spec.ports[1].name: Required value",
                "spec.ports[1]: Duplicate value: {\"port\":80,\"protocol\":\"TCP\"}",
            ],
        ),
        (
            json!({"ports": [{"port": 80, "nodePort": 30000}]}),
            &["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"],
        ),
        (
            json!({"type": "ExternalName", "ports": null}),
            &["spec.externalName: Required value"],
        ),
        (
            json!({"type": "NodePort", "clusterIP": "None"}),
            &[
                "spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for NodePort services",
            ],
        ),
        (
            json!({"clusterIP": "10.0.0.7", "clusterIPs": ["10.0.0.7", "10.0.0.8"], "ipFamilyPolicy": "PreferDualStack"}),
            &[
                "spec.clusterIPs: Invalid value: [\"10.0.0.7\",\"10.0.0.8\"]: may specify no more than one IP for each IP family",
            ],
        ),
        (
            json!({"clusterIP": "10.0.0.7", "clusterIPs": ["10.0.0.7", "fd00::8"], "ipFamilyPolicy": "SingleStack"}),
            &[
                "spec.ipFamilyPolicy: Invalid value: \"SingleStack\": must be 'RequireDualStack' or 'PreferDualStack' when multiple cluster IPs are specified",
            ],
        ),
        (
            json!({"clusterIP": "10.0.0.7", "clusterIPs": ["10.0.0.7"], "ipFamilies": ["IPv6"]}),
            &[
                "spec.clusterIPs[0]: Invalid value: \"10.0.0.7\": expected an IPv6 value as indicated by `ipFamilies[0]`",
            ],
        ),
        (
            json!({"clusterIPs": ["10.0.0.7"]}),
            &[
                "spec.clusterIPs: Invalid value: [\"10.0.0.7\"]: must be empty when `clusterIP` is not specified",
            ],
        ),
        (
            json!({"clusterIP": "None", "clusterIPs": ["None", "10.0.0.7"]}),
            &[
                "spec.clusterIPs: Invalid value: [\"None\",\"10.0.0.7\"]: 'None' must be the first and only value",
            ],
        ),
        (
            json!({"clusterIP": "ten"}),
            &[
                "spec.clusterIPs[0]: Invalid value: \"ten\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
            ],
        ),
        (
            json!({"externalTrafficPolicy": "Local"}),
            &[
                "spec.externalTrafficPolicy: Invalid value: \"Local\": may only be set for externally-accessible services",
            ],
        ),
        (
            json!({"loadBalancerSourceRanges": ["10.0.0.0/8"]}),
            &[
                "spec.loadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'",
            ],
        ),
        (
            json!({"type": "LoadBalancer", "loadBalancerSourceRanges": ["10.0.0.0/33"]}),
            &[
                "spec.loadBalancerSourceRanges[0]: Invalid value: \"10.0.0.0/33\": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",
            ],
        ),
        (
            json!({"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 0}}}),
            &[
                "spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 0: must be greater than 0 and less than 86400",
            ],
        ),
    ] {
        check(SERVICE, json!({"spec": spec}), errors);
    }
}

#[test]
fn configuration_has_usable_keys_and_a_size() {
    let key = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
    check(
        ("", "ConfigMap"),
        json!({"data": {"a b": "x"}}),
        &[&format!("data[a b]: Invalid value: \"a b\": {key}")],
    );
    check(
        ("", "ConfigMap"),
        json!({"data": {"..x": ""}}),
        &["data[..x]: Invalid value: \"..x\": must not start with '..'"],
    );
    check(
        ("", "ConfigMap"),
        json!({"data": {"a": ""}, "binaryData": {"a": ""}}),
        &["data[a]: Invalid value: \"a\": duplicate of key present in binaryData"],
    );
    check(
        ("", "ConfigMap"),
        json!({"data": {"a": "x".repeat(CONTENT_LIMIT + 1)}}),
        &["[]: Too long: may not be more than 1048576 bytes"],
    );
    check(
        ("", "Secret"),
        json!({"stringData": {"a": "x".repeat(CONTENT_LIMIT + 1)}}),
        &["data: Too long: may not be more than 1048576 bytes"],
    );
    check(
        ("", "Secret"),
        json!({"stringData": {"a": "x".repeat(CONTENT_LIMIT)}}),
        &[],
    );
    check(
        ("", "Secret"),
        json!({"type": "kubernetes.io/tls"}),
        &[
            "data[tls.crt]: Required value",
            "data[tls.key]: Required value",
        ],
    );
    check(
        ("", "Secret"),
        json!({"type": "kubernetes.io/service-account-token"}),
        &["metadata.annotations[kubernetes.io/service-account.name]: Required value"],
    );
    check(
        ("", "Secret"),
        json!({"type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": "[]"}}),
        &[
            "data[.dockerconfigjson]: Invalid value: \"<secret contents redacted>\": must be a JSON object",
        ],
    );
    check(
        ("", "Secret"),
        json!({"type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": "{}"}}),
        &[],
    );
}

#[test]
fn networks_are_described_consistently() {
    let ingress = |rules: Value| json!({"spec": {"defaultBackend": null, "rules": rules}});
    let backend = json!({"service": {"name": "s", "port": {"name": "web"}}});
    let ing = ("networking.k8s.io", "Ingress");
    check(
        ing,
        ingress(json!([])),
        &["spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"],
    );
    check(
        ing,
        ingress(
            json!([{"host": "*.example.com", "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}]),
        ),
        &[],
    );
    check(
        ing,
        ingress(
            json!([{"host": "10.0.0.1", "http": {"paths": [{"path": "x/../y", "pathType": "Exact", "backend": {}}]}}]),
        ),
        &[
            "spec.rules[0].http.paths[0].backend: Invalid value: \"\": resource or service backend is required",
            "spec.rules[0].http.paths[0].path: Invalid value: \"x/../y\": must be an absolute path",
            "spec.rules[0].http.paths[0].path: Invalid value: \"x/../y\": must not contain '/../'",
            "spec.rules[0].host: Invalid value: \"10.0.0.1\": must be a DNS name, not an IP address",
        ],
    );
    check(
        ing,
        ingress(
            json!([{"http": {"paths": [{"backend": {"service": {"name": "s", "port": {}}}}]}}]),
        ),
        &[
            "spec.rules[0].http.paths[0].backend: Required value: port name or number is required",
            "spec.rules[0].http.paths[0].pathType: Required value: pathType must be specified",
        ],
    );
    let policy = ("networking.k8s.io", "NetworkPolicy");
    check(
        policy,
        json!({"spec": {"ingress": [{"from": [{}]}], "policyTypes": ["Sideways"]}}),
        &[
            "spec.ingress[0].from[0]: Required value: must specify a peer",
            "spec.policyTypes[0]: Unsupported value: \"Sideways\": supported values: \"Egress\", \"Ingress\"",
        ],
    );
    check(
        policy,
        json!({"spec": {"egress": [{"to": [{"ipBlock": {"cidr": "10.0.0.0/16", "except": ["10.1.0.0/24", "10.0.0.0/16", "10.0.1.0/24"]}}]}]}}),
        &[
            "spec.egress[0].to[0].ipBlock.except[0]: Invalid value: \"10.1.0.0/24\": must be a strict subset of `cidr`",
            "spec.egress[0].to[0].ipBlock.except[1]: Invalid value: \"10.0.0.0/16\": must be a strict subset of `cidr`",
        ],
    );
    check(
        policy,
        json!({"spec": {"ingress": [{"ports": [{"port": 90, "endPort": 80}, {"endPort": 1}, {"port": "web", "endPort": 3}]}]}}),
        &[
            "spec.ingress[0].ports[0].endPort: Invalid value: 90: must be greater than or equal to `port`",
            "spec.ingress[0].ports[1].endPort: Invalid value: 1: may not be specified when `port` is not specified",
            "spec.ingress[0].ports[2].endPort: Invalid value: 3: may not be specified when `port` is non-numeric",
        ],
    );
}

#[test]
fn access_is_given_to_someone_for_something() {
    let rbac = "rbac.authorization.k8s.io";
    check(
        (rbac, "Role"),
        json!({"rules": [{"verbs": ["get"]}, {"verbs": [], "nonResourceURLs": ["/x"]}]}),
        &[
            "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
            "rules[0].resources: Required value: resource rules must supply at least one resource",
            "rules[1].verbs: Required value: verbs must contain at least one value",
            "rules[1].nonResourceURLs: Invalid value: [\"/x\"]: namespaced rules cannot apply to non-resource URLs",
        ],
    );
    check(
        (rbac, "RoleBinding"),
        json!({"roleRef": {"kind": "Group", "apiGroup": "x"}, "subjects": [{"kind": "Robot", "name": "r"}]}),
        &[
            "subjects[0].kind: Unsupported value: \"Robot\": supported values: \"ServiceAccount\", \"User\", \"Group\"",
            "roleRef.apiGroup: Unsupported value: \"x\": supported values: \"rbac.authorization.k8s.io\"",
            "roleRef.kind: Unsupported value: \"Group\": supported values: \"Role\", \"ClusterRole\"",
        ],
    );
    check(
        (rbac, "ClusterRoleBinding"),
        json!({"subjects": [{"kind": "ServiceAccount", "name": "s"}]}),
        &["subjects[0].namespace: Required value"],
    );
    let csr = ("certificates.k8s.io", "CertificateSigningRequest");
    check(
        csr,
        json!({"spec": {"usages": ["magic"], "expirationSeconds": 1, "signerName": "me"}}),
        &[
            "spec.usages[0]: Unsupported value: \"magic\": supported values: \"any\", \"cert sign\", \"client auth\", \"code signing\", \"content commitment\", \"crl sign\", \"data encipherment\", \"decipher only\", \"digital signature\", \"email protection\", \"encipher only\", \"ipsec end system\", \"ipsec tunnel\", \"ipsec user\", \"key agreement\", \"key encipherment\", \"microsoft sgc\", \"netscape sgc\", \"ocsp signing\", \"s/mime\", \"server auth\", \"signing\", \"timestamping\"",
            "spec.signerName: Invalid value: \"me\": must be a fully qualified domain and path of the form 'example.com/signer-name'",
            "spec.expirationSeconds: Invalid value: 1: may not specify a duration less than 600 seconds (10 minutes)",
        ],
    );
    check(
        ("authorization.k8s.io", "SubjectAccessReview"),
        json!({"spec": {"user": null, "resourceAttributes": null}}),
        &[
            "spec.resourceAttributes: Required value: exactly one of nonResourceAttributes or resourceAttributes must be specified",
            "spec.user: Required value: at least one of user or group must be specified",
        ],
    );
}

#[test]
fn quotas_bound_what_there_is_and_scopes_leave_something_of_it() {
    let quota = |spec: Value, expected: &[&str]| {
        check(("", "ResourceQuota"), json!({"spec": spec}), expected);
    };
    quota(
        json!({"hard": {
            "cpu": "1500m", "requests.storage": "1Gi", "count/deployments.apps": 1, "hugepages-2Mi": "4Mi",
            "gold.storageclass.storage.k8s.io/requests.storage": "1Gi", "requests.example.com/gpu": 1,
        }}),
        &[],
    );
    quota(
        json!({"hard": {"foo": 1}}),
        &[
            "spec.hard[foo]: Invalid value: \"foo\": must be a standard resource type or fully qualified",
            "spec.hard[foo]: Invalid value: \"foo\": must be a standard resource for quota",
        ],
    );
    quota(
        json!({"hard": {"storage": 1}}),
        &["spec.hard[storage]: Invalid value: \"storage\": must be a standard resource for quota"],
    );
    quota(
        json!({"hard": {"pods": "-1", "secrets": "500m"}}),
        &[
            "spec.hard[pods]: Invalid value: \"-1\": must be greater than or equal to 0",
            "spec.hard[secrets]: Invalid value: \"500m\": must be an integer",
        ],
    );
    quota(
        json!({"hard": {"pods": 1, "cpu": 1}, "scopes": ["BestEffort"]}),
        &["spec.scopes: Invalid value: [\"BestEffort\"]: unsupported scope applied to resource"],
    );
    quota(
        json!({"hard": {"pods": 1}, "scopes": ["Terminating", "NotTerminating"]}),
        &["spec.scopes: Invalid value: [\"Terminating\",\"NotTerminating\"]: conflicting scopes"],
    );
    quota(
        json!({"hard": {"pods": 1}, "scopeSelector": {"matchExpressions": [
            {"scopeName": "PriorityClass", "operator": "In"},
            {"scopeName": "PriorityClass", "operator": "Exists", "values": ["x"]},
        ]}}),
        &[
            "spec.scopeSelector.matchExpressions[0].values: Required value: must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
            "spec.scopeSelector.matchExpressions[1].values: Invalid value: [\"x\"]: must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector",
        ],
    );
    quota(
        json!({"hard": {"configmaps": 1}, "scopeSelector": {"matchExpressions": [
            {"scopeName": "BestEffort", "operator": "DoesNotExist"},
        ]}}),
        &[
            "spec.scopeSelector.matchExpressions: Invalid value: [{\"scopeName\":\"BestEffort\",\"operator\":\"DoesNotExist\"}]: unsupported scope applied to resource",
            "spec.scopeSelector.matchExpressions[0].operator: Invalid value: \"DoesNotExist\": must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity",
        ],
    );
}

#[test]
fn limit_ranges_bound_what_objects_have() {
    let limit = |item: Value, expected: &[&str]| {
        let spec = json!({"spec": {"limits": [item]}});
        check(("", "LimitRange"), spec, expected);
    };
    limit(
        json!({"type": "Container", "max": {"cpu": 2, "example.com/gpu": 1}, "min": {"cpu": 1},
            "maxLimitRequestRatio": {"cpu": 2}}),
        &[],
    );
    limit(
        json!({"type": "example.com/thing", "max": {"pods": 1}}),
        &[],
    );
    limit(
        json!({"type": "Thing", "max": {"foo": 1}}),
        &[
            "spec.limits[0].type: Invalid value: \"Thing\": must be a standard limit type or fully qualified",
            "spec.limits[0].max[foo]: Invalid value: \"foo\": must be a standard resource type or fully qualified",
        ],
    );
    limit(
        json!({"type": "Pod", "max": {"pods": 1}}),
        &[
            "spec.limits[0].max[pods]: Invalid value: \"pods\": must be a standard resource type or fully qualified",
            "spec.limits[0].max[pods]: Invalid value: \"pods\": must be a standard resource for containers",
        ],
    );
    limit(
        json!({"type": "PersistentVolumeClaim"}),
        &[
            "spec.limits[0].limits: Required value: either minimum or maximum storage value is required, but neither was provided",
        ],
    );
    limit(
        json!({"type": "Container", "maxLimitRequestRatio": {"cpu": "500m", "memory": 5},
            "min": {"memory": 1}, "max": {"memory": 4}}),
        &[
            "spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: \"500m\": ratio 500m is less than 1",
            "spec.limits[0].maxLimitRequestRatio[memory]: Invalid value: \"5\": ratio 5 is greater than max/min = 4.000000",
        ],
    );
    limit(
        json!({"type": "Container", "default": {"example.com/gpu": 2}, "defaultRequest": {"example.com/gpu": 1}}),
        &[
            "spec.limits[0].defaultRequest[example.com/gpu]: Invalid value: \"1\": default value 2 must equal to defaultRequest value 1 in example.com/gpu",
        ],
    );
}

#[test]
fn what_is_decided_about_certificates_stands() {
    let gvk = gvk("certificates.k8s.io", "CertificateSigningRequest");
    let request = |conditions: &[(&str, &str)], certificate: &str| {
        let conditions = conditions.iter();
        let conditions = conditions.map(|(kind, status)| json!({"type": kind, "status": status}));
        let mut object = created(
            "certificates.k8s.io",
            "CertificateSigningRequest",
            json!({}),
        );
        object["status"] =
            json!({"conditions": conditions.collect::<Vec<_>>(), "certificate": certificate});
        object
    };
    let approved = request(&[("Approved", "True")], "");
    let new = request(&[], "");
    let both = request(&[("Approved", "True"), ("Denied", "True")], "");
    let exclusive = "status.conditions: Invalid value: \"Denied\": Approved and Denied conditions are mutually exclusive";
    for (old, part, next, expected) in [
        (&new, "approval", approved.clone(), vec![]),
        (&new, "approval", both.clone(), vec![exclusive]),
        (&both, "approval", both.clone(), vec![]),
        (
            &new,
            "approval",
            request(
                &[
                    ("Approved", "False"),
                    ("", "True"),
                    ("Odd", ""),
                    ("Odd", "Maybe"),
                ],
                "",
            ),
            vec![
                "status.conditions[0].status: Unsupported value: \"False\": supported values: \"True\"",
                "status.conditions[1].type: Required value",
                "status.conditions[2].status: Required value",
                "status.conditions[3].status: Unsupported value: \"Maybe\": supported values: \"False\", \"True\", \"Unknown\"",
                "status.conditions[3].type: Duplicate value: \"Odd\"",
            ],
        ),
        (
            &approved,
            "approval",
            new.clone(),
            vec![
                "status.conditions: Forbidden: updates may not remove a condition of type \"Approved\"",
            ],
        ),
        (
            &new,
            "status",
            approved.clone(),
            vec![
                "status.conditions: Forbidden: updates may not add a condition of type \"Approved\"",
            ],
        ),
        (
            &approved,
            "status",
            request(&[("Approved", "True"), ("Failed", "True")], ""),
            vec![],
        ),
        // Whoever writes the whole status back does not change the decision.
        (
            &approved,
            "status",
            request(&[("Failed", "True"), ("Approved", "False")], ""),
            vec![],
        ),
        (
            &request(&[("Failed", "True")], ""),
            "status",
            new.clone(),
            vec![
                "status.conditions: Forbidden: updates may not remove a condition of type \"Failed\"",
            ],
        ),
        (
            &request(&[], "b25l"),
            "status",
            request(&[], "dHdv"),
            vec![
                "status.certificate: Forbidden: updates may not modify existing certificate content",
            ],
        ),
    ] {
        let mut next = next;
        prepare_subresource_update(&gvk, part, old, &mut next);
        let errors = validate_subresource_update(&gvk, part, old, &next);
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(errors, expected, "{part} {next}");
    }
}

#[test]
fn other_kinds_have_their_rules() {
    let hpa = ("autoscaling", "HorizontalPodAutoscaler");
    check(
        hpa,
        json!({"spec": {"minReplicas": 4}}),
        &["spec.maxReplicas: Invalid value: 3: must be greater than or equal to `minReplicas`"],
    );
    check(
        hpa,
        json!({"spec": {"maxReplicas": 0, "minReplicas": 0, "scaleTargetRef": {"name": null}}}),
        &[
            "spec.scaleTargetRef.name: Required value",
            "spec.minReplicas: Invalid value: 0: must be greater than or equal to 1",
            "spec.maxReplicas: Invalid value: 0: must be greater than 0",
        ],
    );
    check(
        hpa,
        json!({"spec": {"metrics": [{"type": "Resource"}]}}),
        &[
            "spec.metrics[0].resource: Required value: must populate information for the given metric source",
        ],
    );
    check(
        ("", "LimitRange"),
        json!({"spec": {"limits": [{"type": "Container"}, {"type": "Container"}]}}),
        &["spec.limits[1].type: Duplicate value: \"Container\""],
    );
    check(
        ("policy", "PodDisruptionBudget"),
        json!({"spec": {"minAvailable": "x", "maxUnavailable": 1}}),
        &[
            "spec: Invalid value: {\"minAvailable\":\"x\",\"maxUnavailable\":1}: minAvailable and maxUnavailable cannot be both set",
            "spec.minAvailable: Invalid value: \"x\": a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
        ],
    );
    check(
        ("", "PersistentVolumeClaim"),
        json!({"spec": {"accessModes": null, "resources": {"requests": null}}}),
        &[
            "spec.accessModes: Required value: at least 1 access mode is required",
            "spec.resources[storage]: Required value",
        ],
    );
    check(
        ("", "PersistentVolume"),
        json!({"spec": {"hostPath": null, "local": {"path": "/x"}}}),
        &["spec.nodeAffinity: Required value: Local volume requires node affinity"],
    );
    check(
        ("scheduling.k8s.io", "PriorityClass"),
        json!({"value": 1_000_000_001}),
        &["value: Forbidden: maximum allowed value of a user defined priority is 1000000000"],
    );
    check(
        ("coordination.k8s.io", "Lease"),
        json!({"spec": {"leaseDurationSeconds": 0}}),
        &["spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"],
    );
    check(
        ("discovery.k8s.io", "EndpointSlice"),
        json!({"endpoints": [{"addresses": ["fd00::1"]}]}),
        &["endpoints[0].addresses[0]: Invalid value: \"fd00::1\": must be an IPv4 address"],
    );
    check(
        ("discovery.k8s.io", "EndpointSlice"),
        json!({"endpoints": [{"addresses": ["127.0.0.1"]}, {"addresses": ["169.254.169.254"]}]}),
        &[
            "endpoints[0].addresses[0]: Invalid value: \"127.0.0.1\": may not be in the loopback range (127.0.0.0/8, ::1/128)",
            "endpoints[1].addresses[0]: Invalid value: \"169.254.169.254\": may not be in the link-local range (169.254.0.0/16, fe80::/10)",
        ],
    );
    check(
        ("", "Endpoints"),
        json!({"subsets": [{
            "addresses": [{"ip": "10.0.0.1"}, {"ip": "::1"}, {"ip": "::ffff:127.0.0.1"}, {"ip": "ff02::1"}],
            "notReadyAddresses": [{"ip": "0.0.0.0"}],
        }]}),
        &[
            "subsets[0].addresses[1].ip: Invalid value: \"::1\": may not be in the loopback range (127.0.0.0/8, ::1/128)",
            "subsets[0].addresses[2].ip: Invalid value: \"::ffff:127.0.0.1\": may not be in the loopback range (127.0.0.0/8, ::1/128)",
            "subsets[0].addresses[3].ip: Invalid value: \"ff02::1\": may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)",
            "subsets[0].notReadyAddresses[0].ip: Invalid value: \"0.0.0.0\": may not be unspecified (0.0.0.0)",
        ],
    );
    check(
        (
            "admissionregistration.k8s.io",
            "ValidatingAdmissionPolicyBinding",
        ),
        json!({"spec": {"validationActions": ["Deny", "Warn"]}}),
        &[
            "spec.validationActions: Invalid value: [\"Deny\",\"Warn\"]: must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)",
        ],
    );
    check(
        ("storage.k8s.io", "StorageClass"),
        json!({"provisioner": null, "reclaimPolicy": "Recycle"}),
        &[
            "provisioner: Required value",
            "reclaimPolicy: Unsupported value: \"Recycle\": supported values: \"Delete\", \"Retain\"",
        ],
    );
    let webhook = json!({"name": "a.b", "clientConfig": {}, "sideEffects": "Some", "timeoutSeconds": 31, "rules": [{"operations": ["*", "CREATE"], "apiGroups": ["*"], "apiVersions": ["*"]}]});
    check(
        (
            "admissionregistration.k8s.io",
            "ValidatingWebhookConfiguration",
        ),
        json!({"webhooks": [webhook]}),
        &[
            "webhooks[0].rules[0].operations: Invalid value: [\"*\",\"CREATE\"]: if '*' is present, must not specify other operations",
            "webhooks[0].rules[0].resources: Required value",
            "webhooks[0].name: Invalid value: \"a.b\": should be a domain with at least three segments separated by dots",
            "webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1",
            "webhooks[0].sideEffects: Unsupported value: \"Some\": supported values: \"None\", \"NoneOnDryRun\"",
            "webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds",
            "webhooks[0].clientConfig: Required value: exactly one of url or service is required",
        ],
    );
    let crd = ("apiextensions.k8s.io", "CustomResourceDefinition");
    check(
        crd,
        json!({"metadata": {"name": "x"}}),
        &["metadata.name: Invalid value: \"x\": must be spec.names.plural+\".\"+spec.group"],
    );
    check(
        crd,
        json!({"spec": {"versions": []}}),
        &[
            "spec.versions: Invalid value: []: must have exactly one version marked as storage version",
        ],
    );
    check(
        ("apiregistration.k8s.io", "APIService"),
        json!({"spec": {"versionPriority": 0}}),
        &["spec.versionPriority: Invalid value: 0: must be positive and less than 1000"],
    );
}

#[test]
fn a_definition_of_a_kind_is_sound_before_its_schemas_are_read() {
    const LABEL: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
    const SIMPLE: &str = "must be a simple json path starting with .";
    const LEAF: &str = "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.";
    let check = |spec: Value, version: Value, expected: &[&str]| {
        let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "a": {"type": "string"}, "o": {"type": "object"},
        }}}});
        let mut one = json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
        one = with(one, version);
        let mut object = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "things.a.test"},
            "spec": {"group": "a.test", "scope": "Namespaced", "versions": [one], "names": {
                "kind": "Thing", "listKind": "ThingList", "plural": "things", "singular": "thing",
            }},
        });
        object["spec"] = with(object["spec"].clone(), spec);
        let errors: Vec<String> = validate_create(
            &gvk("apiextensions.k8s.io", "CustomResourceDefinition"),
            &object,
        )
        .iter()
        .map(ToString::to_string)
        .collect();
        assert_eq!(errors, expected);
    };
    let no = || json!({});
    check(no(), no(), &[]);
    check(
        json!({"names": {"shortNames": ["Bad_"]}}),
        no(),
        &[&format!(
            "spec.names.shortNames[0]: Invalid value: \"Bad_\": {LABEL}"
        )],
    );
    check(
        json!({"names": {"kind": "", "listKind": "", "singular": ""}}),
        no(),
        &[
            "spec.names.kind: Required value",
            "spec.names.singular: Required value",
            "spec.names.listKind: Required value",
        ],
    );
    check(
        json!({"preserveUnknownFields": true}),
        no(),
        &[
            "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
        ],
    );
    check(
        no(),
        json!({"deprecationWarning": "x"}),
        &[
            "spec.versions[0].deprecationWarning: Invalid value: \"x\": can only be set for deprecated versions",
        ],
    );
    check(
        no(),
        json!({"additionalPrinterColumns": [
            {"name": "A", "type": "bogus", "jsonPath": ".a"}, {"name": "", "type": "string", "jsonPath": ""},
            {"name": "C", "type": "integer", "jsonPath": "a", "format": "bogus"},
        ]}),
        &[
            "spec.additionalPrinterColumns[0].type: Invalid value: \"bogus\": must be one of boolean,date,integer,number,string",
            "spec.additionalPrinterColumns[1].name: Required value",
            "spec.additionalPrinterColumns[1].JSONPath: Required value",
            "spec.additionalPrinterColumns[2].format: Invalid value: \"bogus\": must be one of byte,date,date-time,double,float,int32,int64,password",
            &format!("spec.additionalPrinterColumns[2].JSONPath: Invalid value: \"a\": {SIMPLE}"),
        ],
    );
    check(
        no(),
        json!({"subresources": {"scale": {
            "specReplicasPath": "spec.replicas", "statusReplicasPath": ".spec.x", "labelSelectorPath": ".foo",
        }}}),
        &[
            &format!(
                "spec.subresources.scale.specReplicasPath: Invalid value: \"spec.replicas\": {SIMPLE}"
            ),
            "spec.subresources.scale.statusReplicasPath: Invalid value: \".spec.x\": should be a json path under .status",
            "spec.subresources.scale.labelSelectorPath: Invalid value: \".foo\": should be a json path under either .spec or .status",
        ],
    );
    check(
        no(),
        json!({"selectableFields": [
            {"jsonPath": ".spec.a"}, {"jsonPath": "spec.a"}, {"jsonPath": ".metadata.name"}, {"jsonPath": ".spec.o"},
            {"jsonPath": ".spec.l[0]"}, {"jsonPath": ""}, {"jsonPath": ".spec.a"},
        ]}),
        &[
            "spec.selectableFields[1].jsonPath: Invalid value: \"spec.a\": is an invalid path: expected [ or . but got: spec",
            "spec.selectableFields[2].jsonPath: Invalid value: \".metadata.name\": is an invalid path: does not refer to a valid field",
            &format!("spec.selectableFields[3].jsonPath: Invalid value: \".spec.o\": {LEAF}"),
            "spec.selectableFields[4].jsonPath: Invalid value: \".spec.l[0]\": is an invalid path: array notation is not allowed",
            "spec.selectableFields[5].jsonPath: Required value",
            "spec.selectableFields[6].jsonPath: Duplicate value: \".spec.a\"",
        ],
    );
    check(
        json!({"conversion": {"strategy": "Webhook", "webhook": {"clientConfig": {"url": "http://a.b/c"}, "conversionReviewVersions": ["v9"]}}}),
        no(),
        &[
            "spec.conversion.webhookClientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL scheme; desired format: https://host[/path]",
            "spec.conversion.conversionReviewVersions: Invalid value: [\"v9\"]: must include at least one of v1, v1beta1",
        ],
    );
    check(
        json!({"conversion": {"strategy": "None", "webhook": {"clientConfig": {"url": "https://a.b/c"}, "conversionReviewVersions": ["v1"]}}}),
        no(),
        &[
            "spec.conversion.webhookClientConfig: Forbidden: should not be set when strategy is not set to Webhook",
            "spec.conversion.conversionReviewVersions: Forbidden: should not be set when strategy is not set to Webhook",
        ],
    );
}

#[test]
fn kinds_in_groups_of_kubernetes_say_who_agreed() {
    let gvk = gvk("apiextensions.k8s.io", "CustomResourceDefinition");
    for (group, approval, expected) in [
        ("shop.example", "", ""),
        ("notk8s.io", "", ""),
        ("x.k8s.io", "https://github.com/x", ""),
        ("x.k8s.io", "unapproved, an experiment", ""),
        (
            "x.k8s.io",
            "",
            "metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval annotation \"api-approved.kubernetes.io\", see https://github.com/kubernetes/enhancements/pull/1111",
        ),
        (
            "x.kubernetes.io",
            "bogus",
            "metadata.annotations[api-approved.kubernetes.io]: Invalid value: \"bogus\": protected groups must have approval annotation \"api-approved.kubernetes.io\" with either a URL or a reason starting with \"unapproved\", see https://github.com/kubernetes/enhancements/pull/1111",
        ),
    ] {
        let object = json!({
            "metadata": {"name": format!("things.{group}"), "annotations": {"api-approved.kubernetes.io": approval}},
            "spec": {"group": group, "scope": "Cluster", "names": {
                "kind": "Thing", "listKind": "ThingList", "plural": "things", "singular": "thing",
            }, "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}]},
        });
        let errors = validate_create(&gvk, &object);
        assert_eq!(object::field::join(&errors), expected, "{group} {approval}");
    }
}
