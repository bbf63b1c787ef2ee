//! Differences that are there on purpose, or that belong to a version: each with its reason.

/// A difference that does not count.
pub(crate) struct Known {
    /// What the request has, in part; all of them.
    pub(crate) sent: &'static [&'static str],
    /// What the difference says, in part; all of them.
    pub(crate) says: &'static [&'static str],
    /// Why it is so.
    pub(crate) reason: &'static str,
}

/// Against the API server for users' own kinds of 1.36.
pub(crate) const EXTENSIONS: &[Known] = &[
    Known {
        sent: &["labelSelector="],
        says: &[".message: ours", "found '=='"],
        reason: "a selector that cannot be read is told with the place",
    },
    Known {
        sent: &["application/json-patch+json"],
        says: &[".message: ours \"operation "],
        reason: "a JSON patch that cannot be read is told with the operation",
    },
    Known {
        sent: &["application/json-patch+json"],
        says: &[
            ".message: ours \"the server rejected our request",
            "theirs \"the server rejected our request",
        ],
        reason: "a JSON patch that cannot be applied is told with why",
    },
    Known {
        sent: &["/status"],
        says: &[
            "status in body must be of type",
            ":  in body must be of type",
        ],
        reason: "a status of the wrong type is told with its field",
    },
    Known {
        sent: &["resourceVersion"],
        says: &["ours 409", "theirs 500 \"strconv.ParseUint"],
        reason: "a revision that is no number is the client's mistake, not the server's",
    },
    Known {
        sent: &[],
        says: &[
            ".message: ours",
            "couldn't get version/kind; json parse error",
        ],
        reason: "a refusal does not repeat the body, nor the decoder's types",
    },
    Known {
        sent: &[],
        says: &[".metadata.managedFields: ours {", "theirs absent"],
        reason: "wrong types in a part that is not written cost nobody their ownership",
    },
    Known {
        sent: &["application/apply-patch+yaml"],
        says: &["code: ours 201 null, theirs 200 null"],
        reason: "nobody carries out foreground deletion beside the judge, so that its objects stay",
    },
    Known {
        sent: &["application/apply-patch+yaml", "null"],
        says: &["code: ours 201 null", "must be of type"],
        reason: "null in a declaration means that nothing is declared there",
    },
    Known {
        sent: &["application/json-patch+json"],
        says: &["code: ours 200 null, theirs 422 \"the server rejected our request"],
        reason: "the judge was built with a later library of JSON patches, which replaces only what is there",
    },
    Known {
        sent: &[],
        says: &["failed rule"],
        reason: "1.36 shows the value of a plain field that breaks a rule, earlier versions its type",
    },
    Known {
        sent: &[],
        says: &["StorageError: invalid object"],
        reason: "the words of the store are kept to the log",
    },
    Known {
        sent: &["preconditions"],
        says: &["the ResourceVersion in the precondition ("],
        reason: "revisions are numbers of each server's own",
    },
    Known {
        sent: &["fieldSelector="],
        says: &["is not a known field selector"],
        reason: "a field that cannot be selected by is told with those that can",
    },
    Known {
        sent: &["application/merge-patch+json"],
        says: &["theirs 400 \"error decoding patch: json"],
        reason: "what a patch made is told with what is wrong with it",
    },
    Known {
        sent: &[],
        says: &["error decoding patch:"],
        reason: "a patch that cannot be read is told with the place",
    },
    Known {
        sent: &["nonsense"],
        says: &["error decoding the body as JSON", "not found"],
        reason: "what cannot be read is told before what cannot be found",
    },
    Known {
        sent: &[],
        says: &["bad value"],
        reason: "1.36 judges labels twice",
    },
    Known {
        sent: &["kind\":\"Other\""],
        says: &["invalid object type"],
        reason: "what cannot be read is told before what cannot be found",
    },
    Known {
        sent: &["kind\":\"Other\""],
        says: &["must be Thing\", theirs 404"],
        reason: "what cannot be read is told before what cannot be found",
    },
    Known {
        sent: &["application/apply-patch+yaml"],
        says: &["code: ours 200 null, theirs 422", "\\\"null\\\""],
        reason: "what an applier no longer declares goes, instead of staying as null",
    },
    Known {
        sent: &[],
        says: &["code: ours 404", "theirs 422 \"Thing."],
        reason: "nobody carries out foreground deletion beside the judge, so that its objects stay",
    },
    Known {
        sent: &["customresourcedefinitions"],
        says: &[".default"],
        reason: "defaults are held against rules once they fit their types",
    },
    Known {
        sent: &["application/apply-patch+yaml"],
        says: &[
            "ours \"failed to create typed patch object",
            "theirs \"failed to create typed patch object",
            "errors:",
        ],
        reason: "problems are told in the order of the fields",
    },
    Known {
        sent: &[],
        says: &["theirs \"error decoding YAML"],
        reason: "what cannot be read is told in the reader's words",
    },
    Known {
        sent: &[],
        says: &["must be a valid regular expression"],
        reason: "what cannot be read is told in the reader's words",
    },
    Known {
        sent: &[],
        says: &["must be as the rule says"],
        reason: "1.36 shows the value of a plain field that breaks a rule, earlier versions its type",
    },
    Known {
        sent: &[],
        says: &["Invalid value: ", "not so"],
        reason: "1.36 shows the value of a plain field that breaks a rule, earlier versions its type",
    },
    Known {
        sent: &["kind\":\"Other\""],
        says: &["must be Thing"],
        reason: "what is of another kind is told so before anything else, through every part of an object",
    },
    Known {
        sent: &["bad value"],
        says: &[".details.causes"],
        reason: "1.36 judges labels twice",
    },
    Known {
        sent: &["/status"],
        says: &["Checked value must be of type"],
        reason: "a status of the wrong type is told with its field",
    },
    Known {
        sent: &["resourceVersion"],
        says: &["resourceVersion should not be set on objects to be created"],
        reason: "a revision where there can be none is the client's mistake, not the server's",
    },
];

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
        says: &["spec.template.spec.containers: Required value"],
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
        sent: &["ingresses"],
        says: &["theirs \"Ingress.extensions "],
        reason: "1.20 names a group that is gone",
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
        sent: &["application/apply-patch+yaml"],
        says: &["Apply.fieldsV1.", ": ours {", "theirs absent"],
        reason: "who declares an empty map owns it since 1.22",
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
        reason: "1.20 tells of missing containers twice",
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
];

/// Why a difference between the answers to a request does not count, if it does not.
pub(crate) fn reason<'a>(list: &'a [Known], request: &str, difference: &str) -> Option<&'a str> {
    let has = |text: &str, parts: &[&str]| parts.iter().all(|part| text.contains(part));
    list.iter()
        .find(|known| has(request, known.sent) && has(difference, known.says))
        .map(|known| known.reason)
}
