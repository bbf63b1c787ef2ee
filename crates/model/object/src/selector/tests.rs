//! Label and field selectors against tables of Kubernetes' rules.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::field::{self, FieldPath};

fn labels(text: &str) -> BTreeMap<String, String> {
    text.split_whitespace()
        .map(|label| label.split_once('=').unwrap_or((label, "")))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

#[track_caller]
fn check_prints(text: &str, printed: &str) {
    let selector: Selector = text
        .parse()
        .unwrap_or_else(|error| panic!("{text:?}: {error}"));
    assert_eq!(selector.to_string(), printed, "print of {text:?}");
    assert_eq!(
        printed.parse::<Selector>().as_ref(),
        Ok(&selector),
        "{printed:?} parses back"
    );
}

#[track_caller]
fn check_refused(text: &str, complaint: &str) {
    match text.parse::<Selector>() {
        Ok(selector) => panic!("{text:?} was read as {selector}"),
        Err(error) => {
            let shown = error.to_string();
            assert!(
                shown.contains(complaint),
                "{text:?}: {shown:?} does not say {complaint:?}"
            );
        }
    }
}

#[test]
fn selectors_print_in_canonical_form() {
    for (text, printed) in [
        ("", ""),
        (" ", ""),
        (" \t\r\n ", ""),
        ("x", "x"),
        (" x ", "x"),
        ("\tx\n", "x"),
        ("!x", "!x"),
        ("! x", "!x"),
        (" ! x ", "!x"),
        ("x=a", "x=a"),
        ("x==a", "x==a"),
        ("x!=a", "x!=a"),
        ("x = a", "x=a"),
        ("x  ==  a", "x==a"),
        ("x\t!=\na", "x!=a"),
        ("x=", "x="),
        ("x==", "x=="),
        ("x!=", "x!="),
        ("x= ", "x="),
        ("x=,y=", "x=,y="),
        ("x==,y", "x==,y"),
        ("x!=,y!=", "x!=,y!="),
        ("x>1", "x>1"),
        ("x<1", "x<1"),
        ("x > 1", "x>1"),
        ("x<  7,y>0", "x<7,y>0"),
        ("x>9223372036854775807", "x>9223372036854775807"),
        ("x>007", "x>007"),
        ("x in (a)", "x in (a)"),
        ("x in(a)", "x in (a)"),
        ("x in ( a )", "x in (a)"),
        ("x in (a,b)", "x in (a,b)"),
        ("x in (b,a)", "x in (a,b)"),
        ("x in (b,a,b)", "x in (a,b)"),
        ("x in (b , a)", "x in (a,b)"),
        ("x\nin\n(a\n,\nb)", "x in (a,b)"),
        ("x in ()", "x in ()"),
        ("x in (,)", "x in ()"),
        ("x in (,,)", "x in ()"),
        ("x in (a,)", "x in (,a)"),
        ("x in (,a)", "x in (,a)"),
        ("x in (,,a)", "x in (,a)"),
        ("x in (a,,b)", "x in (,a,b)"),
        ("x in ( , a , )", "x in (,a)"),
        ("x notin ()", "x notin ()"),
        ("x notin (a)", "x notin (a)"),
        ("x notin(b,a)", "x notin (a,b)"),
        ("x notin (,a)", "x notin (,a)"),
        ("x in (10,9,1)", "x in (1,10,9)"),
        ("x in (B,a)", "x in (B,a)"),
        ("in", "in"),
        ("notin", "notin"),
        ("!in", "!in"),
        ("in=in", "in=in"),
        ("notin!=notin", "notin!=notin"),
        ("in in (in)", "in in (in)"),
        ("in notin (in,notin)", "in notin (in,notin)"),
        ("notin in (notin,in)", "notin in (in,notin)"),
        ("x in (in,notin)", "x in (in,notin)"),
        ("In=1", "In=1"),
        ("IN", "IN"),
        ("b,a", "a,b"),
        ("b=1,a=2", "a=2,b=1"),
        ("c,!b,a in (z,y)", "a in (y,z),!b,c"),
        (
            "z notin (),y,x in (foo,,baz)",
            "x in (,baz,foo),y,z notin ()",
        ),
        ("x=a,x!=b", "x=a,x!=b"),
        ("x!=b,x=a", "x!=b,x=a"),
        ("x,x", "x,x"),
        ("x,!x", "x,!x"),
        (
            "a=b,c==d,e!=f,x in (1,2),y notin (),z,!w",
            "a=b,c==d,e!=f,!w,x in (1,2),y notin (),z",
        ),
        ("example.com/name=v", "example.com/name=v"),
        ("a/b", "a/b"),
        ("a-b.c-d/e_f.g-h=i_j.k-l", "a-b.c-d/e_f.g-h=i_j.k-l"),
        (
            "app.kubernetes.io/name in (a)",
            "app.kubernetes.io/name in (a)",
        ),
        ("0=0", "0=0"),
        ("A=Z", "A=Z"),
        ("a.b_c-d=e.f_g-h", "a.b_c-d=e.f_g-h"),
        ("x=1.5", "x=1.5"),
        ("x=a--b", "x=a--b"),
        ("x=a..b", "x=a..b"),
        ("!a,b", "!a,b"),
        ("a,!b", "a,!b"),
        ("x=a ,y=b", "x=a,y=b"),
        ("x=a, y=b", "x=a,y=b"),
        ("x!=a,!y,z>3,w<4", "w<4,x!=a,!y,z>3"),
    ] {
        check_prints(text, printed);
    }
}

#[test]
fn bad_selectors_name_the_token_and_its_position() {
    for (text, complaint) in [
        (
            ",",
            "found ',' at position 0, expected: '!', a key, or the end",
        ),
        (",x", "found ',' at position 0"),
        ("x,", "found '' at position 2, expected: a key after ','"),
        ("x, ", "found '' at position 3"),
        ("x,,y", "found ',' at position 2, expected: a key after ','"),
        ("x,=y", "found '=' at position 2"),
        ("=", "found '=' at position 0"),
        ("=a", "found '=' at position 0"),
        ("==a", "found '==' at position 0"),
        ("!=a", "found '!=' at position 0"),
        (">1", "found '>' at position 0"),
        ("(a)", "found '(' at position 0"),
        (")", "found ')' at position 0"),
        ("!", "found '' at position 1, expected: a key"),
        ("! ", "found '' at position 2, expected: a key"),
        ("!!x", "found '!' at position 1"),
        ("!=x", "found '!=' at position 0"),
        ("!,x", "found ',' at position 1"),
        ("!x=a", "found '=' at position 2, expected: ',' or the end"),
        (
            "!x in (a)",
            "found 'in' at position 3, expected: ',' or the end",
        ),
        (
            "x y",
            "found 'y' at position 2, expected: in, notin, =, ==, !=, >, <",
        ),
        ("x (a)", "found '(' at position 2"),
        ("x)", "found ')' at position 1"),
        ("x!", "found '!' at position 1"),
        ("x!y", "found '!' at position 1"),
        ("x IN (a)", "found 'IN' at position 2"),
        ("x not in (a)", "found 'not' at position 2"),
        ("x=a y", "found 'y' at position 4, expected: ',' or the end"),
        ("x=a=b", "found '=' at position 3"),
        ("x=a b=c", "found 'b' at position 4"),
        ("x===a", "found '=' at position 3, expected: a value"),
        ("x=!a", "found '!' at position 2, expected: a value"),
        ("x=(a)", "found '(' at position 2, expected: a value"),
        ("x=)", "found ')' at position 2"),
        ("x>=1", "found '=' at position 2"),
        ("x<=1", "found '=' at position 2"),
        ("x<>1", "found '>' at position 2"),
        ("x>>1", "found '>' at position 2"),
        ("x in", "found '' at position 4, expected: '('"),
        ("x notin", "found '' at position 7, expected: '('"),
        ("x in a", "found 'a' at position 5, expected: '('"),
        ("x in ,y", "found ',' at position 5, expected: '('"),
        (
            "x in (",
            "found '' at position 6, expected: ',', ')' or a value",
        ),
        ("x in (a", "found '' at position 7, expected: ',' or ')'"),
        (
            "x in (a,",
            "found '' at position 8, expected: ',', ')' or a value",
        ),
        ("x in (,", "found '' at position 7"),
        (
            "x in (a b)",
            "found 'b' at position 8, expected: ',' or ')'",
        ),
        ("x in (a=b)", "found '=' at position 7"),
        ("x in (=)", "found '=' at position 6"),
        ("x in ((a))", "found '(' at position 6"),
        (
            "x in (a))",
            "found ')' at position 8, expected: ',' or the end",
        ),
        ("x in (a) y", "found 'y' at position 9"),
        ("x in (a)(b)", "found '(' at position 8"),
        ("x in (!a)", "found '!' at position 6"),
        ("-x", "invalid key '-x' at position 0"),
        ("x-", "invalid key 'x-' at position 0"),
        ("_x=a", "invalid key '_x' at position 0"),
        (".x", "invalid key '.x'"),
        ("a/b/c", "invalid key 'a/b/c'"),
        ("/x", "prefix part"),
        ("x/", "name part"),
        ("X.com/a", "prefix part"),
        ("a_b/c", "prefix part"),
        ("-a/c", "prefix part"),
        ("a..b/c", "prefix part"),
        ("y,!a@b", "invalid key 'a@b' at position 3"),
        ("a$", "invalid key 'a$'"),
        ("é", "invalid key 'é'"),
        ("a\u{0}b", "invalid key"),
        ("\"x\"=a", "invalid key '\"x\"'"),
        ("'x'", "invalid key"),
        ("x\\,y", "invalid key 'x\\'"),
        ("x=-a", "invalid value '-a' at position 2"),
        ("x=a-", "invalid value 'a-'"),
        ("x=_", "invalid value '_'"),
        ("x=a/b", "invalid value 'a/b'"),
        ("x=\"a\"", "invalid value '\"a\"'"),
        ("x=a%b", "invalid value 'a%b'"),
        ("x!=a:b", "invalid value 'a:b' at position 3"),
        ("x in (a,b@)", "invalid value 'b@' at position 8"),
        ("x notin (ü)", "invalid value 'ü'"),
        ("x>", "invalid value '' at position 2"),
        ("x<,y", "invalid value '' at position 2"),
        ("x>a", "invalid value 'a' at position 2"),
        ("x>1.5", "compare with an integer"),
        ("x>-1", "invalid value '-1'"),
        ("x>+1", "invalid value '+1'"),
        ("x>9223372036854775808", "compare with an integer"),
        ("x<1_0", "compare with an integer"),
    ] {
        check_refused(text, complaint);
    }
}

#[test]
fn keys_and_values_are_limited_in_length() {
    let (name, prefix, value) = (
        "n".repeat(63),
        format!("{}.io", "p".repeat(250)),
        "v".repeat(63),
    );
    check_prints(
        &format!("{prefix}/{name}={value}"),
        &format!("{prefix}/{name}={value}"),
    );
    check_refused(&format!("{name}n"), "63");
    check_refused(&format!("p{prefix}/x"), "253");
    check_refused(&format!("x={value}v"), "63");
    check_refused(&format!("x in (a,{value}v)"), "63");
}

#[test]
fn errors_do_not_echo_long_input() {
    let error = "é".repeat(100_000).parse::<Selector>().unwrap_err();
    assert!(
        error.to_string().len() < 2_000,
        "{} bytes",
        error.to_string().len()
    );
}

#[test]
fn matching_follows_the_operators() {
    for (selector, yes, no) in [
        ("", &["", "x=a"][..], &[][..]),
        ("x", &["x=a", "x=", "x=a y=b"], &["", "y=a", "X=a"]),
        ("!x", &["", "y=a", "X=a"], &["x=a", "x="]),
        ("x=a", &["x=a", "x=a y=b"], &["", "x=b", "x=", "x=A", "y=a"]),
        ("x==a", &["x=a"], &["", "x=b"]),
        ("x=", &["x="], &["", "x=a"]),
        ("x!=a", &["", "x=b", "x=", "y=a"], &["x=a", "x=a y=b"]),
        ("x!=", &["", "x=a"], &["x="]),
        ("x in (a,b)", &["x=a", "x=b"], &["", "x=c", "x=", "y=a"]),
        ("x in ()", &["x="], &["", "x=a"]),
        ("x in (,a)", &["x=", "x=a"], &["", "x=b"]),
        ("x notin (a,b)", &["", "x=c", "x=", "y=a"], &["x=a", "x=b"]),
        ("x notin ()", &["", "x=a"], &["x="]),
        (
            "x>5",
            &["x=6", "x=100", "x=9223372036854775807", "x=+6"],
            &["", "x=5", "x=4", "x=", "x=a", "x=6.5", "x=-7"],
        ),
        (
            "x<5",
            &["x=4", "x=0", "x=-1", "x=-9223372036854775808"],
            &["", "x=5", "x=6", "x=", "x=a"],
        ),
        ("x>5,x<8", &["x=6", "x=7"], &["x=5", "x=8", ""]),
        (
            "x<9223372036854775807",
            &["x=1"],
            &[
                "x=9223372036854775807",
                "x=9223372036854775808",
                "x=99999999999999999999",
            ],
        ),
        (
            "x=a,y=b",
            &["x=a y=b", "x=a y=b z=c"],
            &["x=a", "y=b", "x=b y=b", ""],
        ),
        ("x=a,x=b", &[], &["x=a", "x=b", ""]),
        ("x,!x", &[], &["x=a", ""]),
        ("x!=a,x!=b", &["", "x=c"], &["x=a", "x=b"]),
        ("x in (a,b),x notin (b)", &["x=a"], &["x=b", "x=c", ""]),
        (
            "a.io/x in (1),!b.io/y",
            &["a.io/x=1", "a.io/x=1 y=2"],
            &["a.io/x=1 b.io/y=", "x=1"],
        ),
        (
            "x in (k,j,i,h,g,f,e,d,c,b,a)",
            &["x=a", "x=f", "x=k"],
            &["x=", "x=l", "x=aa", ""],
        ),
        (
            "x notin (k,j,i,h,g,f,e,d,c,b,a)",
            &["x=", "x=l", "x=aa", ""],
            &["x=a", "x=f", "x=k"],
        ),
    ] {
        let parsed: Selector = selector.parse().unwrap();
        for set in yes {
            assert!(
                parsed.matches_labels(&labels(set)),
                "{selector:?} should match {set:?}"
            );
        }
        for set in no {
            assert!(
                !parsed.matches_labels(&labels(set)),
                "{selector:?} should not match {set:?}"
            );
        }
    }
}

#[test]
fn an_exact_value_is_found_for_an_index() {
    for (selector, value) in [
        ("x=a", Some("a")),
        ("x==a", Some("a")),
        ("x in (a)", Some("a")),
        ("x,x=a", Some("a")),
        ("x in (a,b)", None),
        ("x!=a", None),
        ("y=a", None),
        ("x", None),
        ("", None),
    ] {
        assert_eq!(
            selector.parse::<Selector>().unwrap().exact_value("x"),
            value,
            "{selector:?}"
        );
    }
}

#[test]
fn a_requirement_reports_everything_wrong_with_it() {
    let errors = |key: &str, operator, values: &[&str]| {
        Requirement::new(&FieldPath::new("r"), key, operator, values.iter().copied()).map_or_else(
            |errors| errors.iter().map(|error| error.path.to_string()).collect(),
            |_| Vec::new(),
        )
    };
    for (key, operator, values, paths) in [
        ("k", Operator::Exists, &[][..], &[][..]),
        ("k", Operator::Exists, &["a"], &["r.values"]),
        ("k", Operator::In, &[], &["r.values"]),
        ("k", Operator::In, &["a", "b"], &[]),
        ("k", Operator::Equals, &["a", "b"], &["r.values"]),
        ("k", Operator::NotEquals, &[], &["r.values"]),
        ("k", Operator::GreaterThan, &["1"], &[]),
        ("k", Operator::GreaterThan, &["a"], &["r.values[0]"]),
        (
            "k",
            Operator::LessThan,
            &["1", "b"],
            &["r.values", "r.values[1]"],
        ),
        (
            "",
            Operator::NotIn,
            &["a", "@"],
            &["r.key", "r.key", "r.values[1]"],
        ),
    ] {
        assert_eq!(
            errors(key, operator, values),
            paths,
            "{key} {operator:?} {values:?}"
        );
    }
    let set = Selector::with_labels(&FieldPath::root(), &labels("b=1 a=2")).unwrap();
    assert_eq!(set.to_string(), "a=2,b=1");
    assert!(Selector::with_labels(&FieldPath::root(), &labels("b=@ a=2")).is_err());
}

#[test]
fn typed_selectors_compile() {
    for (typed, printed) in [
        (json!({}), ""),
        (json!({"matchLabels": null, "matchExpressions": null}), ""),
        (json!({"matchLabels": {"b": "1", "a": ""}}), "a=,b=1"),
        (
            json!({"matchExpressions": [{"key": "k", "operator": "In", "values": ["b", "a", "b"]}]}),
            "k in (a,b)",
        ),
        (
            json!({"matchExpressions": [{"key": "k", "operator": "NotIn", "values": [""]}]}),
            "k notin ()",
        ),
        (
            json!({"matchExpressions": [{"key": "k", "operator": "Exists"}]}),
            "k",
        ),
        (
            json!({"matchExpressions": [{"key": "k", "operator": "DoesNotExist", "values": null}]}),
            "!k",
        ),
        (
            json!({"matchLabels": {"c": "1"}, "matchExpressions": [
                {"key": "d", "operator": "Exists"}, {"key": "c", "operator": "Exists"}, {"key": "a", "operator": "Exists"}]}),
            "a,c=1,c,d",
        ),
    ] {
        let selector: LabelSelector = serde_json::from_value(typed.clone()).unwrap();
        assert_eq!(
            selector.compile(&FieldPath::root()).unwrap().to_string(),
            printed,
            "{typed}"
        );
        assert_eq!(selector.is_empty(), printed.is_empty());
    }
}

#[test]
fn typed_selectors_report_every_error_with_its_path() {
    for (typed, complaints) in [
        (
            json!({"matchExpressions": [{"key": "k", "operator": "Equals", "values": ["a"]}]}),
            &[
                "spec.s.matchExpressions[0].operator: Invalid value: \"Equals\": not a valid selector operator",
            ][..],
        ),
        (
            json!({"matchExpressions": [{"key": "k", "operator": "In"}, {"key": "k", "operator": "NotIn", "values": []}]}),
            &[
                "spec.s.matchExpressions[0].values: Required value",
                "spec.s.matchExpressions[1].values: Required value",
            ],
        ),
        (
            json!({"matchExpressions": [{"key": "k", "operator": "Exists", "values": ["a"]}]}),
            &["spec.s.matchExpressions[0].values: Forbidden"],
        ),
        (
            json!({"matchExpressions": [{"key": "a@", "operator": "gt", "values": ["ok", "-"]}]}),
            &[
                "spec.s.matchExpressions[0].operator: Invalid value: \"gt\"",
                "spec.s.matchExpressions[0].key: Invalid value: \"a@\"",
                "spec.s.matchExpressions[0].values[1]: Invalid value: \"-\"",
            ],
        ),
        (
            json!({"matchLabels": {"a b": "c d"}}),
            &[
                "spec.s.matchLabels: Invalid value: \"a b\"",
                "spec.s.matchLabels: Invalid value: \"c d\"",
            ],
        ),
    ] {
        let selector: LabelSelector = serde_json::from_value(typed.clone()).unwrap();
        let errors = selector
            .compile(&FieldPath::new("spec").child("s"))
            .unwrap_err();
        assert_eq!(errors.len(), complaints.len(), "{}", field::join(&errors));
        for (error, complaint) in errors.iter().zip(complaints) {
            assert!(
                error.to_string().starts_with(complaint),
                "{error} does not start with {complaint}"
            );
        }
    }
}

#[test]
fn typed_selectors_omit_what_is_empty() {
    let selector = LabelSelector {
        match_expressions: vec![LabelSelectorRequirement {
            key: "k".into(),
            operator: "Exists".into(),
            values: vec![],
        }],
        ..LabelSelector::default()
    };
    assert_eq!(
        json!(selector),
        json!({"matchExpressions": [{"key": "k", "operator": "Exists"}]})
    );
    assert_eq!(json!(LabelSelector::default()), json!({}));
    assert_eq!(
        json!(LabelSelector::with_labels(labels("a=b"))),
        json!({"matchLabels": {"a": "b"}})
    );
}

#[test]
fn the_schema_is_that_of_kubernetes() {
    let generator = schemars::generate::SchemaSettings::openapi3()
        .with(|settings| settings.inline_subschemas = true);
    let mut schema = generator
        .into_generator()
        .into_root_schema_for::<LabelSelector>()
        .to_value();
    strip(&mut schema);
    let text = json!({"type": "string"});
    let texts = json!({"type": "array", "items": text, "x-kubernetes-list-type": "atomic"});
    assert_eq!(
        schema,
        json!({
            "type": "object",
            "properties": {
                "matchExpressions": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {"key": text, "operator": text, "values": texts},
                        "required": ["key", "operator"],
                    },
                    "x-kubernetes-list-type": "atomic",
                },
                "matchLabels": {"type": "object", "additionalProperties": text},
            },
            "x-kubernetes-map-type": "atomic",
        })
    );

    /// Leaves the parts that say what is allowed, without prose.
    fn strip(schema: &mut serde_json::Value) {
        match schema {
            serde_json::Value::Object(fields) => {
                for prose in ["$schema", "title", "description"] {
                    fields.shift_remove(prose);
                }
                fields.values_mut().for_each(strip);
            }
            serde_json::Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
}

#[test]
fn field_selectors_print_in_canonical_form() {
    for (text, printed) in [
        ("", ""),
        (",", ""),
        (",,", ""),
        ("a=b", "a=b"),
        ("a==b", "a=b"),
        ("a!=b", "a!=b"),
        ("a=", "a="),
        ("a!=", "a!="),
        ("=b", "=b"),
        (
            "metadata.name=x,status.phase!=Running",
            "metadata.name=x,status.phase!=Running",
        ),
        ("b=1,a=2", "a=2,b=1"),
        ("a=1,,b=2,", "a=1,b=2"),
        ("a==z,a=b", "a=b,a=z"),
        (r"a=b\,c", r"a=b\,c"),
        (r"a=b\=c", r"a=b\=c"),
        (r"a=b\\c", r"a=b\\c"),
        (r"a=\\\,\=", r"a=\\\,\="),
        ("a= b ", "a= b "),
        (" a=b", " a=b"),
        ("a!b=c", "a!b=c"),
        ("a=é", "a=é"),
        ("a=!b", "a=!b"),
    ] {
        let selector: FieldSelector = text
            .parse()
            .unwrap_or_else(|error| panic!("{text:?}: {error}"));
        assert_eq!(selector.to_string(), printed, "print of {text:?}");
        assert_eq!(
            printed.parse::<FieldSelector>().as_ref(),
            Ok(&selector),
            "{printed:?} parses back"
        );
    }
}

#[test]
fn bad_field_selectors_name_what_is_wrong() {
    for (text, complaint) in [
        (
            "a",
            "invalid selector: 'a'; can't understand 'a' at position 0",
        ),
        ("a=b,c", "can't understand 'c' at position 4"),
        ("a!b", "can't understand 'a!b'"),
        (r"a\,b", r"can't understand 'a\,b'"),
        ("a>1", "can't understand"),
        ("a===b", "unescaped character in value: = at position 3"),
        ("a=b=c", "unescaped character in value: = at position 3"),
        (
            "x=1,a!=b=c",
            "unescaped character in value: = at position 8",
        ),
        (r"a=b\c", r"invalid escape sequence: \c at position 3"),
        (r"a=\", r"invalid escape sequence: \ at position 2"),
        (r"a=b\é", r"invalid escape sequence: \é at position 3"),
    ] {
        let error = text.parse::<FieldSelector>().unwrap_err().to_string();
        assert!(
            error.contains(complaint),
            "{text:?}: {error:?} does not say {complaint:?}"
        );
    }
}

#[test]
fn field_selectors_match_missing_fields_as_empty() {
    for (selector, name, matches) in [
        ("", Some("x"), true),
        ("name=x", Some("x"), true),
        ("name=x", Some("y"), false),
        ("name=x", None, false),
        ("name=", None, true),
        ("name!=x", None, true),
        ("name!=", None, false),
        ("name!=x,name!=y", Some("z"), true),
        ("name!=x,name!=y", Some("y"), false),
        (r"name=a\,b", Some("a,b"), true),
    ] {
        let parsed: FieldSelector = selector.parse().unwrap();
        assert_eq!(
            parsed.matches(|field| name.filter(|_| field == "name")),
            matches,
            "{selector:?} {name:?}"
        );
    }
}

#[test]
fn field_selectors_are_checked_and_rewritten_for_a_kind() {
    let selector: FieldSelector = "metadata.name=x,spec.nodeName!=y".parse().unwrap();
    assert_eq!(selector.exact_value("metadata.name"), Some("x"));
    assert_eq!(selector.exact_value("spec.nodeName"), None);
    assert_eq!(
        selector.require_known(&["metadata.name", "spec.nodeName"]),
        Ok(())
    );
    assert_eq!(
        selector
            .require_known(&["metadata.name", "metadata.namespace"])
            .unwrap_err()
            .to_string(),
        r#""spec.nodeName" is not a known field selector: only "metadata.name", "metadata.namespace""#
    );
    let renamed = selector.transform(|field, value| match field {
        "metadata.name" => Ok(Some(("name".to_owned(), value.to_owned()))),
        "spec.nodeName" => Ok(None),
        other => Err(other.to_owned()),
    });
    assert_eq!(renamed.unwrap().to_string(), "name=x");
    assert_eq!(
        selector.transform(|field, _| Err::<_, String>(field.to_owned())),
        Err("metadata.name".to_owned())
    );
}

/// A slow selector to compare with: requirements as text, answered by their definitions.
fn plainly_matches(
    requirements: &[(String, Operator, Vec<String>)],
    labels: &BTreeMap<String, String>,
) -> bool {
    requirements.iter().all(|(key, operator, values)| {
        let label = labels.get(key);
        let listed = label.is_some_and(|value| values.contains(value));
        match operator {
            Operator::Exists => label.is_some(),
            Operator::DoesNotExist => label.is_none(),
            Operator::Equals | Operator::DoubleEquals | Operator::In => listed,
            Operator::NotEquals | Operator::NotIn => !listed,
            Operator::GreaterThan | Operator::LessThan => unreachable!("not generated"),
        }
    })
}

fn any_requirement() -> impl Strategy<Value = (String, Operator, Vec<String>)> {
    let key = prop_oneof!["[abc]", "[a-c]{1,2}/[a-c]"];
    let value = "[a-d]{0,1}";
    prop_oneof![
        (
            key.clone(),
            prop_oneof![Just(Operator::Exists), Just(Operator::DoesNotExist)],
            Just(vec![])
        ),
        (
            key.clone(),
            prop_oneof![
                Just(Operator::Equals),
                Just(Operator::DoubleEquals),
                Just(Operator::NotEquals)
            ],
            prop::collection::vec(value, 1)
        ),
        (
            key,
            prop_oneof![Just(Operator::In), Just(Operator::NotIn)],
            prop::collection::vec(value, 1..14)
        ),
    ]
}

proptest! {
    #[test]
    fn compiled_selectors_agree_with_their_definition(
        requirements in prop::collection::vec(any_requirement(), 0..6),
        labels in prop::collection::btree_map("[abc]", "[a-d]{0,1}", 0..4),
    ) {
        let compiled = Selector::all_of(requirements.iter().map(|(key, operator, values)| {
            Requirement::new(&FieldPath::root(), key, *operator, values.iter().cloned()).unwrap()
        }));
        prop_assert_eq!(compiled.matches_labels(&labels), plainly_matches(&requirements, &labels));
        prop_assert_eq!(compiled.to_string().parse::<Selector>(), Ok(compiled));
    }
}
