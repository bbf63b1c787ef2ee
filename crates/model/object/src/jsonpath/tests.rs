//! JSONPath against a table of what Kubernetes' own tools print.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn data() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Thing",
        "metadata": {"name": "x", "labels": {"plain": "p", "a.b/c": "v1"}},
        "spec": {
            "s": "str",
            "t": true,
            "n": null,
            "empty": [],
            "list": [1, 2, 3, 4, 5],
            "floats": [1.5, 100_000_000.0, 1e21, 0.00001, -2.0, 1e-7],
            "objs": [
                {"name": "a", "v": 1, "l": []},
                {"name": "b", "v": 2, "l": [7, 8]},
                {"v": 3, "opt": "<&>", "name": "c"},
            ],
            "deep": {"a": {"b": "c"}},
            "conditions": [
                {"type": "Ready", "status": "True"},
                {"type": "Synced", "status": "False"},
            ],
        },
    })
}

fn render(template: &str, missing: MissingKeys) -> Result<String, String> {
    let parsed = JsonPath::template(template).map_err(|error| error.to_string())?;
    parsed
        .render(&data(), missing)
        .map_err(|error| error.to_string())
}

#[test]
fn templates_print_as_from_kubernetes_tools() {
    for (template, printed) in [
        // Text and whole values.
        ("", ""),
        ("just text", "just text"),
        ("text } only", "text } only"),
        ("{.spec.s}}x", "str}x"),
        (r"{.spec.s}\n", r"str\n"),
        ("a{.kind}b{.spec.s}c", "aThingbstrc"),
        // Fields.
        ("{.kind}", "Thing"),
        ("{.spec.s}", "str"),
        ("{ .spec.s }", "str"),
        ("{@.spec.s}", "str"),
        ("{$.spec.s}", "str"),
        ("{.spec .s}", "str"),
        ("{.spec.t}", "true"),
        ("{.spec.n}", "null"),
        ("{.spec.deep}", r#"{"a":{"b":"c"}}"#),
        ("{.spec.deep.a.b}", "c"),
        ("{['spec']['s']}", "str"),
        ("{.spec['s']}", "str"),
        ("{.spec['deep.a']}", r#"{"b":"c"}"#),
        (r"{.metadata.labels.a\.b/c}", "v1"),
        (r"{.metadata.labels.a\.b\/c}", "v1"),
        (r"{.metadata.labels['a\.b/c']}", "v1"),
        ("{.metadata.labels}", r#"{"a.b/c":"v1","plain":"p"}"#),
        ("{.metadata.labels['a.b/c']}", ""),
        ("{.}", ""),
        ("{.spec['']}", ""),
        ("{.spec.nothing}", ""),
        ("{.spec.s.more}", ""),
        ("{.spec.n.x}", ""),
        ("{.spec.t.x}", ""),
        ("{.spec.nothing.more}x", "x"),
        (r#"{.a"x"}"#, ""),
        // Numbers.
        ("{.spec.list}", "[1,2,3,4,5]"),
        ("{.spec.floats}", "[1.5,100000000,1e+21,0.00001,-2,1e-7]"),
        ("{.spec.floats[*]}", "1.5 1e+08 1e+21 1e-05 -2 1e-07"),
        // Positions and slices.
        ("{.spec.list[0]}", "1"),
        ("{.spec.list[]}", "1"),
        ("{.spec.list[-1]}", "5"),
        ("{.spec.list[-5]}", "1"),
        ("{.spec.list[*]}", "1 2 3 4 5"),
        ("{.spec.list[:]}", "1 2 3 4 5"),
        ("{.spec.list[1:3]}", "2 3"),
        ("{.spec.list[3:]}", "4 5"),
        ("{.spec.list[:2]}", "1 2"),
        ("{.spec.list[:-1]}", "1 2 3 4"),
        ("{.spec.list[-2:]}", "4 5"),
        ("{.spec.list[::2]}", "1 3 5"),
        ("{.spec.list[0:4:2]}", "1 3"),
        ("{.spec.list[0:-1:2]}", "1 3"),
        ("{.spec.list[1:1]}", ""),
        ("{.spec.list[9:9]}", ""),
        ("{.spec.list[4:-1]}", ""),
        ("{.spec.empty[*]}", ""),
        ("{.spec.n[0]}", ""),
        ("{.spec.nothing[0]}", ""),
        ("{.spec.objs[0:2].name}", "a b"),
        ("{.spec.objs[-1:].name}", "c"),
        ("{.spec.objs[0]['name']}", "a"),
        ("{.spec.list[0]}{.spec.list[1]}", "12"),
        // Unions.
        ("{.spec.list[0,2]}", "1 3"),
        ("{.spec.list[0,-1,1:3]}", "1 5 2 3"),
        ("{.spec.list[*,0]}", "1 2 3 4 5 1"),
        ("{.spec['s','t']}", "str true"),
        ("{.spec['s', 't']}", "str true"),
        ("{.spec.objs[*]['name','v']}", "a b c 1 2 3"),
        ("{.spec.objs[*]['name','opt']}", "a b c <&>"),
        // Wildcards and descent.
        ("{.spec.objs[*].name}", "a b c"),
        ("{.spec.objs[*].opt}", "<&>"),
        (
            "{.spec.objs[2]}",
            r#"{"name":"c","opt":"\u003c\u0026\u003e","v":3}"#,
        ),
        ("{.spec.deep.*}", r#"{"b":"c"}"#),
        ("{.spec.list.*}", "1 2 3 4 5"),
        ("{.spec.n.*}", ""),
        ("{.spec.nothing.*}x", "x"),
        ("{..name}", "x a b c"),
        ("{...name}", "x a b c"),
        ("{..v}", "1 2 3"),
        ("{.spec..b}", "c"),
        ("{.spec.deep..}", r#"{"a":{"b":"c"}} {"b":"c"} c"#),
        ("{.spec.objs..l}", "[] [7,8]"),
        ("{..nothing}", ""),
        // Filters.
        (r#"{.spec.objs[?(@.name=="b")].v}"#, "2"),
        ("{.spec.objs[?(@.name=='b')].v}", "2"),
        (r#"{.spec.objs[?(@.name == "b")].v}"#, "2"),
        (r#"{.spec.objs[?( @.name=="b" )].v}"#, "2"),
        (r#"{.spec.objs[?("b"==@.name)].v}"#, "2"),
        ("{.spec.objs[?(@['name']=='b')].v}", "2"),
        ("{.spec.objs[?(@.name!='a')].name}", "b c"),
        (r#"{.spec.objs[?(@.name<"b")].name}"#, "a"),
        (r#"{.spec.objs[?(@.name>="b")].name}"#, "b c"),
        ("{.spec.objs[?(@.v>1)].name}", "b c"),
        ("{.spec.objs[?(@.v<=2)].name}", "a b"),
        ("{.spec.objs[?(@.v==2)].name}", "b"),
        ("{.spec.objs[?(@.v>-1)].name}", "a b c"),
        ("{.spec.objs[?($.v==2)].name}", "b"),
        ("{.spec.objs[?(@.opt)].name}", "c"),
        (r#"{.spec.objs[?(@.opt=="<&>")].name}"#, "c"),
        (r#"{.spec.objs[?(@.opt!="x")].name}"#, "c"),
        ("{.spec.objs[?(@.name!=@.name)].v}", ""),
        ("{.spec.objs[?(@.t==true)].name}", ""),
        ("{.spec.objs[?(true)].name}", "a b c"),
        ("{.spec.objs[?(1==1)].name}", "a b c"),
        (r#"{.spec.objs[?(@.name=="a)")].v}"#, ""),
        ("{.spec.list[?(@>2)]}", "3 4 5"),
        ("{.spec.list[?(@ > 2)]}", "3 4 5"),
        ("{.spec.floats[?(@>1.0)]}", "1.5 1e+08 1e+21"),
        ("{.spec.nothing[?(@.x)]}", ""),
        ("{.spec.objs[?(@.opt)]..name}", "c"),
        (r#"{.spec.conditions[?(@.type=="Ready")].status}"#, "True"),
        (r#"{.spec.objs[?(@.name=="a")].l}"#, "[]"),
        // Loops.
        (
            r#"{range .spec.objs[*]}{.name}{"\n"}{end}done"#,
            "a\nb\nc\ndone",
        ),
        ("{range .spec.objs[*].name}{@}-{end}", "a-b-c-"),
        (
            r#"{range .spec.objs[*]}{.name}{"="}{.opt}{" "}{end}"#,
            "a= b= c=<&> ",
        ),
        (
            "{range .spec.objs[*]}[{range .l[*]}{@};{end}]{end}",
            "[][7;8;][]",
        ),
        ("{range .spec.empty[*]}{.name}x{end}done", "done"),
        ("{range .spec.nothing[*]}{.name}x{end}done", "done"),
        ("{range}{.kind}{end}", "Thing"),
        ("{range .spec.objs[*]}{.name},", "a,b,c,,"),
        ("{range .spec.objs[*]}{range .l[*]}{@}{end},", ",78,,,"),
        (r#"{.spec.objs[*].name}{"\t"}{.spec.s}"#, "a b c\tstr"),
        // Literals.
        (r#"{"a\tb"}"#, "a\tb"),
        (r#"{'a"b'}"#, "a\"b"),
        (r#"{"a\"b"}"#, "a\"b"),
        (r"{'a\'b'}", "a'b"),
        (r#"{"\u00e9\x41\101\\"}"#, "éAA\\"),
        (r#"{"\a\b\f\v\U0001F600"}"#, "\u{7}\u{8}\u{c}\u{b}😀"),
        (r#"{"{}"}"#, "{}"),
        ("{1}{2.50}{true}{-3}{+4}", "12.5true-34"),
        (
            "{1000000.0} {999999.0} {1234567.5}",
            "1e+06 999999 1.2345675e+06",
        ),
        (
            "{123456.0} {0.0001} {0.00001234}",
            "123456 0.0001 1.234e-05",
        ),
        (r#"{"x".a}"#, ""),
        ("{.spec.objs[*].v true}", "true true true"),
        (r#"{.spec.objs[*].v "t"}"#, "t"),
    ] {
        assert_eq!(
            render(template, MissingKeys::Skip).as_deref(),
            Ok(printed),
            "{template}"
        );
        let parsed = JsonPath::template(template).unwrap();
        assert_eq!(
            JsonPath::template(&parsed.to_string()),
            Ok(parsed.clone()),
            "{template} prints as {parsed}"
        );
    }
    for whole in ["{}", "{@}", "{$}", "{ }"] {
        assert!(
            render(whole, MissingKeys::Refuse)
                .unwrap()
                .starts_with(r#"{"apiVersion":"v1","kind":"Thing""#)
        );
    }
}

#[test]
fn answers_differ_from_upstream_only_where_upstream_fails() {
    for (template, printed) in [
        // There, an empty list hides the lists behind it.
        ("{.spec.objs[*].l[*]}", "7 8"),
        // There, an integer and a float are not compared.
        ("{.spec.objs[?(@.v>1.5)].name}", "b c"),
        // There, a position outside of a list counts as existing.
        ("{.spec.objs[?(@.l[5])].name}", ""),
        // There, filters do not nest, brackets in a quoted key end it, and blanks beside a position are refused.
        (r#"{.spec.objs[?(@.l[?(@==7)])].name}"#, "b"),
        ("{.spec['list[0]']}", "1"),
        ("{.spec.list[ 0 ]}", "1"),
        (r#"{.spec.objs[?(@.name=="b\"")].v}"#, ""),
        (r#"{"ends in \\"}"#, "ends in \\"),
    ] {
        assert_eq!(
            render(template, MissingKeys::Skip).as_deref(),
            Ok(printed),
            "{template}"
        );
    }
}

#[test]
fn missing_keys_can_be_errors() {
    for (template, complaint) in [
        ("{.}", " is not found"),
        ("{.spec.nothing}", "nothing is not found"),
        ("{.spec.nothing.more}", "nothing is not found"),
        ("{.spec.s.more}", "more is not found"),
        ("{.spec.n.x}", "x is not found"),
        ("{.metadata.labels['a.b/c']}", "a is not found"),
        ("{.spec.nothing[0]}", "nothing is not found"),
        (
            "{range .spec.nothing[*]}{.name}{end}",
            "nothing is not found",
        ),
        ("{range .spec.objs[*]}{.opt}{end}", "opt is not found"),
        ("{range .spec.objs[*]}{.name},", "name is not found"),
        (r#"{.spec.objs[?(@.opt=="<&>")].name}"#, "opt is not found"),
        ("{..nothing}", "nothing is not found"),
    ] {
        assert_eq!(
            render(template, MissingKeys::Refuse),
            Err(complaint.to_owned()),
            "{template}"
        );
    }
    for (template, printed) in [
        ("{.spec.objs[*].opt}", "<&>"),
        ("{.spec.objs[?(@.opt)].name}", "c"),
        ("{range .spec.empty[*]}{.name}{end}x", "x"),
        ("{..v}", "1 2 3"),
    ] {
        assert_eq!(
            render(template, MissingKeys::Refuse).as_deref(),
            Ok(printed),
            "{template}"
        );
    }
}

#[test]
fn evaluation_errors_say_what_is_wrong() {
    for (template, complaint) in [
        (
            "{.spec.list[9]}",
            "array index out of bounds: index 9, length 5",
        ),
        (
            "{.spec.list[-9]}",
            "array index out of bounds: index -4, length 5",
        ),
        (
            "{.spec.list[0:9]}",
            "array index out of bounds: index 8, length 5",
        ),
        (
            "{.spec.list[7:9]}",
            "array index out of bounds: index 7, length 5",
        ),
        (
            "{.spec.list[-9223372036854775808]}",
            "array index out of bounds",
        ),
        (
            "{.spec.list[9223372036854775807:-9223372036854775808]}",
            "array index out of bounds",
        ),
        (
            "{.spec.empty[0]}",
            "array index out of bounds: index 0, length 0",
        ),
        (
            "{.spec.list[3:1]}",
            "starting index 3 is greater than ending index 1",
        ),
        (
            "{.spec.list[-1:0]}",
            "starting index 4 is greater than ending index 0",
        ),
        ("{.spec.s[0]}", "string is not a list"),
        ("{.spec.deep[*]}", "object is not a list"),
        (
            r#"{.spec[?(@.name=="b")]}"#,
            "object is not a list and cannot be filtered",
        ),
        (
            "{.spec.n[?(@.x)]}",
            "null is not a list and cannot be filtered",
        ),
        (
            r#"{.spec.objs[?(@.v=="1")].name}"#,
            "incompatible types for comparison: number and string",
        ),
        (
            "{.spec.objs[?(@.name==true)].name}",
            "incompatible types for comparison: string and boolean",
        ),
        (
            "{.spec.objs[?(@.l==1)].v}",
            "invalid type for comparison: list",
        ),
        (
            "{.spec.objs[?(1==@)].v}",
            "invalid type for comparison: object",
        ),
        (
            "{.spec.objs[?(true<false)].v}",
            "invalid type for comparison: boolean",
        ),
        (
            "{.spec.objs[?(@['name','v']==1)]}",
            "can only compare one element at a time",
        ),
        (
            "{.spec.objs[?(@.l[0]==7)].name}",
            "array index out of bounds: index 0, length 0",
        ),
    ] {
        let error = render(template, MissingKeys::Skip).unwrap_err();
        assert!(
            error.contains(complaint),
            "{template}: {error} does not say {complaint:?}"
        );
    }
}

#[test]
fn bad_templates_are_refused_at_a_position() {
    for (template, complaint) in [
        ("{", "unclosed action at position 1"),
        ("ab{.spec.s", "unclosed action at position 10"),
        ("{.spec\n.s}", "unclosed action at position 6"),
        ("{.spec.list[1", "unterminated array at position 11"),
        ("{.spec.list[1}", "unterminated array at position 11"),
        ("{.spec.list['a}", "unterminated array at position 12"),
        ("{.spec.list[a]}", "invalid array index at position 12"),
        (r#"{.spec.deep["a"]}"#, "invalid array index at position 12"),
        ("{.spec.list[1:2:3:4]}", "invalid array index"),
        ("{.spec.list[--1]}", "invalid array index"),
        ("{.spec.list[-]}", "invalid array index"),
        ("{.spec.list[+1]}", "invalid array index"),
        ("{.spec.list[1 2]}", "invalid array index"),
        ("{.spec.list[99999999999999999999]}", "invalid array index"),
        ("{.spec.list[::0]}", "step must be > 0 at position 12"),
        ("{.spec.list[::-1]}", "step must be > 0"),
        (
            "{..*}",
            "unrecognized character in action: '*' at position 3",
        ),
        (
            "{....name}",
            "invalid multiple recursive descent at position 3",
        ),
        ("{..['.name']}", "invalid multiple recursive descent"),
        (
            "{.spec.t,.spec.s}",
            "unrecognized character in action: ',' at position 8",
        ),
        (
            "{\t.spec}",
            "unrecognized character in action: '\\t' at position 1",
        ),
        (
            "{foo}",
            "unrecognized identifier \"foo\"; fields start with a dot at position 1",
        ),
        ("{spec.s}", "unrecognized identifier \"spec\""),
        (
            "{.spec['a b']}",
            "unrecognized identifier \"b\"; fields start with a dot at position 10",
        ),
        ("{1.2.3}", "cannot parse number at position 1"),
        ("{-}", "cannot parse number"),
        (
            r#"{"unterminated"#,
            "unterminated quoted string at position 1",
        ),
        ("{\"a\nb\"}", "unterminated quoted string"),
        (
            r#"{"a\'b"}"#,
            "invalid escape in quoted string at position 1",
        ),
        (r#"{"\q"}"#, "invalid escape"),
        (r#"{"\x4"}"#, "invalid escape"),
        (r#"{"\400"}"#, "invalid escape"),
        (r#"{"\ud800"}"#, "invalid escape"),
        (r#"{"\xff"}"#, "invalid escape"),
        (
            "{.a[?(@.v=1)]}",
            "unrecognized filter operator at position 9",
        ),
        ("{.a[?(@.v===1)]}", "unrecognized filter operator"),
        ("{.a[?(@.v==)]}", "missing operand in filter at position 11"),
        ("{.a[?(==1)]}", "missing operand in filter at position 6"),
        ("{.a[?()]}", "missing operand in filter"),
        (
            r#"{.a[?(@.n=="b" && @.v==2)]}"#,
            "unrecognized character in action: '&' at position 15",
        ),
        (
            r#"{.a[?(@.n=="b"].v}"#,
            "unrecognized character in action: ']'",
        ),
        (r#"{.a[?(@.n=="b").v}"#, "unterminated filter at position 3"),
        ("{.a[?(1==1==1)]}", "unrecognized character in action: '='"),
        ("{.a[?(@.n==foo)]}", "unrecognized identifier \"foo\""),
        ("{end}", "not in range, nothing to end at position 0"),
        (
            "{range .a[*]}{end}{end}",
            "not in range, nothing to end at position 18",
        ),
        ("{.a range}", "misplaced 'range' or 'end' at position 4"),
        ("{end .x}", "misplaced 'range' or 'end' at position 5"),
    ] {
        let error = render(template, MissingKeys::Skip).unwrap_err();
        assert!(
            error.contains(complaint),
            "{template}: {error} does not say {complaint:?}"
        );
    }
}

#[test]
fn columns_are_paths_without_braces() {
    for (path, printed) in [
        (".metadata.name", "x"),
        (r#".spec.conditions[?(@.type=="Ready")].status"#, "True"),
        (r#".spec.conditions[?(@.type=="Gone")].status"#, ""),
        (".spec.objs[*].name", "a b c"),
        (".spec.nothing", ""),
        (r".metadata.labels.a\.b/c", "v1"),
        ("", &render("{}", MissingKeys::Skip).unwrap()),
    ] {
        let column = JsonPath::column(path).unwrap();
        assert_eq!(
            column.render(&data(), MissingKeys::Skip).as_deref(),
            Ok(printed),
            "{path}"
        );
        assert_eq!(
            JsonPath::template(&column.to_string()),
            Ok(column.clone()),
            "{path}"
        );
    }
    for (path, complaint) in [
        (
            "{.metadata.name}",
            "unrecognized character in action: '{' at position 0",
        ),
        (".a}", "unrecognized character in action: '}' at position 2"),
        (
            "metadata.name",
            "unrecognized identifier \"metadata\"; fields start with a dot at position 0",
        ),
        (".a[", "unterminated array at position 2"),
        ("range .a", "misplaced"),
        (".a\n", "unclosed action at position 2"),
    ] {
        let error = JsonPath::column(path).unwrap_err().to_string();
        assert!(
            error.contains(complaint),
            "{path}: {error} does not say {complaint:?}"
        );
    }
}

#[test]
fn found_values_are_references_into_the_data() {
    let (path, data) = (JsonPath::column(".spec.objs[*].name").unwrap(), data());
    let found = path.find(&data, MissingKeys::Skip).unwrap();
    assert_eq!(found, [[&json!("a"), &json!("b"), &json!("c")]]);
    assert!(std::ptr::eq(
        found[0][0],
        &raw const data["spec"]["objs"][0]["name"]
    ));
    let blocks = JsonPath::template("x{.kind}{range .spec.list[0:2]}{@}{end}").unwrap();
    let found = blocks.find(&data, MissingKeys::Skip).unwrap();
    assert_eq!(
        found,
        [[&json!("x")], [&json!("Thing")], [&json!(1)], [&json!(2)]]
    );
}

#[test]
fn templates_have_a_printed_form() {
    for (template, printed) in [
        ("{ $.a['b'] }", "{.a.b}"),
        ("{['a\\.b']}", r"{.a\.b}"),
        ("{.}", "{.$}"),
        ("{..['x']}", "{..x}"),
        ("{...-x}", "{...-x}"),
        ("{.a[ 'b' , 0 , * , 1: ]}", "{.a['b',0,*,1:]}"),
        ("{.a[:]}", "{.a[*]}"),
        ("{.a[::3]}", "{.a[::3]}"),
        ("{.a[?( $.b == 'c' )]}", r#"{.a[?(@.b=="c")]}"#),
        ("{.a[?(@)]}", "{.a[?(@)]}"),
        ("{.a 'x'.b}", r#"{.a "x" .b}"#),
        ("{range  .a }x{ end }", "{range .a}x{end}"),
        ("{range .a}x", "{range .a}x"),
        ("{1.0}{+2}{0.5}", "{1.0}{2}{0.5}"),
        ("{.\\*}{.*}", "{.\\*}{.*}"),
        (r#"{"\x01\n'"}"#, r#"{"\u0001\n\u0027"}"#),
    ] {
        let parsed = JsonPath::template(template).unwrap();
        assert_eq!(parsed.to_string(), printed, "{template}");
        assert_eq!(JsonPath::template(printed), Ok(parsed), "{template}");
    }
}

#[test]
fn work_output_and_nesting_are_bounded() {
    let data = json!({"l": vec![json!([0]); 1_000], "text": "x".repeat(1024 * 1024)});
    let run = |template: &str| {
        JsonPath::template(template)
            .map_err(|error| error.to_string())
            .and_then(|path| {
                path.render(&data, MissingKeys::Skip)
                    .map_err(|error| error.to_string())
            })
    };
    let too_long = || Err(EvaluateError::TooManySteps.to_string());
    let all = |times: usize| vec!["*"; times].join(",");
    assert_eq!(
        run(&format!("{{.l[{}]}}", all(100))).map(|text| text.len()),
        Ok(399_999)
    );
    assert_eq!(
        run(&format!("{{.l[{}][{}]}}", all(1_000), all(1_000))),
        too_long()
    );
    assert_eq!(run(&format!("{{.l[{}].*}}", all(1_000))), too_long());
    assert_eq!(run(&"{range ..}".repeat(16)), too_long());
    assert_eq!(run(&"{range @}".repeat(16)), Ok(String::new()));
    assert_eq!(
        run(&"{.text}".repeat(17)),
        Err(EvaluateError::TooMuchOutput.to_string())
    );
    let nested = |depth: usize| format!("{{.a{}@{}}}", "[?(".repeat(depth), ")]".repeat(depth));
    assert!(JsonPath::template(&nested(16)).is_ok());
    assert!(
        JsonPath::template(&nested(17))
            .unwrap_err()
            .to_string()
            .contains("nested more than 16 times")
    );
    assert!(JsonPath::template(&nested(100_000)).is_err());
    assert!(
        JsonPath::template(&"{range .a}".repeat(17))
            .unwrap_err()
            .to_string()
            .contains("nested more than 16")
    );
}

proptest! {
    #[test]
    fn any_field_name_can_be_written(name in "[a-c.*'\"()=!<>@$\\\\ ,{}\\[\\]-]{1,6}") {
        let escaped: String = name.chars().flat_map(|character| ['\\', character]).collect();
        let data = json!({"o": {&name: "found"}, "l": [{&name: "found"}]});
        for template in [format!("{{.o.{escaped}}}"), format!("{{.o['{escaped}']}}"), format!("{{.l[?(@.{escaped}=='found')].{escaped}}}")] {
            let path = JsonPath::template(&template).unwrap();
            prop_assert_eq!(path.render(&data, MissingKeys::Refuse), Ok("found".to_owned()), "{}", template);
            prop_assert_eq!(JsonPath::template(&path.to_string()), Ok(path));
        }
    }
}
