//! Images.

use super::value_after;
use crate::overrider::image::{Image, ParseImageError};

const DIGEST: &str = "sha256:50d858e0985ecc7f60418aaf0cc5ab587f42c2570a884095a9e8ccacd0f6545c";

fn pod(image: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: p, namespace: test}}, spec: {{containers: [{{name: c, image: '{image}'}}]}}}}"
    )
}

/// The image of a pod after one change, `component operator value`.
fn changed(image: &str, change: &str) -> String {
    let mut words = change.splitn(3, ' ');
    let (component, operator, value) = (
        words.next().unwrap(),
        words.next().unwrap(),
        words.next().unwrap_or_default(),
    );
    let overriders = format!(
        "imageOverrider: [{{component: {component}, operator: {operator}, value: '{value}'}}]"
    );
    let image = value_after(&overriders, &pod(image), "/spec/containers/0/image");
    image.trim_matches('"').to_owned()
}

#[test]
fn each_part_can_be_added_to_replaced_and_removed() {
    for (image, change, expected) in [
        (
            "reg.io/app/web:v1",
            "Registry add .cn",
            "reg.io.cn/app/web:v1",
        ),
        (
            "reg.io/app/web:v1",
            "Registry replace other.io",
            "other.io/app/web:v1",
        ),
        ("reg.io/app/web:v1", "Registry remove", "app/web:v1"),
        ("app/web:v1", "Registry add reg.io", "reg.io/app/web:v1"),
        (
            "reg.io/app/web:v1",
            "Repository add -x",
            "reg.io/app/web-x:v1",
        ),
        (
            "reg.io/app/web:v1",
            "Repository replace x/y",
            "reg.io/x/y:v1",
        ),
        ("reg.io/app/web:v1", "Repository remove", "reg.io/:v1"),
        ("reg.io/app/web:v1", "Tag add -rc1", "reg.io/app/web:v1-rc1"),
        ("reg.io/app/web", "Tag add v1", "reg.io/app/web:v1"),
        ("reg.io/app/web:v1", "Tag replace v2", "reg.io/app/web:v2"),
        ("reg.io/app/web:v1", "Tag remove", "reg.io/app/web"),
        ("reg.io/app/web", "Tag remove", "reg.io/app/web"),
    ] {
        assert_eq!(changed(image, change), expected, "{image} {change}");
    }
}

#[test]
fn a_tag_makes_way_for_a_digest_and_back() {
    let with_digest = format!("reg.io/app/web@{DIGEST}");
    assert_eq!(
        changed("reg.io/app/web:v1", &format!("Tag replace {DIGEST}")),
        with_digest
    );
    assert_eq!(changed(&with_digest, "Tag replace v2"), "reg.io/app/web:v2");
    assert_eq!(changed(&with_digest, "Tag remove"), "reg.io/app/web");
    assert_eq!(
        changed(&with_digest, "Tag add 00"),
        format!("{with_digest}00")
    );
}

#[test]
fn what_is_neither_a_tag_nor_a_digest_changes_nothing() {
    for change in [
        "Tag replace bad tag",
        "Tag replace sha256:short",
        "Tag add /x",
        "Tag replace -x",
    ] {
        assert_eq!(
            changed("reg.io/app/web:v1", change),
            "reg.io/app/web:v1",
            "{change}"
        );
    }
    let longest = "x".repeat(128);
    assert_eq!(
        changed("web:v1", &format!("Tag replace {longest}")),
        format!("web:{longest}")
    );
    assert_eq!(
        changed("web:v1", &format!("Tag replace {longest}x")),
        "web:v1"
    );
}

#[test]
fn of_a_tag_and_a_digest_only_the_tag_survives_a_change() {
    let both = format!("reg.io/app/web:v1@{DIGEST}");
    assert_eq!(
        changed(&both, "Registry replace other.io"),
        "other.io/app/web:v1"
    );
}

#[test]
fn references_are_read_by_the_grammar_of_container_runtimes() {
    for (text, expected) in [
        ("web", "|web|"),
        ("app/web", "|app/web|"),
        ("localhost/web", "localhost|web|"),
        ("localhost:5000/web:v1", "localhost:5000|web|v1"),
        ("reg.io/web", "reg.io|web|"),
        ("[::1]:5000/web", "[::1]:5000|web|"),
        ("Reg.io/web", "Reg.io|web|"),
        ("a__b-c---d/e.f", "|a__b-c---d/e.f|"),
        ("web:5000", "|web|5000"),
    ] {
        let image = Image::parse(text).unwrap();
        let version = image.version.as_ref().map_or("", |version| version.text());
        assert_eq!(
            format!("{}|{}|{version}", image.registry, image.repository),
            expected,
            "{text}"
        );
        assert_eq!(image.to_string(), text);
    }
    let long = format!("reg.io/{}", "a".repeat(255));
    let short_digest = format!("web@{}", &DIGEST[..50]);
    let shouted = format!("web@{}", DIGEST.to_uppercase().replace("SHA256", "sha256"));
    for (text, expected) in [
        ("", ParseImageError::NoName),
        (":v1", ParseImageError::NoName),
        ("Web", ParseImageError::Uppercase),
        ("reg.io/Web:v1", ParseImageError::Uppercase),
        ("a b", ParseImageError::Malformed),
        ("a//b", ParseImageError::Malformed),
        ("a_-b", ParseImageError::Malformed),
        ("a___b", ParseImageError::Malformed),
        ("-a", ParseImageError::Malformed),
        ("a:b/c", ParseImageError::Malformed),
        ("web:", ParseImageError::Malformed),
        ("web@x", ParseImageError::Malformed),
        ("wéb", ParseImageError::Malformed),
        (
            "web@md5:0123456789abcdef0123456789abcdef",
            ParseImageError::Digest,
        ),
        (&short_digest, ParseImageError::Digest),
        (&shouted, ParseImageError::Digest),
        (&long, ParseImageError::TooLong),
    ] {
        assert_eq!(Image::parse(text), Err(expected), "{text}");
    }
}

#[test]
fn every_container_of_a_known_kind_is_changed_but_not_init_containers_nor_cron_jobs() {
    let change = "imageOverrider: [{component: Tag, operator: replace, value: v2}]";
    let template =
        "{containers: [{image: 'a:v1'}, {image: 'b:v1'}], initContainers: [{image: 'c:v1'}]}";
    for kind in [
        "ReplicaSet",
        "Deployment",
        "DaemonSet",
        "StatefulSet",
        "Job",
    ] {
        let object = format!(
            "{{kind: {kind}, metadata: {{name: x, namespace: test}}, spec: {{template: {{spec: {template}}}}}}}"
        );
        assert_eq!(
            value_after(change, &object, "/spec/template/spec"),
            r#"{"containers":[{"image":"a:v2"},{"image":"b:v2"}],"initContainers":[{"image":"c:v1"}]}"#,
            "{kind}"
        );
    }
    let cron = format!(
        "{{kind: CronJob, metadata: {{name: x, namespace: test}}, spec: {{jobTemplate: {{spec: {{template: {{spec: {template}}}}}}}}}}}"
    );
    assert_eq!(
        value_after(
            change,
            &cron,
            "/spec/jobTemplate/spec/template/spec/containers"
        ),
        r#"[{"image":"a:v1"},{"image":"b:v1"}]"#
    );
}

#[test]
fn a_predicate_names_one_place_of_any_kind() {
    let change = |path: &str| {
        format!(
            "imageOverrider: [{{predicate: {{path: {path}}}, component: Tag, operator: replace, value: v2}}]"
        )
    };
    let object = "{kind: CronJob, metadata: {name: x, namespace: test}, spec: {images: ['a:v1', 'b:v1'], 'a/b': 'c:v1', number: 1}}";
    for (path, expected) in [
        (
            "/spec/images/1",
            r#"{"images":["a:v1","b:v2"],"a/b":"c:v1","number":1}"#,
        ),
        (
            "/spec/images/-1",
            r#"{"images":["a:v1","b:v2"],"a/b":"c:v1","number":1}"#,
        ),
        (
            "/spec/a~1b",
            r#"{"images":["a:v1","b:v1"],"a/b":"c:v2","number":1}"#,
        ),
        (
            "/spec/images/2",
            "cannot apply OverridePolicy test/op: spec.overrideRules[0].overriders.imageOverrider[0] at /spec/images/2: nothing is there",
        ),
        (
            "/spec/number",
            "cannot apply OverridePolicy test/op: spec.overrideRules[0].overriders.imageOverrider[0] at /spec/number: expected an image, found a number",
        ),
        (
            "spec/images/0",
            "cannot apply OverridePolicy test/op: spec.overrideRules[0].overriders.imageOverrider[0] at spec/images/0: path \"spec/images/0\" does not start with '/'",
        ),
    ] {
        assert_eq!(
            value_after(&change(path), object, "/spec"),
            expected,
            "{path}"
        );
    }
}

#[test]
fn an_image_that_cannot_be_read_is_an_error_with_its_place() {
    let change = "imageOverrider: [{component: Tag, operator: add, value: x}]";
    for (containers, expected) in [
        (
            "[{image: 'a:v1'}, {image: 'B A D'}]",
            "at /spec/containers/1/image: not an image reference",
        ),
        (
            "[{name: c}]",
            "at /spec/containers/0/image: the image has no name",
        ),
        (
            "[{image: 3}]",
            "at /spec/containers/0/image: expected an image, found a number",
        ),
        (
            "[x]",
            "at /spec/containers/0: expected a container, found text",
        ),
        (
            "x",
            "at /spec/containers: expected a list of containers, found text",
        ),
    ] {
        let object = format!(
            "{{kind: Pod, metadata: {{name: x, namespace: test}}, spec: {{containers: {containers}}}}}"
        );
        assert_eq!(
            value_after(change, &object, "/spec"),
            format!(
                "cannot apply OverridePolicy test/op: spec.overrideRules[0].overriders.imageOverrider[0] {expected}"
            )
        );
    }
    let bare = "{kind: Pod, metadata: {name: x, namespace: test}}";
    assert_eq!(value_after(change, bare, "/kind"), "\"Pod\"");
}
