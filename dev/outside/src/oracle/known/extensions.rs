//! What an API server for users' own kinds of 1.36 does otherwise.

use super::Known;

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
    Known {
        sent: &[],
        says: &["<redacted>"],
        reason: "bytes that do not fit are not shown: they may be a secret",
    },
    Known {
        sent: &["3.0"],
        says: &[".metadata.generation"],
        reason: "a whole number is the same however it is written",
    },
    Known {
        sent: &[],
        says: &[".message: ours", "is invalid: patch: Invalid value: "],
        reason: "what a patch made is shown in the order of its fields",
    },
    Known {
        sent: &["application/apply-patch+yaml", ":null"],
        says: &[".message: ours \"Thing."],
        reason: "null in a declaration means that nothing is declared there",
    },
    Known {
        sent: &["application/apply-patch+yaml", ":null"],
        says: &[".details.causes"],
        reason: "null in a declaration means that nothing is declared there",
    },
    Known {
        sent: &["customresourcedefinitions"],
        says: &["compilation failed"],
        reason: "1.36 shows the whole rule, earlier versions its text",
    },
    Known {
        sent: &["customresourcedefinitions"],
        says: &["must evaluate to"],
        reason: "1.36 shows the whole rule, earlier versions its text",
    },
    Known {
        sent: &["application/json-patch+json", "\"op\":\"replace\""],
        says: &["theirs \"the server rejected our request"],
        reason: "the judge was built with a later library of JSON patches, which replaces only what is there",
    },
    Known {
        sent: &["application/json-patch+json", "\"op\":\"replace\""],
        says: &["warnings: ours [\"299 - \\\"unknown field"],
        reason: "the judge was built with a later library of JSON patches, which replaces only what is there",
    },
    Known {
        sent: &["/status"],
        says: &[".details.causes", "theirs \"status\""],
        reason: "a status of the wrong type is told with its field",
    },
    Known {
        sent: &["/status"],
        says: &["in body must be of type"],
        reason: "a status of the wrong type is told with its field",
    },
    Known {
        sent: &[],
        says: &["code: ours 404", "theirs 422 \"things."],
        reason: "nobody carries out foreground deletion beside the judge, so that its objects stay",
    },
];
