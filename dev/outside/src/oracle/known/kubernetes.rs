//! What a whole API server of 1.20 does otherwise.

use super::Known;

/// Against the whole API server of 1.20.
pub(crate) const KUBERNETES: &[Known] = &[
    Known {
        sent: &[],
        says: &[
            ".message: ours",
            "cannot be handled as a",
            "error found in #",
        ],
        reason: "1.20 decodes with another library, which shows bytes instead of fields",
    },
    Known {
        sent: &[],
        says: &[".metadata.generation: ours", "theirs absent"],
        reason: "kinds that count generations only since 1.20",
    },
    Known {
        sent: &["application/apply-patch+yaml"],
        says: &[
            ".message: ours \"failed to create typed patch object (",
            "theirs \"failed to create typed patch object:",
        ],
        reason: "1.20 does not name the object",
    },
    Known {
        sent: &["daemonsets"],
        says: &["deprecated.daemonset.template.generation"],
        reason: "a note for clients of kinds that are gone is not kept",
    },
    Known {
        sent: &[],
        says: &["f:scaleTargetRef"],
        reason: "references are owned whole since 1.22",
    },
    Known {
        sent: &[],
        says: &["f:roleRef"],
        reason: "references are owned whole since 1.22",
    },
    Known {
        sent: &[],
        says: &[".metadata.managedFields: ours {", "theirs absent"],
        reason: "repeated list elements have owners since 1.28",
    },
    Known {
        sent: &["roles"],
        says: &["resource rules must supply at least one api group"],
        reason: "1.20 has a bracket too many",
    },
    Known {
        sent: &[],
        says: &[".message: ours \" \\\"\\\" is invalid: patch: Invalid value"],
        reason: "what a patch made is told with the field that is wrong",
    },
    Known {
        sent: &["PATCH"],
        says: &["is invalid: patch:"],
        reason: "what a patch made is told with the field that is wrong",
    },
    Known {
        sent: &["PATCH", "secrets"],
        says: &[".details.causes[0].message: ours \"Invalid value: \\\"<redacted>"],
        reason: "what a patch made is told with the field that is wrong, and of a secret no more",
    },
    Known {
        sent: &["PATCH"],
        says: &[".details.causes[0].message: ours \"Invalid value: \\\"{"],
        reason: "what a patch made is told with the field that is wrong",
    },
    Known {
        sent: &["application/json-patch+json"],
        says: &["theirs \"the server rejected our request"],
        reason: "a JSON patch that cannot be applied is told with why",
    },
    Known {
        sent: &[],
        says: &["f:completionMode"],
        reason: "set since later versions",
    },
    Known {
        sent: &[],
        says: &["f:internalTrafficPolicy"],
        reason: "set since later versions",
    },
    Known {
        sent: &[],
        says: &["f:persistentVolumeClaimRetentionPolicy"],
        reason: "set since later versions",
    },
    Known {
        sent: &[],
        says: &["f:maxSurge"],
        reason: "set since later versions",
    },
    Known {
        sent: &[],
        says: &["f:status", "theirs {"],
        reason: "who creates an object owns no status since 1.22",
    },
    Known {
        sent: &[],
        says: &["creationTimestamp: ours absent, theirs null"],
        reason: "times that were never set are not told since 1.34",
    },
    Known {
        sent: &[],
        says: &[".spec.tolerations: ours absent"],
        reason: "pods of a control plane run nowhere and need no tolerations",
    },
    Known {
        sent: &[],
        says: &["kubernetes.io/pvc-protection"],
        reason: "claims of a control plane are used by nobody",
    },
    Known {
        sent: &[],
        says: &["Update status: ours", "f:hard"],
        reason: "quotas are counted at once",
    },
    Known {
        sent: &["roles"],
        says: &["resource rules must supply at least one resource"],
        reason: "1.20 has a bracket too many",
    },
    Known {
        sent: &["priorityclasses"],
        says: &["may not be changed in an update"],
        reason: "1.20 has the field in upper case",
    },
    Known {
        sent: &[],
        says: &["Apply.time: ours absent"],
        reason: "times are those of a change since 1.22",
    },
    Known {
        sent: &[],
        says: &["conflict with", ".spec.scaleTargetRef"],
        reason: "references are owned whole since 1.22",
    },
    Known {
        sent: &["application/apply-patch+yaml"],
        says: &["theirs 500 \"failed to convert new object to proper version"],
        reason: "what does not fit is the client's mistake, not the server's",
    },
    Known {
        sent: &[],
        says: &["base64Codec: invalid input"],
        reason: "1.20 decodes with another library, which shows bytes instead of fields",
    },
    Known {
        sent: &["statefulsets"],
        says: &["code: ours 422", "spec.template.spec.", "theirs 20"],
        reason: "templates of stateful sets are judged since later versions",
    },
    Known {
        sent: &["jobs"],
        says: &["f:manualSelector"],
        reason: "set since later versions",
    },
    Known {
        sent: &[],
        says: &[".spec.persistentVolumeClaimRetentionPolicy: ours {"],
        reason: "set since later versions",
    },
    Known {
        sent: &[],
        says: &[".maxSurge: ours 0, theirs absent"],
        reason: "set since later versions",
    },
    Known {
        sent: &[],
        says: &[".spec.internalTrafficPolicy: ours \"Cluster\""],
        reason: "set since later versions",
    },
    Known {
        sent: &["pods"],
        says: &[".spec.priority: ours absent"],
        reason: "pods of a control plane run nowhere and wait for nothing",
    },
    Known {
        sent: &["persistentvolumes"],
        says: &["kubernetes.io/pv-protection"],
        reason: "volumes of a control plane are used by nobody",
    },
    Known {
        sent: &["priorityclasses"],
        says: &[".details.causes", "field: ours \"value\", theirs \"Value\""],
        reason: "1.20 has the field in upper case",
    },
    Known {
        sent: &[],
        says: &["Invalid value: ", "map[string]string"],
        reason: "1.20 shows values as Go writes them, later versions as JSON",
    },
    Known {
        sent: &[],
        says: &["Invalid value: ", "v1.LabelSelector{"],
        reason: "1.20 shows values as Go writes them, later versions as JSON",
    },
    Known {
        sent: &[],
        says: &["Unsupported value: core.ResourceList(nil)"],
        reason: "1.20 shows values as Go writes them, later versions as JSON",
    },
    Known {
        sent: &["rolebindings"],
        says: &["Invalid value: ", "rbac.RoleRef{"],
        reason: "1.20 shows values as Go writes them, later versions as JSON",
    },
    Known {
        sent: &["application/strategic-merge-patch+json"],
        says: &["does not contain declared merge key"],
        reason: "what does not fit is the client's mistake, not the server's",
    },
    Known {
        sent: &["limitranges"],
        says: &[".spec.limits: ours [], theirs null"],
        reason: "an empty list stays one",
    },
    Known {
        sent: &["limitranges"],
        says: &["spec.limits[0].type: Required value"],
        reason: "1.20 tells of a missing type as of one with an odd name",
    },
    Known {
        sent: &["limitranges"],
        says: &["f:limits"],
        reason: "a map without entries and none are alike",
    },
    Known {
        sent: &[],
        says: &["Apply.fieldsV1.", ": ours {", "theirs absent"],
        reason: "who declares an empty map owns it since 1.22",
    },
    Known {
        sent: &[],
        says: &["Update.fieldsV1.", ": ours {}, theirs absent"],
        reason: "set since later versions",
    },
    Known {
        sent: &["statefulsets"],
        says: &[".status.availableReplicas: ours 0"],
        reason: "set since later versions",
    },
    Known {
        sent: &["persistentvolumes"],
        says: &[".status.lastPhaseTransitionTime: ours"],
        reason: "set since later versions",
    },
    Known {
        sent: &["jobs"],
        says: &["labels.", "controller-uid"],
        reason: "labels of jobs have had longer names since 1.27",
    },
    Known {
        sent: &["jobs"],
        says: &["labels.", "job-name"],
        reason: "labels of jobs have had longer names since 1.27",
    },
    Known {
        sent: &["pods"],
        says: &[".spec.preemptionPolicy: ours absent"],
        reason: "pods of a control plane run nowhere and wait for nothing",
    },
    Known {
        sent: &["networking.k8s.io"],
        says: &[".extensions "],
        reason: "1.20 names a group that is gone",
    },
    Known {
        sent: &["networking.k8s.io"],
        says: &["theirs \"extensions\""],
        reason: "1.20 names a group that is gone",
    },
    Known {
        sent: &["services"],
        says: &["core.ServicePort{"],
        reason: "1.20 shows values as Go writes them, later versions as JSON",
    },
    Known {
        sent: &["daemonsets"],
        says: &["details.causes", "spec.template.spec."],
        reason: "1.20 tells of the same mistake twice",
    },
    Known {
        sent: &["null"],
        says: &["\"\"], theirs ["],
        reason: "null among texts is an empty one, also in what a patch brings",
    },
    Known {
        sent: &["secrets"],
        says: &["managedFields"],
        reason: "texts that become data are owned as such",
    },
    Known {
        sent: &["configmaps"],
        says: &["managedFields: ours absent"],
        reason: "bytes are text",
    },
    Known {
        sent: &["services"],
        says: &["f:selector"],
        reason: "selectors of services are owned whole since 1.22",
    },
    Known {
        sent: &["resourcequotas"],
        says: &[".status.hard: ours {"],
        reason: "quotas are counted at once",
    },
    Known {
        sent: &["replicasets"],
        says: &["spec.template.spec.containers"],
        reason: "1.20 tells of the same mistake twice",
    },
    Known {
        sent: &["PUT"],
        says: &["resourceVersion should not be set on objects to be created"],
        reason: "a revision where there can be none is told before anything else",
    },
    Known {
        sent: &["storageclasses", "parameters\":{}"],
        says: &["updates to parameters are forbidden"],
        reason: "a map without entries and none are alike",
    },
    Known {
        sent: &["configmaps", "[]"],
        says: &["binaryData"],
        reason: "bytes are text",
    },
    Known {
        sent: &["secrets"],
        says: &["f:data..: ours absent"],
        reason: "texts that become data are owned as such",
    },
    Known {
        sent: &["DELETE", "persistentvolumeclaims"],
        says: &["deletion"],
        reason: "claims of a control plane are used by nobody",
    },
    Known {
        sent: &["DELETE", "persistentvolumes"],
        says: &["deletion"],
        reason: "volumes of a control plane are used by nobody",
    },
    Known {
        sent: &["jobs"],
        says: &[".spec.completionMode: ours"],
        reason: "set since later versions",
    },
    Known {
        sent: &["jobs"],
        says: &["managedFields", "f:labels"],
        reason: "labels of jobs have had longer names since 1.27",
    },
    Known {
        sent: &["persistentvolumes"],
        says: &["spec.capacity", "core.ResourceList"],
        reason: "1.20 shows values as Go writes them, later versions as JSON",
    },
    Known {
        sent: &["persistentvolumes"],
        says: &["is immutable after creation"],
        reason: "1.20 shows values as Go writes them, later versions as JSON",
    },
    Known {
        sent: &["limitranges"],
        says: &["spec.limits[0].type"],
        reason: "1.20 tells of a missing type as of one with an odd name",
    },
    Known {
        sent: &["networkpolicies"],
        says: &[".details.causes: ours"],
        reason: "1.20 tells of the same mistake twice",
    },
    Known {
        sent: &["statefulsets"],
        says: &["updates to statefulset spec for fields other than"],
        reason: "more fields may change since later versions",
    },
    Known {
        sent: &["DELETE", "pods"],
        says: &["deletion"],
        reason: "pods that run nowhere go at once",
    },
    Known {
        sent: &["application/apply-patch+yaml"],
        says: &[" Apply: ours {", "theirs absent"],
        reason: "who declares an empty map owns it since 1.22",
    },
    Known {
        sent: &[],
        says: &["managedFields", " Apply", "theirs absent"],
        reason: "who declares an empty map owns it since 1.22",
    },
    Known {
        sent: &["jobs"],
        says: &[".spec.suspend: ours false"],
        reason: "set since later versions",
    },
    Known {
        sent: &[],
        says: &["must be specified for an update", "0x0"],
        reason: "1.20 shows values as Go writes them, later versions as JSON",
    },
    Known {
        sent: &["resourcequotas"],
        says: &["name part must consist of"],
        reason: "1.20 tells of the same mistake twice",
    },
    Known {
        sent: &["rolebindings"],
        says: &["subjects["],
        reason: "1.20 tells of the same mistake twice",
    },
    Known {
        sent: &["daemonsets"],
        says: &[".message: ours", "spec.template.spec."],
        reason: "1.20 tells of the same mistake twice",
    },
    Known {
        sent: &["statefulsets", "\"spec\":null"],
        says: &[".details.causes"],
        reason: "more fields may change since later versions",
    },
    Known {
        sent: &["ingresses", "\"pathType\":\"\""],
        says: &["FieldValueRequired"],
        reason: "an empty text and none are alike",
    },
    Known {
        sent: &[],
        says: &["ReadWriteOncePod"],
        reason: "a way to use volumes that is known since 1.22",
    },
    Known {
        sent: &["pods"],
        says: &["pod updates may not change fields other than"],
        reason: "1.20 shows values as Go writes them, later versions as JSON",
    },
    Known {
        sent: &["jobs"],
        says: &[".spec.podReplacementPolicy: ours"],
        reason: "set since later versions",
    },
    Known {
        sent: &["application/apply-patch+yaml"],
        says: &["theirs 500", "associative list with keys"],
        reason: "1.20 does not know the defaults of keys",
    },
    Known {
        sent: &["null"],
        says: &["code: ours 4", "theirs 200"],
        reason: "null among elements is the empty one, and judged as such",
    },
    Known {
        sent: &["null"],
        says: &["managedFields"],
        reason: "null among elements is the empty one, and judged as such",
    },
    Known {
        sent: &["persistentvolumes", "null"],
        says: &["spec.capacity"],
        reason: "null among elements is the empty one, and judged as such",
    },
    Known {
        sent: &["replicasets"],
        says: &[".message: ours", "spec.template.spec."],
        reason: "1.20 tells of the same mistake twice",
    },
    Known {
        sent: &["persistentvolumes"],
        says: &[".details.causes: ours"],
        reason: "1.20 tells of the same mistake twice",
    },
    Known {
        sent: &["persistentvolumeclaims"],
        says: &["spec is immutable after creation"],
        reason: "1.20 shows values as Go writes them, later versions as JSON",
    },
    Known {
        sent: &["rolebindings"],
        says: &["cannot change roleRef", "theirs 200"],
        reason: "references are owned whole since 1.22",
    },
    Known {
        sent: &["endpoints"],
        says: &["addresses[0].ip: Required value"],
        reason: "an empty text and none are alike",
    },
    Known {
        sent: &["secrets"],
        says: &["ours [], theirs \"\""],
        reason: "bytes are text",
    },
    Known {
        sent: &["statefulsets"],
        says: &[".details.causes[1].reason"],
        reason: "more fields may change since later versions",
    },
    Known {
        sent: &[],
        says: &["f:resources..: ours absent"],
        reason: "parts that are always there have no owner since 1.22",
    },
    Known {
        sent: &[],
        says: &["spec.accessModes[0]\", theirs \"spec.accessModes\""],
        reason: "an element is told with its place",
    },
    Known {
        sent: &["application/strategic-merge-patch+json"],
        says: &["list element types are not identical"],
        reason: "what does not fit is the client's mistake, not the server's",
    },
    Known {
        sent: &["ingresses"],
        says: &["networking.IngressRule"],
        reason: "1.20 shows values as Go writes them, later versions as JSON",
    },
    Known {
        sent: &["jobs"],
        says: &[".spec.manualSelector: ours"],
        reason: "set since later versions",
    },
    Known {
        sent: &["pods"],
        says: &["f:resources.f:limits: ours absent"],
        reason: "what admission adds belongs to nobody since 1.21",
    },
    Known {
        sent: &["webhookconfigurations"],
        says: &["webhooks[0].sideEffects"],
        reason: "what is none of the words is told with all of them",
    },
    Known {
        sent: &["resourcequotas"],
        says: &[".status.used: ours"],
        reason: "quotas are counted at once",
    },
    Known {
        sent: &["endpoints"],
        says: &[".details.causes", "addresses[0].ip"],
        reason: "an empty text and none are alike",
    },
    Known {
        sent: &["ingresses", "\"pathType\":\"\""],
        says: &["pathType must be specified"],
        reason: "an empty text and none are alike",
    },
    Known {
        sent: &[],
        says: &["spec.accessModes[1]\", theirs \"spec.accessModes\""],
        reason: "an element is told with its place",
    },
    Known {
        sent: &["services"],
        says: &[".spec.clusterIPs: ours absent"],
        reason: "addresses of services are those of the members",
    },
    Known {
        sent: &["jobs"],
        says: &[".spec.selector.matchLabels."],
        reason: "labels of jobs have had longer names since 1.27",
    },
    Known {
        sent: &["pods"],
        says: &["f:resources.f:requests: ours absent"],
        reason: "what admission adds belongs to nobody since 1.21",
    },
    Known {
        sent: &["webhookconfigurations"],
        says: &["Unsupported value: ", "NoneOnDryRun"],
        reason: "what is none of the words is told with all of them",
    },
    Known {
        sent: &["endpoints"],
        says: &[".message: ours", "addresses[0].ip"],
        reason: "1.20 tells of the same mistake twice",
    },
    Known {
        sent: &["DELETE", "services"],
        says: &[".kind: ours \"Service\""],
        reason: "shown when they go since later versions",
    },
    Known {
        sent: &["jobs"],
        says: &[".details.causes", "spec.selector"],
        reason: "1.20 shows values as Go writes them, later versions as JSON",
    },
    Known {
        sent: &["roles"],
        says: &["verbs must contain at least one value"],
        reason: "1.20 has a bracket too many",
    },
];
