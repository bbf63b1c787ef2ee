//! What a member's refusal means for what the control plane would send it later, in its own name.

use client::Refusal;

/// How servers say of an object that is applied that they do not know a field of it.
const UNDECLARED: &str = "field not declared in schema";
/// How they say of one that two items of a list are the same by the list's key, which they store all the same.
const DOUBLED: &str = ": duplicate entries for key ";
/// How they say that they cannot make sense of what is applied.
const UNREADABLE: &str = "typed patch object";

/// What the parts of a server say that judge objects and not users, in words which only they use.
const CAUSES: [&[&str]; 8] = [
    &["admission webhook", "denied the request"],
    &["ValidatingAdmissionPolicy", "denied request"],
    &["violates PodSecurity"],
    &["exceeded quota"],
    &["failed quota"],
    // Limit ranges: `maximum cpu usage per Container is 1`.
    &["usage per", " is "],
    &["no PriorityClass with name"],
    &["because it is being terminated"],
];

/// What a member says to an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It would take it.
    Taken,
    /// It would not, and says why.
    Refused(String),
    /// Nobody knows, for this reason.
    Open(String),
    /// It does not answer.
    Silent(String),
}

/// What a refusal means. Whoever asks is somebody else than the control plane: what they may not do says nothing of it.
pub(super) fn judge(refusal: &Refusal) -> Verdict {
    let said = refusal.message.clone();
    match refusal.code {
        // A rule that would do something beside is not asked by servers for a rehearsal.
        400 if said.contains("does not support dry run") => Verdict::Open(said),
        // What is there already is told from what could not be there at all before it is told at all.
        409 if refusal.reason == "AlreadyExists" => Verdict::Taken,
        _ if is_undeclared(refusal) => Verdict::Open(said),
        _ if is_denied(refusal) || said.contains(UNREADABLE) => Verdict::Refused(said),
        400 | 404 | 413 | 422 => Verdict::Refused(said),
        502..=504 => Verdict::Silent(said),
        _ => Verdict::Open(said),
    }
}

/// Whether a refusal is about fields that an older server does not know. It drops them from what is created or replaced,
/// and works are applied again without them.
fn is_undeclared(refusal: &Refusal) -> bool {
    refusal.message.contains(UNDECLARED)
}

/// Whether a refusal to apply something leads to another way of writing it: without the fields that the server does not
/// know, or as a whole where it stores what it cannot apply.
pub(super) fn is_written_otherwise(refusal: &Refusal) -> bool {
    is_undeclared(refusal) || refusal.message.contains(DOUBLED)
}

/// Whether a refusal is about what an object says, and not about where it is or who sends it.
pub(super) fn is_about_object(refusal: &Refusal) -> bool {
    matches!(refusal.code, 400 | 422) && !is_denied(refusal)
}

/// Whether the cluster's own rules have something against the object where it is.
fn is_denied(refusal: &Refusal) -> bool {
    let said = refusal.message.as_str();
    CAUSES
        .iter()
        .any(|words| words.iter().all(|word| said.contains(word)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refusal(code: u16, message: &str) -> Refusal {
        let reason = match message.ends_with("already exists") {
            true => "AlreadyExists",
            false => "",
        };
        Refusal {
            request: "PATCH /x".to_owned(),
            code,
            reason: reason.to_owned(),
            message: message.to_owned(),
            details: json!({}),
            retry_after: None,
        }
    }

    #[test]
    fn what_members_have_against_an_object_is_told_from_what_they_have_against_the_user() {
        for (code, message, expected) in [
            (
                422,
                "Deployment \"a\" is invalid: spec.x: Required value",
                "refused",
            ),
            (
                403,
                "admission webhook \"w\" denied the request: no",
                "refused",
            ),
            (
                500,
                "admission webhook \"w\" denied the request: no",
                "refused",
            ),
            (403, "pods \"a\" is forbidden: exceeded quota: q", "refused"),
            (
                403,
                "pods \"a\" is forbidden: failed quota: q: must specify limits.cpu for: c",
                "refused",
            ),
            (
                403,
                "pods \"a\" is forbidden: [maximum cpu usage per Container is 1, but limit is 2]",
                "refused",
            ),
            (
                403,
                "pods \"a\" is forbidden: violates PodSecurity \"restricted:latest\": privileged",
                "refused",
            ),
            (
                422,
                "pods \"a\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no",
                "refused",
            ),
            (
                403,
                "pods \"a\" is forbidden: unable to create new content in namespace n because it is being terminated",
                "refused",
            ),
            (
                403,
                "secrets \"a\" is forbidden: User \"jane\" cannot patch resource \"secrets\" in API group \"\"",
                "open",
            ),
            (
                403,
                "roles.rbac.authorization.k8s.io \"a\" is forbidden: user \"jane\" (groups=[\"devs\"]) is attempting to grant RBAC permissions not currently held",
                "open",
            ),
            (403, "forbidden by the gateway", "open"),
            (401, "Unauthorized", "open"),
            (
                400,
                "admission webhook \"w\" does not support dry run",
                "open",
            ),
            (400, "the object is broken", "refused"),
            (
                404,
                "the server could not find the requested resource",
                "refused",
            ),
            (409, "deployments.apps \"a\" already exists", "taken"),
            (409, "the object has been modified", "open"),
            (
                500,
                "failed to create typed patch object (a/b; apps/v1, Kind=Deployment): .spec.x: field not declared in schema",
                "open",
            ),
            (
                500,
                "failed to create typed patch object: .spec.x: expected map, got &{7}",
                "refused",
            ),
            (500, "etcd is away", "open"),
            (504, "cluster(member1) is inaccessible", "silent"),
        ] {
            let found = match judge(&refusal(code, message)) {
                Verdict::Taken => "taken",
                Verdict::Refused(said) if said == message => "refused",
                Verdict::Open(said) if said == message => "open",
                Verdict::Silent(said) if said == message => "silent",
                other => panic!("{other:?}"),
            };
            assert_eq!(found, expected, "{code} {message}");
        }
    }

    #[test]
    fn what_cannot_be_applied_is_written_otherwise() {
        for (message, expected) in [
            (
                "failed to create typed patch object (n/web; apps/v1, Kind=Deployment): .spec.x: field not declared in schema",
                true,
            ),
            (
                "failed to create typed patch object (n/web; apps/v1, Kind=Deployment): .spec.template.spec.containers[name=\"web\"].env: duplicate entries for key [name=\"A\"]",
                true,
            ),
            (
                "failed to create typed patch object: .spec.x: expected map, got &{7}",
                false,
            ),
        ] {
            let found = is_written_otherwise(&refusal(500, message));
            assert_eq!(found, expected, "{message}");
        }
    }

    #[test]
    fn what_the_rules_of_a_namespace_say_is_not_about_the_object_alone() {
        for (code, message, expected) in [
            (
                422,
                "Deployment \"a\" is invalid: spec.x: Required value",
                true,
            ),
            (400, "the object is broken", true),
            (
                422,
                "pods \"a\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no",
                false,
            ),
            (400, "admission webhook \"w\" denied the request: no", false),
            (403, "pods \"a\" is forbidden: exceeded quota: q", false),
            (409, "pods \"a\" already exists", false),
        ] {
            let found = is_about_object(&refusal(code, message));
            assert_eq!(found, expected, "{code} {message}");
        }
    }
}
