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
];

/// Why a difference between the answers to a request does not count, if it does not.
pub(crate) fn reason<'a>(list: &'a [Known], request: &str, difference: &str) -> Option<&'a str> {
    let has = |text: &str, parts: &[&str]| parts.iter().all(|part| text.contains(part));
    list.iter()
        .find(|known| has(request, known.sent) && has(difference, known.says))
        .map(|known| known.reason)
}
