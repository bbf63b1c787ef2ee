//! Bodies that cannot be read, are too deep or too large, or are of another type.

use super::*;

fn nested(open: &str, close: &str, depth: usize) -> String {
    format!("{}{}", open.repeat(depth), close.repeat(depth))
}

#[tokio::test]
async fn bodies_that_are_no_documents() {
    let bad: Expected = (400, "BadRequest", "", &[]);
    let mut cases = Vec::new();
    for body in [
        "",
        " ",
        "{",
        "{\"metadata\":",
        "{} {}",
        "null",
        "[]",
        "\"text\"",
        "5",
        "tru",
        "{'a': 1}",
        "{\"a\":1,}",
        "{\"a\":01}",
        "{\"a\":1e999}",
        "{\"a\":\"\\ud800\"}",
        "{\"a\":\"\u{1}\"}",
        "{\"a\":NaN}",
        "\u{feff}{}",
    ] {
        cases.push(case(format!("POST {MAPS}"), JSON, body, bad));
        cases.push(case(format!("PUT {GADGETS}/kept"), JSON, body, bad));
    }
    for body in [
        "a: [",
        "a: 1\n b: 2",
        "\t- x",
        "a: *nobody",
        "- a\n- b",
        "just text",
        "a: 1\n---\nb: 2\n",
        "%TAG x",
        "a: &a [*a]",
    ] {
        cases.push(case(format!("POST {MAPS}"), YAML, body, bad));
        cases.push(case(
            format!("PATCH {MAPS}/kept?fieldManager=m"),
            APPLY,
            body,
            bad,
        ));
    }
    // Nine levels of ten references each stand for a thousand million.
    let mut laughs = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
    for level in 1..10 {
        let below = vec![format!("*a{}", level - 1); 10].join(",");
        laughs.push_str(&format!("a{level}: &a{level} [{below}]\n"));
    }
    cases.push(case(format!("POST {MAPS}"), YAML, laughs, bad));
    let broken: &[u8] = b"{\"data\":{\"k\":\"\xff\xfe\"}}";
    cases.push(case(format!("POST {MAPS}"), JSON, broken, bad));
    cases.push(case(format!("POST {MAPS}"), YAML, broken, bad));
    for body in [
        &b"k8s\0"[..],
        b"k8s\0\xff\xff\xff\xff",
        b"nonsense",
        b"k8s\0\x0a\x04\x0a\x02v1",
    ] {
        cases.push(case(format!("POST {MAPS}"), PROTOBUF, body, bad));
    }
    check(cases).await;
}

#[tokio::test]
async fn bodies_nested_too_deeply() {
    let deep: Expected = (400, "BadRequest", "", &[]);
    let mut cases = Vec::new();
    for depth in [200, 10_000, 400_000] {
        let lists = format!("{{\"data\":{}}}", nested("[", "]", depth));
        let objects = format!(
            "{{\"spec\":{}1{}}}",
            "{\"a\":".repeat(depth),
            "}".repeat(depth)
        );
        for (line, content) in [
            (format!("POST {MAPS}"), JSON),
            (format!("POST {GADGETS}"), JSON),
            (format!("PUT {WEBS}/kept"), JSON),
            (format!("PATCH {GADGETS}/kept"), MERGE),
            (format!("PATCH {WEBS}/kept"), STRATEGIC),
            (format!("PATCH {GADGETS}/kept?fieldManager=m"), APPLY),
            (format!("POST {MAPS}"), YAML),
            (format!("DELETE {MAPS}/kept"), JSON),
        ] {
            cases.push(case(line.clone(), content, lists.clone(), deep));
            if objects.len() < 3_000_000 {
                cases.push(case(line, content, objects.clone(), deep));
            }
        }
        for body in [
            format!("data: {}", nested("[", "]", depth)),
            format!("{}x", "- ".repeat(depth)),
            format!("{}x", "? ".repeat(depth)),
        ] {
            cases.push(case(format!("POST {MAPS}"), YAML, body.clone(), deep));
            let apply = format!("PATCH {GADGETS}/kept?fieldManager=m");
            cases.push(case(apply, APPLY, body, deep));
        }
        let value = nested("[", "]", depth);
        let patch = format!("[{{\"op\":\"add\",\"path\":\"/spec/x\",\"value\":{value}}}]");
        cases.push(case(
            format!("PATCH {GADGETS}/kept"),
            JSON_PATCH,
            patch,
            deep,
        ));
    }
    check(cases).await;
}

#[tokio::test]
async fn bodies_too_large() {
    let large: Expected = (413, "RequestEntityTooLarge", "limit is 3145728", &[]);
    let text = "x".repeat(4 * 1024 * 1024);
    let body = format!("{{\"data\":{{\"k\":\"{text}\"}}}}");
    let mut cases = Vec::new();
    for (line, content) in [
        (format!("POST {MAPS}"), JSON),
        (format!("POST {MAPS}"), YAML),
        (format!("POST {MAPS}"), PROTOBUF),
        (format!("PUT {MAPS}/kept"), JSON),
        (format!("PATCH {MAPS}/kept"), MERGE),
        (format!("PATCH {MAPS}/kept"), JSON_PATCH),
        (format!("PATCH {MAPS}/kept"), STRATEGIC),
        (format!("PATCH {MAPS}/kept?fieldManager=m"), APPLY),
        (format!("DELETE {MAPS}/kept"), JSON),
    ] {
        cases.push(case(line, content, body.clone(), large));
    }
    // What fits into a request may still be more than a kind allows.
    let full = "x".repeat(1024 * 1024 + 1);
    let map = format!("{{\"metadata\":{{\"name\":\"big\"}},\"data\":{{\"k\":\"{full}\"}}}}");
    cases.push(case(
        format!("POST {MAPS}"),
        JSON,
        map,
        (422, "Invalid", "Too long", &["[]"]),
    ));
    let notes = "x".repeat(256 * 1024 + 1);
    let noted =
        format!("{{\"metadata\":{{\"name\":\"noted\",\"annotations\":{{\"a\":\"{notes}\"}}}}}}");
    cases.push(case(
        format!("POST {MAPS}"),
        JSON,
        noted,
        (422, "Invalid", "Too long", &["metadata.annotations"]),
    ));
    check(cases).await;
}

#[tokio::test]
async fn bodies_of_other_types() {
    let other: Expected = (
        415,
        "UnsupportedMediaType",
        "accepted media types include",
        &[],
    );
    let mut cases = Vec::new();
    for content in [
        "text/plain",
        "application/xml",
        "nonsense",
        MERGE,
        "application/json2",
    ] {
        cases.push(case(format!("POST {MAPS}"), content, "{}", other));
        cases.push(case(format!("PUT {MAPS}/kept"), content, "{}", other));
    }
    for content in [JSON, YAML, PROTOBUF, "text/plain"] {
        cases.push(case(format!("PATCH {MAPS}/kept"), content, "{}", other));
    }
    // Only kinds whose lists have known keys can be merged strategically, and only built-in ones are sent as messages.
    cases.push(case(
        format!("PATCH {GADGETS}/kept"),
        STRATEGIC,
        "{}",
        other,
    ));
    cases.push(case(format!("POST {GADGETS}"), PROTOBUF, "k8s\0", other));
    check(cases).await;
}
