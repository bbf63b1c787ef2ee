//! Costs are those Kubernetes estimates for the same schemas: its figures are the expected ones.

use std::sync::Arc;

use object::Value;
use serde_json::json;

use super::*;
use crate::environment::Environment;
use crate::program::Program;
use crate::rules::types::type_of;

/// What a rule costs at most for one value of a schema.
fn cost(value: &Value, rule: &str) -> u64 {
    let schema = json!({"type": "object", "properties": {"v": value}});
    let schema = schema::crd::read(&schema, &FieldPath::from("schema")).unwrap();
    let properties = &schema.node(schema.root_id()).properties;
    let own = properties.iter().find(|property| &*property.name == "v");
    let id = own.unwrap().schema;
    let ty = type_of(&schema, id, false).unwrap();
    let environment = Arc::new(Environment::rule(ty.clone(), ty));
    let program = Program::compile(rule, &environment).unwrap();
    program.most(&extent_of(&schema, id, false).unwrap())
}

/// A schema without a limit, and the same with one.
fn limited(schema: &Value, field: &str, limit: u64) -> [Value; 2] {
    let mut with = schema.clone();
    with[field] = json!(limit);
    [schema.clone(), with]
}

fn check(schema: &Value, field: &str, rule: &str, expected: (u64, u64, u64)) {
    let (free, limit, bound) = expected;
    for (schema, expected) in limited(schema, field, limit).iter().zip([free, bound]) {
        assert_eq!(cost(schema, rule), expected, "{rule} of {schema}");
    }
}

fn text() -> Value {
    json!({"type": "string"})
}

fn object() -> Value {
    json!({"type": "object", "required": ["required"], "properties": {"required": text(), "optional": text()}})
}

#[test]
fn lists_cost_what_fits_into_a_request_or_what_they_are_limited_to() {
    let of = |items: Value| json!({"type": "array", "items": items});
    let format = |name: &str| json!({"type": "string", "format": name});
    let number = || json!({"type": "number"});
    let mixed = || json!({"x-kubernetes-int-or-string": true});
    for (items, rule, expected) in [
        (number(), "self.all(x, true)", (4_718_591, 10, 32)),
        (text(), "self.all(x, true)", (3_145_727, 20, 62)),
        (
            json!({"type": "boolean"}),
            "self.all(x, true)",
            (1_887_437, 5, 17),
        ),
        (of(number()), "self.all(x, true)", (3_145_727, 100, 302)),
        (object(), "self.all(x, true)", (555_128, 50, 152)),
        (mixed(), "self.all(x, true)", (4_718_591, 10, 32)),
        (format("duration"), "self.all(x, true)", (2_359_295, 5, 17)),
        (format("date"), "self.all(x, true)", (725_936, 15, 47)),
        (format("date-time"), "self.all(x, true)", (428_963, 25, 77)),
        (
            number(),
            "self.all(x, x == 0.0)",
            (6_291_454, 3 * 1024 * 2048, 25_165_826),
        ),
        (
            json!({"type": "object", "additionalProperties": number()}),
            "self.all(x, x.y == 25.2)",
            (6_291_452, 12, 74),
        ),
        (number(), "self[1] == 0.0", (2, 5000, 2)),
        (text(), "self[1] == self[1]", (314_577, 8, 314_577)),
        (mixed(), "self[0] == 5", (3, 10, 3)),
        (of(number()), "self[0][0] == -1.0", (3, 51, 3)),
        (object(), "self[0] == null", (2, 422, 2)),
        (
            json!({"type": "object", "additionalProperties": number()}),
            "self[0].x > 2.0",
            (4, 3000, 4),
        ),
        (format("duration"), "self[0].getHours() == 2", (4, 525, 4)),
        (
            format("date-time"),
            "self[2].getMinutes() == 45",
            (4, 99, 4),
        ),
    ] {
        check(&of(items), "maxItems", rule, expected);
    }
    let numbers = of(number());
    for (rule, bound) in [
        ("self.all(x, self.all(y, true))", 352),
        ("self.all(x, self.all(y, self.all(z, true)))", 3552),
    ] {
        let [free, with] = limited(&numbers, "maxItems", 10);
        assert!(cost(&free, rule) > 10_000_000, "{rule}");
        assert_eq!(cost(&with, rule), bound, "{rule}");
    }
}

#[test]
fn maps_cost_what_fits_into_a_request_or_what_they_are_limited_to() {
    let of = |values: Value| json!({"type": "object", "additionalProperties": values});
    let format = |name: &str| json!({"type": "string", "format": name});
    for (values, rule, expected) in [
        (
            json!({"type": "number"}),
            "self.all(x, true)",
            (1_348_169, 10, 32),
        ),
        (text(), "self.all(x, true)", (1_179_647, 3, 11)),
        (
            json!({"type": "boolean"}),
            "self.all(x, true)",
            (943_718, 100, 302),
        ),
        (
            json!({"x-kubernetes-int-or-string": true}),
            "self.all(x, true)",
            (1_348_169, 15, 47),
        ),
        (object(), "self.all(x, true)", (428_963, 20, 62)),
        (
            of(json!({"type": "number"})),
            "self.all(x, true)",
            (1_179_647, 10, 32),
        ),
        (format("duration"), "self.all(x, true)", (1_048_577, 5, 17)),
        (format("date"), "self.all(x, true)", (524_288, 10, 32)),
        (format("date-time"), "self.all(x, true)", (349_526, 25, 77)),
        (json!({"type": "number"}), "self[\"x\"] == 0.0", (2, 0, 2)),
        (
            json!({"type": "integer"}),
            "oldSelf.size() == self.size()",
            (5, 10, 5),
        ),
        (format("date-time"), "self[\"a\"] == self[\"b\"]", (8, 7, 8)),
        (format("duration"), "self[\"c\"] == self[\"d\"]", (8, 42, 8)),
    ] {
        check(&of(values), "maxProperties", rule, expected);
    }
    let rule = "self.all(x, x.contains(self[x]))";
    let limited = json!({
        "type": "object", "maxProperties": 10, "additionalProperties": {"type": "string", "maxLength": 10},
    });
    assert_eq!(cost(&of(text()), rule), 2_752_507);
    assert_eq!(cost(&limited, rule), 72);
}

#[test]
fn texts_cost_by_their_length() {
    for (schema, rule, expected) in [
        (text(), "self.contains('test')", (314_574, 10, 5)),
        (text(), "self.startsWith('test')", (2, 15, 2)),
        (text(), "self.endsWith('test')", (2, 30, 2)),
        (
            text(),
            "size(self + \"hello\") > size(\"hello\")",
            (314_578, 4, 7),
        ),
        (text(), "self.matches(\"x\")", (314_574, 50, 22)),
        (
            text(),
            "\"\".matches(\"(((((((((())))))))))[0-9]\")",
            (7, 10, 7),
        ),
        (text(), "self.matches(\"\")", (1, 100, 1)),
        (text(), "self == \"x\"", (2, 0, 1)),
        (
            json!({"type": "string", "format": "byte"}),
            "self == b\"x\"",
            (2, 0, 1),
        ),
        (text(), "self.find('[0-9]+') == ''", (629_147, 10, 11)),
        (text(), "self.lowerAscii() == 'lower!'", (314_575, 10, 6)),
        (
            json!({"type": "string", "enum": ["A", "B", "C", "LongValue"]}),
            "self.contains('A')",
            (2, 1000, 401),
        ),
        (
            json!({"x-kubernetes-int-or-string": true}),
            "isQuantity(self)",
            (314_574, 20, 9),
        ),
    ] {
        check(&schema, "maxLength", rule, expected);
    }
}

#[test]
fn what_functions_give_has_a_size_too() {
    let words = |limit: Option<u64>| {
        let mut schema = json!({"type": "array", "items": {"type": "string"}});
        if let Some(limit) = limit {
            schema["maxItems"] = json!(limit);
            schema["items"]["maxLength"] = json!(limit);
        }
        schema
    };
    for (rule, free, bound) in [
        ("self.join(' ') == 'aa bb'", 329_853_068_905, 43),
        ("self.isSorted() == true", 329_854_432_052, 52),
    ] {
        assert_eq!(cost(&words(None), rule), free, "{rule}");
        assert_eq!(cost(&words(Some(10)), rule), bound, "{rule}");
    }
    let parts = |limit: Option<u64>, others: [Option<u64>; 2]| {
        let of = |limit: Option<u64>| match limit {
            Some(limit) => json!({"type": "string", "maxLength": limit}),
            None => text(),
        };
        let [before, after] = others;
        json!({"type": "object", "properties": {"str": of(limit), "before": of(before), "after": of(after)}})
    };
    let replace = "self.str.replace(self.before, self.after) == 'does not matter'";
    let split = "self.str.split(self.before) == []";
    let short = [Some(2), Some(4)];
    for (schema, rule, expected) in [
        (parts(None, short), replace, 629_154),
        (parts(Some(4), short), replace, 12),
        (parts(None, [None, None]), split, 629_160),
        (parts(Some(10), [Some(10), None]), split, 22),
    ] {
        assert_eq!(cost(&schema, rule), expected, "{rule} of {schema}");
    }
}

/// What is said of the costs of a whole schema.
fn judged(schema: &Value, expressions: Expressions) -> Vec<String> {
    let path = FieldPath::from("s");
    let schema = schema::crd::read(schema, &path).unwrap();
    let rules = Rules::compile(&schema, &path).unwrap();
    let errors = rules.check_costs(&schema, &path, expressions);
    errors.iter().map(ToString::to_string).collect()
}

const HINT: &str = "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)";

#[test]
fn rules_beyond_their_budget_are_named_with_their_place() {
    let rules =
        json!([{"rule": "self.all(x, self.all(y, x == y))", "messageExpression": "'a' + self[0]"}]);
    let named = |list: Value| json!({"type": "object", "properties": {"names": list}});
    let free = named(json!({"type": "array", "items": text(), "x-kubernetes-validations": rules}));
    let limited = named(json!({
        "type": "array", "maxItems": 10, "items": {"type": "string", "maxLength": 10},
        "x-kubernetes-validations": rules,
    }));
    let place = "s.properties[names].x-kubernetes-validations[0].rule";
    let together =
        "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
    let sum = format!(
        "s: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x {HINT}"
    );
    assert_eq!(
        judged(&free, Expressions::New),
        [
            format!(
                "{place}: Forbidden: estimated rule cost exceeds budget by factor of more than 100x {HINT}"
            ),
            format!("{place}: Forbidden: {together}"),
            sum.clone(),
        ]
    );
    assert_eq!(
        judged(&free, Expressions::Stored),
        [format!("{place}: Forbidden: {together}"), sum]
    );
    assert!(judged(&limited, Expressions::New).is_empty());
}

#[test]
fn rules_count_as_often_as_there_may_be_values() {
    let rule = json!([{"rule": "self.contains('x')"}]);
    let word = json!({"type": "string", "maxLength": 1000, "x-kubernetes-validations": rule});
    let list = |limit: Option<u64>| {
        let mut list = json!({"type": "array", "items": word});
        if let Some(limit) = limit {
            list["maxItems"] = json!(limit);
        }
        json!({"type": "object", "properties": {"words": list}})
    };
    let place = "s.properties[words].items.x-kubernetes-validations[0].rule: Forbidden: ";
    for (limit, expected) in [
        (Some(1000), None),
        // 401 a word.
        (Some(24_937), None),
        (Some(24_938), Some("1.000014x")),
        (Some(50_000), Some("2.0x")),
        (None, Some("42.0x")),
    ] {
        let expected = expected.map(|factor| {
            format!("{place}estimated rule cost exceeds budget by factor of {factor} {HINT}")
        });
        let found = judged(&list(limit), Expressions::New);
        let first = found.first().cloned();
        assert_eq!(first, expected, "{limit:?}");
    }
}
