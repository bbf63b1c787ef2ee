//! Expressions and what they give; expressions and what is wrong with them.

use std::sync::Arc;

use serde_json::json;

use crate::{Authorizer, CALL_LIMIT, Decision, Environment, Inputs, Program, Question, Type};

fn environment() -> Arc<Environment> {
    let port = Type::object("port", [("name", Type::String), ("number", Type::Int)]);
    let object = Type::object(
        "object",
        [
            ("replicas", Type::Int),
            ("weight", Type::Double),
            ("name", Type::String),
            ("ports", Type::list(port)),
            ("labels", Type::map_of(Type::String)),
            ("created", Type::Timestamp),
            ("timeout", Type::Duration),
            ("blob", Type::Bytes),
            ("either", Type::Dyn),
        ],
    );
    Arc::new(
        Environment::new()
            .declare("self", object)
            .declare("any", Type::Dyn)
            .declare("maybe", Type::optional(Type::Int)),
    )
}

fn given() -> object::Value {
    json!({
        "replicas": 3, "weight": 2, "name": "web-1",
        "ports": [{"name": "http", "number": 80}, {"name": "https", "number": 443}],
        "labels": {"app": "web", "tier": "front"},
        "created": "2024-02-29T13:14:15Z", "timeout": "90s", "blob": "aGVsbG8=", "either": "50%",
    })
}

/// Runs an expression over the values above and shows what it gives.
fn run(source: &str) -> String {
    let program = match Program::compile(source, &environment()) {
        Ok(program) => program,
        Err(error) => return format!("refused: {error}"),
    };
    let (own, any) = (given(), json!({"a": {"b": [1, 2.5, "x", null]}, "n": 7}));
    let inputs = Inputs::new()
        .json("self", &own)
        .json("any", &any)
        .optional("maybe", None);
    program.run(&inputs, CALL_LIMIT, |outcome| match outcome.value {
        Ok(value) => value.to_json().to_string(),
        Err(fault) => format!("fault: {fault}"),
    })
}

#[track_caller]
fn check(cases: &[(&str, &str)]) {
    for (source, expected) in cases {
        assert_eq!(run(source), *expected, "{source}");
    }
}

#[test]
fn operators_compute() {
    check(&[
        ("1 + 2 * 3 - 4", "3"),
        ("-7 / 2", "-3"),
        ("7 % -3", "1"),
        ("(1 + 2) * 3", "9"),
        ("1.5 + 2.0", "3.5"),
        ("'a' + \"b\"", "\"ab\""),
        ("[1] + [2, 3]", "[1,2,3]"),
        ("1 < 2 && 'a' < 'b' && 1 < 2.5", "true"),
        ("2 in [1, 2]", "true"),
        ("'app' in self.labels", "true"),
        ("true ? 1 : 2", "1"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("9223372036854775807 + 1", "fault: integer overflow"),
        ("1 / 0", "fault: division by zero"),
        ("1 % 0", "fault: modulus by zero"),
        ("1u - 2u", "fault: unsigned integer overflow"),
        ("--1", "1"),
        ("!!true", "true"),
        ("0x1F", "31"),
        ("1e3", "1000.0"),
        ("[1, 2, 3][1]", "2"),
        ("[1][5]", "fault: index out of bounds: 5"),
        ("{'a': 1}['b']", "fault: no such key: b"),
        ("{'a': 1}.a", "1"),
        ("r'\\d' + '\\x41\\u00e9\\n'", "\"\\\\dA\u{e9}\\n\""),
        ("'''it's\nso'''", "\"it's\\nso\""),
        ("1 == 1 && dyn(1) == 1.0 && dyn(1) != 'a'", "true"),
        ("any.a.b[0] + 1", "2"),
        ("null == any.a.b[3]", "true"),
    ]);
}

#[test]
fn one_side_is_enough_where_it_decides() {
    check(&[
        ("true || any.missing", "true"),
        ("any.missing || true", "true"),
        ("any.missing && false", "false"),
        ("any.missing || false", "fault: no such key: missing"),
        ("[1, 2].exists(x, x == 2 || any.missing)", "true"),
        ("[1, 0].all(x, 1 / x == 5)", "false"),
        ("has(any.a) && !has(any.b)", "true"),
    ]);
}

#[test]
fn typed_fields_have_their_types() {
    check(&[
        ("self.weight == 2.0", "true"),
        ("self.weight / 4.0", "0.5"),
        ("self.timeout > duration('1m')", "true"),
        ("self.created.getFullYear()", "2024"),
        ("self.created + duration('24h')", "\"2024-03-01T13:14:15Z\""),
        ("string(self.blob)", "\"hello\""),
        ("self.ports.map(p, p.number)", "[80,443]"),
        (
            "self.ports.filter(p, p.number > 100).map(p, p.name)",
            "[\"https\"]",
        ),
        ("self.ports.exists_one(p, p.name == 'http')", "true"),
        ("self.labels.all(k, k.size() < 5)", "true"),
        (
            "self.labels.transformMap(k, v, v.upperAscii())",
            "{\"app\":\"WEB\",\"tier\":\"FRONT\"}",
        ),
        ("self.ports.transformList(i, p, i)", "[0,1]"),
        ("self.either == '50%'", "true"),
        ("type(self.either) == string", "true"),
    ]);
}

#[test]
fn texts_have_their_functions() {
    check(&[
        ("'hello'.charAt(1)", "\"e\""),
        ("'tacocat'.indexOf('c', 3)", "4"),
        ("'tacocat'.lastIndexOf('a')", "5"),
        ("'a,b,c'.split(',', 2)", "[\"a\",\"b,c\"]"),
        ("'abc'.split('')", "[\"a\",\"b\",\"c\"]"),
        ("['a', 'b'].join('-')", "\"a-b\""),
        ("'hello'.substring(1, 3)", "\"el\""),
        ("'hello'.substring(3, 9)", "fault: index out of range: 9"),
        ("' x '.trim()", "\"x\""),
        ("'aXbX'.replace('X', 'y', 1)", "\"aybX\""),
        ("'h\u{e9}llo'.size()", "5"),
        ("'abc'.matches('^[a-c]+$')", "true"),
        ("'a1b22'.findAll('[0-9]+')", "[\"1\",\"22\"]"),
        ("'a1b22'.find('[0-9]+')", "\"1\""),
        (
            "'%s is %d of %.2f'.format(['x', 3, 1.5])",
            "\"x is 3 of 1.50\"",
        ),
        ("'%s'.format([{'a': [1, 2]}])", "\"{a: [1, 2]}\""),
        ("'%x %o %b'.format([255, 8, 5])", "\"ff 10 101\""),
        ("strings.quote('a\"b')", "\"\\\"a\\\\\\\"b\\\"\""),
        ("'abc'.reverse()", "\"cba\""),
        ("string(1.0) + string(2.5) + string(true)", "\"12.5true\""),
        ("int('42') + int(2.9)", "44"),
    ]);
}

#[test]
fn lists_sets_and_optionals_have_their_functions() {
    check(&[
        ("[1, 2, 3].sum()", "6"),
        ("[3, 1].min() + [3, 1].max()", "4"),
        ("[1, 2].isSorted()", "true"),
        ("[1, 2, 1].lastIndexOf(1)", "2"),
        ("[[1], [2, 3]].flatten()", "[1,2,3]"),
        ("[2, 1, 2].distinct()", "[2,1]"),
        ("[3, 1, 2].sort()", "[1,2,3]"),
        ("['bb', 'a'].sortBy(x, x.size())", "[\"a\",\"bb\"]"),
        ("[1, 2, 3].slice(1, 3)", "[2,3]"),
        ("sets.contains([1, 2], [2])", "true"),
        ("sets.equivalent([1, 2], [2, 1, 1])", "true"),
        ("sets.intersects([1], [2])", "false"),
        ("maybe.orValue(5)", "5"),
        ("maybe.hasValue()", "false"),
        ("any.?a.?missing.orValue('none')", "\"none\""),
        ("any.?n.optMap(x, x + 1).value()", "8"),
        ("[?maybe, 1]", "[1]"),
        ("optional.of(1).or(optional.none()).value()", "1"),
        (
            "optional.none().value()",
            "fault: optional.none() dereference",
        ),
        ("cel.bind(x, 2, x * x)", "4"),
        ("any.a[?'b'].hasValue()", "true"),
    ]);
}

#[test]
fn kubernetes_libraries_are_there() {
    check(&[
        ("quantity('1Gi').isGreaterThan(quantity('900Mi'))", "true"),
        (
            "quantity('500m').add(quantity('1')).compareTo(quantity('1500m'))",
            "0",
        ),
        ("isQuantity('1Gx')", "false"),
        ("quantity('50k').sub(1).asInteger()", "49999"),
        (
            "url('https://u@example.com:80/a%20b?x=1&x=2').getHostname()",
            "\"example.com\"",
        ),
        ("url('https://example.com:80/a').getPort()", "\"80\""),
        ("url('/a/b').getHost() == ''", "true"),
        (
            "url('https://e.com/?k=v1&k=v2').getQuery()['k']",
            "[\"v1\",\"v2\"]",
        ),
        ("isURL('nope')", "false"),
        ("ip('192.168.0.1').family()", "4"),
        ("isIP('::ffff:1.2.3.4')", "false"),
        ("ip.isCanonical('2001:DB8::1')", "false"),
        ("cidr('10.0.0.0/8').containsIP('10.1.2.3')", "true"),
        (
            "cidr('10.0.0.0/8').containsCIDR(cidr('10.1.0.0/16'))",
            "true",
        ),
        ("string(cidr('10.1.2.3/8').masked())", "\"10.0.0.0/8\""),
        ("cidr('10.0.0.0/8').ip().isGlobalUnicast()", "true"),
        (
            "semver('1.2.3').isGreaterThan(semver('1.2.3-rc.1'))",
            "true",
        ),
        ("semver('v1.0', true).minor()", "0"),
        ("isSemver('1.0')", "false"),
        ("format.dns1123Label().validate('ok').hasValue()", "false"),
        (
            "format.dns1123Label().validate('Not Ok').value().size() > 0",
            "true",
        ),
        (
            "format.named('uuid').value().validate('x').hasValue()",
            "true",
        ),
        ("timestamp('2024-01-01T00:00:00Z').getDayOfWeek()", "1"),
        ("timestamp('2024-01-01T00:30:00Z').getHours('+05:30')", "6"),
        ("duration('1h30m').getMinutes()", "90"),
        (
            "timestamp('2024-01-02T00:00:00Z') - timestamp('2024-01-01T00:00:00Z') == duration('24h')",
            "true",
        ),
    ]);
}

#[test]
fn what_cannot_be_is_refused_with_its_place() {
    check(&[
        (
            "self.missing",
            "refused: ERROR: <input>:1:5: undefined field 'missing'\n | self.missing\n | ....^",
        ),
        (
            "nobody",
            "refused: ERROR: <input>:1:1: undeclared reference to 'nobody' (in container '')\n | nobody\n | ^",
        ),
        (
            "self.replicas == 'a'",
            "refused: ERROR: <input>:1:15: found no matching overload for '_==_' applied to '(int, string)'\n | self.replicas == 'a'\n | ..............^",
        ),
        (
            "self.name.lowerAscii(1)",
            "refused: ERROR: <input>:1:21: found no matching overload for 'lowerAscii' applied to 'string.(int)'\n | self.name.lowerAscii(1)\n | ....................^",
        ),
        (
            "[1, 'a']",
            "refused: ERROR: <input>:1:5: expected type 'int' but found 'string'\n | [1, 'a']\n | ....^",
        ),
        (
            "self.name.matches('(')",
            "refused: ERROR: <input>:1:19: invalid matches argument: error parsing regexp: invalid expression: `(`\n | self.name.matches('(')\n | ..................^",
        ),
        (
            "1 +",
            "refused: ERROR: <input>:1:4: Syntax error: mismatched input '<EOF>' expecting an expression\n | 1 +\n | ...^",
        ),
        (
            "has(1)",
            "refused: ERROR: <input>:1:4: invalid argument to has() macro\n | has(1)\n | ...^",
        ),
        (
            "9223372036854775808",
            "refused: ERROR: <input>:1:1: invalid int literal\n | 9223372036854775808\n | ^",
        ),
        (
            "for",
            "refused: ERROR: <input>:1:1: reserved identifier: for\n | for\n | ^",
        ),
        (
            "self.a &&\n  self.b",
            "refused: ERROR: <input>:1:5: undefined field 'a'\n | self.a &&\n | ....^\nERROR: <input>:2:7: undefined field 'b'\n |   self.b\n | ......^",
        ),
    ]);
}

#[test]
fn hostile_expressions_end() {
    let refused = |source: String| {
        let error = Program::compile(&source, &environment()).unwrap_err();
        assert!(error.to_string().contains("limit"), "{error}");
    };
    refused("(".repeat(50_000));
    refused("[".repeat(50_000));
    refused(format!("{}1", "1+".repeat(40_000)));
    refused(format!("any{}", ".a".repeat(40_000)));
    refused("x".repeat(100_001));
    let deepest = 98;
    assert_eq!(
        run(&format!("{}1{}", "(".repeat(deepest), ")".repeat(deepest))),
        "1"
    );
    assert_eq!(
        run(&format!(
            "{}true{}",
            "!(".repeat(deepest),
            ")".repeat(deepest)
        )),
        "true"
    );
    assert_eq!(run(&format!("{}1", "1 + ".repeat(deepest))), "99");
    let nested = (0..deepest).fold("1".to_owned(), |inner, _| format!("[1].map(x, {inner})"));
    assert!(run(&nested).starts_with("[[[["), "{nested}");
    let long = vec!["true"; 15_000].join("&&");
    assert_eq!(run(&long), "true");
    let exhausted = |source: &str| {
        assert_eq!(
            run(source),
            "fault: operation cancelled: actual cost limit exceeded",
            "{source}"
        );
    };
    let ten = "[0,1,2,3,4,5,6,7,8,9]";
    exhausted(&format!(
        "{ten}.all(a, {ten}.all(b, {ten}.all(c, {ten}.all(d, {ten}.all(e, {ten}.all(f, {ten}.all(g, true)))))))"
    ));
    exhausted("lists.range(100000000).size() > 0");
    let doubling = (0..40).fold("'xxxxxxxxxx'".to_owned(), |text, _| {
        format!("cel.bind(x, {text}, x + x)")
    });
    exhausted(&doubling);
    exhausted("lists.range(900).exists(a, 'x'.matches('a{1000}' + string(a)))");
}

struct OnlyPods;

impl Authorizer for OnlyPods {
    fn decide(&self, question: &Question) -> Decision {
        Decision {
            allowed: &*question.resource == "pods" && &*question.verb == "get",
            reason: format!("asked about {}", question.resource),
            error: None,
        }
    }
}

#[test]
fn admission_knows_its_variables() {
    let base = Environment::admission().declare("params", Type::Dyn);
    let first_environment = Arc::new(base.clone().variables([]));
    let first = Program::compile("object.spec.replicas * 2", &first_environment).unwrap();
    let second_environment = Arc::new(base.clone().variables([("double", first.result().clone())]));
    let second = Program::compile("variables.double + 1", &second_environment).unwrap();
    let whole = Arc::new(base.variables([
        ("double", first.result().clone()),
        ("more", second.result().clone()),
    ]));
    let object = json!({"spec": {"replicas": 3}});
    let request =
        json!({"operation": "UPDATE", "userInfo": {"username": "ann", "groups": ["dev"]}});
    let params = json!({"limit": 10});
    let inputs = Inputs::new()
        .json("object", &object)
        .json_or_null("oldObject", None)
        .json("request", &request)
        .json("params", &params)
        .variable("double", &first)
        .variable("more", &second)
        .authorizer(
            &OnlyPods,
            Question {
                resource: "pods".into(),
                ..Question::default()
            },
        );
    let check = |source: &str, expected: Result<bool, &str>| {
        let program = Program::compile(source, &whole).unwrap();
        let found = program.holds(&inputs, CALL_LIMIT);
        assert_eq!(
            found.map_err(|fault| fault.to_string()),
            expected.map_err(str::to_owned),
            "{source}"
        );
    };
    check(
        "variables.more == 7 && variables.more + variables.double < params.limit + 4",
        Ok(true),
    );
    check("oldObject == null", Ok(true));
    check(
        "request.userInfo.username == 'ann' && 'dev' in request.userInfo.groups",
        Ok(true),
    );
    check(
        "authorizer.group('').resource('pods').namespace('x').check('get').allowed()",
        Ok(true),
    );
    check(
        "authorizer.group('').resource('nodes').check('get').allowed()",
        Ok(false),
    );
    check(
        "authorizer.requestResource.check('get').allowed()",
        Ok(true),
    );
    check("object.spec.missing", Err("no such key: missing"));
    check(
        "namespaceObject.metadata.name == 'a'",
        Err("no such attribute(s): namespaceObject"),
    );
    let error = Program::compile("request.userinfo", &whole).unwrap_err();
    assert!(error.to_string().contains("undefined field 'userinfo'"));
}
