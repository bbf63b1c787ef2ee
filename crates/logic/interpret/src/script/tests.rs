//! What scripts can do, what they cannot, and how values survive the trip.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use object::{Object, Value, time::Time};
use serde_json::json;

use super::*;
use crate::native::Options;

/// Runs the body of a function that is given the object as `o`, and gives what it returns as a document.
fn run(engine: &Engine, body: &str, object: &Object) -> Result<Value, String> {
    let text = format!("function F(o) {body} end");
    let script = engine.compile(&text).map_err(|error| error.to_string())?;
    let arguments = [Argument::Object(object)];
    engine
        .run(&script, "F", &arguments, |answer| {
            answer.object(0, Emptiness::AsGiven)
        })
        .map_err(|error| error.to_string())
}

fn object(value: Value) -> Object {
    Object::from_value(value).unwrap()
}

/// What an expression is, as the text that Lua prints for it, or the error.
fn evaluate(engine: &Engine, expression: &str) -> String {
    let body = format!("return {{text = tostring({expression})}}");
    match run(engine, &body, &object(json!({}))) {
        Ok(value) => value["text"].as_str().unwrap_or("?").to_owned(),
        Err(error) => error,
    }
}

fn small(change: impl FnOnce(&mut Limits)) -> Engine {
    let mut limits = Limits {
        effort: 200_000,
        memory: 4 << 20,
        ..Limits::default()
    };
    change(&mut limits);
    Engine::new(limits, Options::default(), Arc::new(Secluded))
}

#[test]
fn expressions_print_as_in_the_reference() {
    let engine = Engine::default();
    for (expression, expected) in [
        ("6 / 2", "3"),
        ("7 / 2", "3.5"),
        ("10 % 3", "1"),
        ("2 ^ 10", "1024"),
        ("1e14", "100000000000000"),
        ("1e15", "1000000000000000"),
        ("2 ^ 53", "9007199254740992"),
        ("0.1 + 0.2 == 0.3", "false"),
        ("1 == 1.0", "true"),
        ("#'abc'", "3"),
        ("#{1, 2, 3}", "3"),
        ("'a' .. 1 .. 2.5", "a12.5"),
        ("'10' + 5", "15"),
        ("tonumber('0x10')", "16"),
        ("tonumber('ff', 16)", "255"),
        ("tonumber('x')", "nil"),
        ("nil == false", "false"),
        (
            "string.format('%d %s %5.2f %q %x', 3, 'a', 1.005, 'b', 255)",
            "3 a  1.00 \"b\" ff",
        ),
        (
            "string.format('%5d|%-5d|%05d', 42, 42, 42)",
            "   42|42   |00042",
        ),
        (
            "('Abc'):lower() .. ('Abc'):upper() .. ('abc'):reverse()",
            "abcABCcba",
        ),
        ("('abc'):sub(-2)", "bc"),
        ("('key=value'):match('(%w+)=(%w+)')", "key"),
        ("('a,b'):find(',', 1, true)", "2"),
        ("string.len('ä')", "2"),
        ("table.concat({1, 2, 'x'}, '-')", "1-2-x"),
        ("select('#', 1, nil, 3)", "3"),
        ("unpack({4, 5})", "4"),
        ("math.floor(-1.5)", "-2"),
        ("math.max(1, 9, 3)", "9"),
        ("math.mod(7, 4)", "3"),
        ("math.huge > 1", "true"),
        ("type(nil) .. type({}) .. type(print)", "niltablefunction"),
        ("_VERSION", "Lua 5.1"),
        (
            "os.time({year = 2026, month = 1, day = 2, hour = 3})",
            "1767322800",
        ),
        ("os.date('%F %H:%M:%S', 1767322800)", "2026-01-02 03:00:00"),
        ("os.date('!*t', 1767322800).year", "2026"),
        ("pcall(error, 'x')", "false"),
    ] {
        assert_eq!(evaluate(&engine, expression), expected, "{expression}");
    }
}

#[test]
fn places_beyond_the_end_are_beyond_it_however_far() {
    let engine = Engine::default();
    for (expression, expected) in [
        ("('abc'):sub(1, 2 ^ 31)", "abc"),
        ("('abc'):sub(2, 2 ^ 40)", "bc"),
        ("('abc'):sub(2, 9223372036854775807)", "bc"),
        ("string.sub('abc', 2, math.huge)", "bc"),
        ("('abc'):sub(2 ^ 31) .. '.'", "."),
        ("('abc'):sub(-2 ^ 31)", "abc"),
        ("('abc'):sub(-2 ^ 40, -2)", "ab"),
        ("('abc'):sub(1, -2 ^ 40) .. '.'", "."),
        ("('abc'):sub(1.9, 2.9)", "ab"),
        ("('abc'):sub('2', '4294967298')", "bc"),
        ("('abc'):byte(2 ^ 31) or 'none'", "none"),
        ("select('#', ('abc'):byte(1, 2 ^ 31))", "3"),
        ("('abc'):byte(2.9)", "98"),
        ("select('#', ('abc'):byte(-2 ^ 33, 2 ^ 33))", "3"),
        ("tostring(('abc'):find('b', 2 ^ 31))", "nil"),
        ("('abc'):find('b', -2 ^ 31)", "2"),
        ("tostring(('abc'):match('b', 2 ^ 32))", "nil"),
        ("('abc'):match('b', -2 ^ 32)", "b"),
        ("select('#', select(2 ^ 31, 1, 2))", "0"),
        (
            "string.format('%d %d %x', 2 ^ 31, -2 ^ 40, 2 ^ 32)",
            "2147483648 -1099511627776 100000000",
        ),
        ("string.format('%d', 3.99)", "3"),
        ("math.random(2 ^ 40, 2 ^ 40)", "1099511627776"),
        (
            "(function() local n = math.random(2 ^ 40) return n >= 1 and n <= 2 ^ 40 end)()",
            "true",
        ),
    ] {
        assert_eq!(evaluate(&engine, expression), expected, "{expression}");
    }
    // What is wrong is told with the line of the script, whoever finds it.
    for (expression, told) in [
        ("('abc'):sub({})", "line 1: invalid argument #2 to 'sub'"),
        ("('abc'):find('[')", "line 1: malformed pattern"),
        ("unpack({}, 1, 2 ^ 31)", "line 1: too many results"),
        (
            "math.random(2 ^ 40, 1)",
            "line 1: math.random: the interval is empty",
        ),
        ("table.concat({1}, '', 1, 2 ^ 31)", "line 1: invalid value"),
    ] {
        let found = evaluate(&engine, expression);
        assert!(found.starts_with(told), "{expression}: {found}");
    }
}

#[test]
fn what_is_unsafe_is_refused_and_what_is_unknown_is_not_there() {
    let engine = Engine::default();
    for name in [
        "collectgarbage",
        "dofile",
        "getfenv",
        "getmetatable",
        "load",
        "loadfile",
        "loadstring",
        "rawequal",
        "rawget",
        "rawset",
        "setfenv",
        "setmetatable",
        "module",
        "newproxy",
        "string.gsub",
        "string.rep",
        "string.dump",
    ] {
        assert_eq!(
            evaluate(&engine, &format!("{name}({{}}, 1, 2)")),
            format!("line 1: {name} is not available to interpretation scripts"),
        );
    }
    assert_eq!(
        evaluate(&engine, "('x'):rep(3)"),
        "line 1: string.rep is not available to interpretation scripts"
    );
    for name in [
        "io",
        "debug",
        "coroutine",
        "package",
        "bit32",
        "utf8",
        "buffer",
        "vector",
        "typeof",
        "rawlen",
        "table.find",
        "table.clone",
        "table.freeze",
        "string.split",
        "string.pack",
        "math.clamp",
        "os.clock",
        "os.execute",
        "os.getenv",
    ] {
        assert_eq!(evaluate(&engine, name), "nil", "{name}");
    }
    assert_eq!(
        evaluate(&engine, "require('socket')"),
        "line 1: there is no module socket; the only one is kube"
    );
}

#[test]
fn the_kube_module_knows_quantities_and_pods() {
    let engine = Engine::default();
    let kube = |call: &str| evaluate(&engine, &format!("require('kube').{call}"));
    for (call, expected) in [
        ("resourceAdd('100m', '1', nil)", "1100m"),
        ("resourceAdd('1Gi', '512Mi')", "1536Mi"),
        ("resourceAdd()", "0"),
        ("resourceAdd(nil)", "0"),
        ("getResourceQuantity('1500m')", "1.5"),
        ("getResourceQuantity('2Ki')", "2048"),
        ("getResourceQuantity(nil)", "0"),
        ("accuratePodRequirements({spec = {containers = {}}})", "nil"),
        (
            "accuratePodRequirements({spec = {containers = {{name = 'a', resources = {requests = {cpu = '1'}}}}}}).resourceRequest.cpu",
            "1",
        ),
        (
            "accuratePodRequirements({spec = {containers = {}, nodeSelector = {a = 'b'}}}).nodeClaim.nodeSelector.a",
            "b",
        ),
        (
            "getPodDependencies({spec = {imagePullSecrets = {{name = 's'}}}}, 'n')[1].namespace",
            "n",
        ),
        (
            "getPodDependencies({spec = {imagePullSecrets = {{name = 's'}}}}, nil)[1].namespace",
            "default",
        ),
        (
            "getPodDependencies({spec = {imagePullSecrets = {{name = 's'}}}}, 'n')[1].kind",
            "Secret",
        ),
        ("getPodDependencies({}, 'n')[1]", "nil"),
        (
            "getResourceQuantity('-1')",
            "line 1: getResourceQuantity: -1 is no amount of a resource",
        ),
        (
            "getResourceQuantity()",
            "line 1: getResourceQuantity takes 1 arguments and got 0",
        ),
        (
            "getPodDependencies({})",
            "line 1: getPodDependencies takes 2 arguments and got 1",
        ),
        (
            "accuratePodRequirements(1)",
            "line 1: accuratePodRequirements expects a pod template, not integer",
        ),
        (
            "resourceAdd({})",
            "line 1: resourceAdd expects an amount as argument 1, not table",
        ),
        (
            "accuratePodRequirements({spec = {containers = 7}})",
            "line 1: accuratePodRequirements: spec.containers: expected a list, found a number",
        ),
    ] {
        assert_eq!(kube(call), expected, "{call}");
    }
    assert!(
        kube("resourceAdd('much')")
            .starts_with("line 1: resourceAdd: \"much\" is no amount of a resource: ")
    );
}

#[test]
fn a_document_comes_back_as_it_went_in() {
    let engine = Engine::default();
    for document in [
        json!({"z": 1, "a": {"y": true, "b": "text"}, "list": [1, "two", [3, [4]], {"x": 5}]}),
        json!({"empty": {}, "none": [], "deep": [{"emptyDir": {}}, {"args": []}]}),
        json!({"half": 0.5, "tiny": 1e-9, "large": 1.5e300, "negative": -7}),
        json!({"exact": 9_007_199_254_740_991_i64, "beyond": 9_007_199_254_740_993_i64, "most": u64::MAX, "least": i64::MIN}),
        json!({"text": "ä\u{1F600}\n\"\\\u{0}end", "": "no name", "a.b/c": "dotted"}),
        json!({}),
    ] {
        let given = object(document.clone());
        let returned = run(&engine, "return o", &given).unwrap();
        assert_eq!(returned, document);
        // Field for field in the order they were written.
        assert_eq!(returned.to_string(), document.to_string());
    }
}

#[test]
fn what_lua_cannot_say_is_settled_by_the_input() {
    let engine = Engine::default();
    let given = json!({"a": null, "list": [1, null, 2], "spec": {"object": {}, "list": []}, "two": [9_007_199_254_740_993_i64, 9_007_199_254_740_992_i64]});
    for (body, expected) in [
        ("return {a = o.a, n = #o.list}", json!({"n": 2})),
        (
            "return {spec = {object = {}, list = {}, other = {}}}",
            json!({"spec": {"object": {}, "list": []}}),
        ),
        ("return {other = {{}, 1, {}}}", json!({"other": [1]})),
        (
            "return {spec = {list = {1}}}",
            json!({"spec": {"list": [1]}}),
        ),
        (
            "o.list = nil o.two = nil o.b = 1 o.a = 2 return o",
            json!({"a": 2, "spec": {"object": {}, "list": []}, "b": 1}),
        ),
        // Two integers became the same double, so nobody can say which it was.
        (
            "return {x = o.two[1]}",
            json!({"x": 9_007_199_254_740_992_i64}),
        ),
        (
            "return {x = 3.0, y = -0.0, z = 2^63, w = 1e300}",
            json!({"w": 1e300, "x": 3, "y": 0, "z": 9_223_372_036_854_775_808_f64}),
        ),
        ("return {x = string.char(255)}", json!({"x": "\u{FFFD}"})),
        (
            "local t = {} t[3] = 'c' t[1] = 'a' t[2] = 'b' return {t = t}",
            json!({"t": ["a", "b", "c"]}),
        ),
    ] {
        assert_eq!(
            run(&engine, body, &object(given.clone())),
            Ok(expected),
            "{body}"
        );
    }
}

#[test]
fn what_is_no_document_is_refused_with_its_place() {
    let engine = Engine::default();
    for (body, problem) in [
        (
            "return {a = {x = 1, 2}}",
            "a: has keys of an object and of a list",
        ),
        ("return {a = {[1] = 1, [3] = 3}}", "a: is a list with holes"),
        (
            "return {a = {[1.5] = 1}}",
            "a: a key is number, which no object or list has",
        ),
        (
            "return {a = {[true] = 1}}",
            "a: a key is boolean, which no object or list has",
        ),
        (
            "return {a = {print}}",
            "a[0]: function is no value of an object",
        ),
        ("return {a = 0/0}", "a: NaN is no number of a document"),
        (
            "return {a = {b = 1/0}}",
            "a.b: inf is no number of a document",
        ),
        (
            "local t = {x = 1} return {a = t, b = t}",
            "b: the same table is elsewhere in the value already; copy it",
        ),
        (
            "local t = {} t.t = t return t",
            "t: the same table is elsewhere in the value already; copy it",
        ),
        (
            "local t = {} local top = t for i = 1, 200 do t.t = {} t = t.t end t.x = 1 return top",
            "nested deeper than 120 levels",
        ),
    ] {
        let error = run(&engine, body, &object(json!({}))).unwrap_err();
        let start = "F returned a value that cannot be used: ";
        assert!(
            error.starts_with(start) && error.ends_with(problem),
            "{body}: {error}"
        );
    }
}

#[test]
fn hostile_scripts_are_stopped() {
    let engine = small(|_| ());
    let steps = "stopped after 200000 steps";
    let memory = "stopped at 4194304 bytes of memory";
    for (body, expected) in [
        ("while true do end", steps),
        ("repeat until false", steps),
        ("for i = 1, 1e18 do end", steps),
        (
            "while true do pcall(function() while true do end end) end",
            steps,
        ),
        ("pcall(function() while true do end end) return {}", steps),
        ("local function f() return f() end f()", "stack overflow"),
        ("local function f() pcall(f) f() end f()", steps),
        ("local t = {} while true do t[#t + 1] = {t} end", memory),
        ("local s = 'x' while true do s = s .. s end", memory),
        ("local t = {} for i = 1, 1e9 do t[i] = {} end", memory),
        (
            "return {s = ('a'):find(('a?'):sub(1, 2) .. ('.-'):sub(1, 2))}",
            "",
        ),
        (
            "local s = 'a' for i = 1, 12 do s = s .. s end return {n = s:find('.-.-.-.-.-b')}",
            steps,
        ),
        ("error({code = 7})", ""),
        ("error()", ""),
        (
            "table.sort({3, 1, 2}, function() return true end) return {}",
            "",
        ),
    ] {
        match run(&engine, body, &object(json!({}))) {
            Ok(_) => assert_eq!(expected, "", "{body}"),
            Err(error) => assert!(error.contains(expected), "{body}: {error}"),
        }
        let after = run(&engine, "return {sum = 1 + 1}", &object(json!({})));
        assert_eq!(after, Ok(json!({"sum": 2})), "after {body}");
    }
}

/// What is not stopped from outside must not take long by itself: without these rules each of them would take hours.
#[test]
fn no_single_call_takes_for_ever() {
    let engine = Engine::default();
    let text = "local s = 'a' for i = 1, 22 do s = s .. s end";
    let too_long = "text and pattern are too long together";
    for (body, expected) in [
        (
            "local t = s:sub(1, 2 ^ 21) .. 'b' return {at = tostring(s:find(t, 1, true))}",
            Ok(r#"{"at":"nil"}"#),
        ),
        (
            "local t = s:sub(1, 2 ^ 21) .. 'b' return {at = tostring(s:find(t))}",
            Ok(r#"{"at":"nil"}"#),
        ),
        (
            "local t = s:sub(1, 2 ^ 21) .. 'b' local from, to = (s .. 'b'):find(t, 9) return {from = from, to = to}",
            Ok(r#"{"from":2097153,"to":4194305}"#),
        ),
        (
            "local t = '[' .. s:sub(1, 2 ^ 18) .. ']*b' return {at = s:find(t)}",
            Err(too_long),
        ),
        ("return {at = s:match('[' .. s .. ']*b')}", Err(too_long)),
        ("for w in s:gmatch(s) do end", Err(too_long)),
        ("for w in string.gfind(s, s) do end", Err(too_long)),
        // Each comparison is a step, however long what it compares.
        (
            "local l = {} for i = 1, 600000 do l[i] = i * 7 % 600011 end table.sort(l)",
            Err("stopped after 5000000 steps"),
        ),
    ] {
        let body = format!("{text} {body}");
        let found = run(&engine, &body, &object(json!({}))).map(|value| value.to_string());
        match (&found, expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{body}"),
            (Err(error), Err(expected)) => assert!(error.contains(expected), "{body}: {error}"),
            other => panic!("{body}: {other:?}"),
        }
    }
    let sorted = "local l = {3, 1, 2} table.sort(l) return {l = l}";
    let sorted = run(&engine, sorted, &object(json!({})));
    assert_eq!(sorted, Ok(json!({"l": [1, 2, 3]})));
    let mixed = run(&engine, "table.sort({1, 'a'})", &object(json!({}))).unwrap_err();
    assert!(mixed.starts_with("line 1: attempt to compare"), "{mixed}");
    let wrong = run(&engine, "table.sort({2, 1}, 3)", &object(json!({}))).unwrap_err();
    assert!(wrong.starts_with("line 1: invalid argument #2"), "{wrong}");
}

#[test]
fn nothing_is_left_of_a_run() {
    let engine = Engine::default();
    let nothing = object(json!({}));
    for tampering in [
        "leak = 1 _G.leaked = 2 return {}",
        "type = 5 pairs = nil return {}",
        "_G.string = {} return {}",
        "math.randomseed(99) return {x = math.random(1000000)}",
        "pcall(function() string.format = nil end) pcall(function() math.floor = nil end) return {}",
        "pcall(function() require('kube').resourceAdd = nil end) pcall(function() os.time = nil end) return {}",
        "pcall(function() _G.string.upper = nil end) return {}",
    ] {
        run(&engine, tampering, &nothing).unwrap();
        let found = run(
            &engine,
            "return {
               leak = tostring(leak) .. tostring(leaked), type = type(pairs), upper = ('a'):upper(),
               floor = math.floor(1.5), text = string.format('%d', 1), time = type(os.time),
               add = require('kube').resourceAdd('1', '1'), random = math.random(1000000),
             }",
            &nothing,
        )
        .unwrap();
        let again = run(&engine, "return {random = math.random(1000000)}", &nothing).unwrap();
        assert_eq!(found["random"], again["random"]);
        let expected = json!({
            "add": "2", "floor": 1, "leak": "nilnil", "random": again["random"], "text": "1", "time": "function",
            "type": "function", "upper": "A",
        });
        assert_eq!(found, expected, "after {tampering}");
    }
    for tampering in [
        "string.format = nil",
        "math.x = 1",
        "os.time = nil",
        "require('kube').x = 1",
    ] {
        let error = run(&engine, tampering, &nothing).unwrap_err();
        assert!(error.contains("readonly"), "{tampering}: {error}");
    }
}

#[test]
fn a_name_that_is_taken_can_be_a_variable() {
    let engine = Engine::default();
    let body = "error = nil type = 'x' return {error = error, type = type, same = _G.type == type}";
    let found = run(&engine, body, &object(json!({})));
    assert_eq!(found, Ok(json!({"same": true, "type": "x"})));
}

#[test]
fn arguments_are_copies() {
    let engine = Engine::default();
    let given = object(json!({"spec": {"a": 1}}));
    let changed = run(&engine, "o.spec.a = 2 return o", &given).unwrap();
    assert_eq!(changed, json!({"spec": {"a": 2}}));
    assert_eq!(given.integer_at(&["spec", "a"]), Some(1));
}

#[test]
fn a_text_is_compiled_once_for_as_long_as_somebody_has_it() {
    let engine = Engine::default();
    let first = engine.compile("x = 1").unwrap();
    let second = engine.compile("x = 1").unwrap();
    assert!(Arc::ptr_eq(&first, &second));
    assert!(!Arc::ptr_eq(&first, &engine.compile("x = 2").unwrap()));
}

#[test]
fn texts_are_checked_without_being_run() {
    assert_eq!(check("function Anything() end while true do end"), Ok(()));
    let error = check("\nif x then").unwrap_err();
    assert_eq!(error.line, Some(2));
    assert!(matches!(error.problem, ScriptProblem::Syntax(_)), "{error}");
    let long = format!("--{}", "x".repeat(1 << 20));
    assert_eq!(
        check(&long).unwrap_err().to_string(),
        "the script has 1048578 bytes and may have 524288"
    );
    for nested in ["(", "{", "not ", "- ", "function() return "] {
        let text = format!("return {}", nested.repeat(20_000));
        assert!(check(&text).is_err(), "{nested}");
    }
}

/// A clock that moves on whenever it is read, and an ear for what is printed.
#[derive(Default)]
struct Observed {
    milliseconds: AtomicU64,
    lines: Mutex<Vec<String>>,
}

impl Surroundings for Observed {
    fn now(&self) -> Option<Time> {
        Some(Time::from_unix_seconds(1_767_322_800))
    }

    fn elapsed(&self) -> Option<Duration> {
        let now = self.milliseconds.fetch_add(10, Ordering::Relaxed);
        Some(Duration::from_millis(now))
    }

    fn print(&self, line: &str) {
        self.lines.lock().unwrap().push(line.to_owned());
    }
}

#[test]
fn time_and_an_audience_come_from_the_caller() {
    let nothing = object(json!({}));
    let surroundings = Arc::new(Observed::default());
    let engine = Engine::new(
        Limits::default(),
        Options::default(),
        Arc::clone(&surroundings) as Arc<dyn Surroundings>,
    );
    let body = "print('a', 1, nil) return {now = os.time(), day = os.date('%F')}";
    assert_eq!(
        run(&engine, body, &nothing),
        Ok(json!({"day": "2026-01-02", "now": 1_767_322_800}))
    );
    assert_eq!(*surroundings.lines.lock().unwrap(), ["a\t1\tnil"]);
    let error = run(&engine, "\nwhile true do end", &nothing).unwrap_err();
    assert_eq!(error, "line 2: stopped after 1000ms");
    // Without a clock there is no time to tell, and none to run out of.
    let error = run(&Engine::default(), "return {now = os.time()}", &nothing).unwrap_err();
    assert_eq!(error, "line 1: os.time: there is no clock here");
}

/// A clock that a test moves.
#[derive(Default)]
struct Stopwatch(AtomicU64);

impl Stopwatch {
    fn pass(&self, seconds: u64) {
        self.0.fetch_add(seconds, Ordering::Relaxed);
    }
}

impl Surroundings for Stopwatch {
    fn now(&self) -> Option<Time> {
        None
    }

    fn elapsed(&self) -> Option<Duration> {
        Some(Duration::from_secs(self.0.load(Ordering::Relaxed)))
    }

    fn print(&self, _: &str) {}
}

/// An engine with little to spend and a clock, and a script that loops on objects with a spec.
struct Trial {
    clock: Arc<Stopwatch>,
    engine: Engine,
    /// Only a text that is held by its customization is the same script from call to call.
    _held: Arc<Script>,
}

const LOOPS: &str = "if o.spec then while true do end end return {fine = true}";
const STOPPED: &str = "line 1: stopped after 1000 steps";

impl Trial {
    fn new() -> Self {
        let clock = Arc::new(Stopwatch::default());
        let limits = Limits {
            effort: 1_000,
            memory: 1 << 20,
            ..Limits::default()
        };
        let surroundings = Arc::clone(&clock) as Arc<dyn Surroundings>;
        let engine = Engine::new(limits, Options::default(), surroundings);
        let held = engine.compile(&format!("function F(o) {LOOPS} end"));
        Self {
            clock,
            engine,
            _held: held.unwrap(),
        }
    }

    fn ask(&self, object: &Object) -> Result<Value, String> {
        run(&self.engine, LOOPS, object)
    }

    fn runs(&self) -> u64 {
        self.engine.turnover().made + self.engine.turnover().reused
    }
}

fn quiet(name: &str) -> Object {
    object(json!({"kind": "Widget", "metadata": {"namespace": "test", "name": name}}))
}

fn looping(name: &str) -> Object {
    object(json!({"kind": "Widget", "metadata": {"namespace": "test", "name": name}, "spec": {}}))
}

fn fine() -> Result<Value, String> {
    Ok(json!({"fine": true}))
}

#[test]
fn a_script_that_spends_too_much_leaves_the_object_alone_for_longer_and_longer() {
    let trial = Trial::new();
    let (mended, bad, other) = (quiet("a"), looping("a"), quiet("b"));
    for pause in [10, 20, 40, 80, 160, 300, 300] {
        let before = trial.runs();
        assert_eq!(trial.ask(&bad), Err(STOPPED.to_owned()));
        // However many ask, however it has changed, and however long before the pause is over.
        let refused = Err(format!(
            "{STOPPED}, so it is not run on this object for {pause}s"
        ));
        for object in [&mended, &bad, &mended] {
            assert_eq!(trial.ask(object), refused);
        }
        trial.clock.pass(pause - 1);
        assert_eq!(trial.ask(&mended), refused);
        assert_eq!(trial.runs() - before, 1, "runs in {pause}s");
        // Others do not suffer, neither objects nor scripts.
        assert_eq!(trial.ask(&other), fine());
        assert_eq!(evaluate(&trial.engine, "1 + 1"), "2");
        trial.clock.pass(1);
    }
    // A run that ends by itself is the end of it, and the next mistake is a first one.
    assert_eq!(trial.ask(&mended), fine());
    assert_eq!(trial.ask(&bad), Err(STOPPED.to_owned()));
    let refused = trial.ask(&mended).unwrap_err();
    assert!(refused.ends_with("for 10s"), "{refused}");
    // Another text is another script.
    let text = LOOPS.replace("while true do end", "");
    assert_eq!(run(&trial.engine, &text, &bad), fine());
}

#[test]
fn a_script_that_spends_too_much_on_many_objects_is_left_alone_as_a_whole() {
    let trial = Trial::new();
    let other = quiet("other");
    let bad: Vec<Object> = (0..16).map(|n| looping(&format!("bad-{n}"))).collect();
    for bad in &bad {
        assert_eq!(trial.ask(bad), Err(STOPPED.to_owned()));
        assert_eq!(trial.ask(&other), fine());
    }
    for pause in [10, 20, 40, 80, 160, 300, 300] {
        let before = trial.runs();
        let one_more = looping(&format!("one-more-{pause}"));
        assert_eq!(trial.ask(&one_more), Err(STOPPED.to_owned()));
        let refused = Err(format!(
            "{STOPPED}, so it is not run on any object for {pause}s"
        ));
        assert_eq!(trial.ask(&other), refused);
        trial.clock.pass(pause - 1);
        assert_eq!(trial.ask(&other), refused);
        assert_eq!(trial.runs() - before, 1, "runs in {pause}s");
        trial.clock.pass(1);
    }
    assert_eq!(trial.ask(&other), fine());
    assert_eq!(trial.ask(&quiet("another")), fine());
}

#[test]
fn objects_that_take_turns_cost_a_bounded_number_of_runs() {
    let trial = Trial::new();
    let other = quiet("other");
    let mut stopped = 0;
    for _ in 0..1000 {
        for n in 0..50 {
            if trial.ask(&looping(&format!("bad-{n}"))) == Err(STOPPED.to_owned()) {
                stopped += 1;
            }
            let _ = trial.ask(&other);
        }
        trial.clock.pass(1);
    }
    // Credit for 16, those that are due again, and one each ten seconds.
    assert!((16..=250).contains(&stopped), "{stopped}");
}

#[test]
fn objects_about_which_nobody_asks_any_more_are_forgotten() {
    let trial = Trial::new();
    for n in 0..100 {
        let bad = looping(&format!("bad-{n}"));
        assert_eq!(trial.ask(&bad), Err(STOPPED.to_owned()));
        assert_eq!(trial.ask(&quiet("other")), fine());
        trial.clock.pass(30);
    }
}

#[test]
fn a_script_that_wants_too_much_memory_is_left_alone_too() {
    let hungry = "local t = {} while true do t[#t + 1] = {{}, {}, {}, {}, {}, {}, {}, {}} end";
    let limits = Limits {
        memory: 1 << 16,
        ..Limits::default()
    };
    let clock: Arc<dyn Surroundings> = Arc::new(Stopwatch::default());
    let engine = Engine::new(limits, Options::default(), clock);
    let _held = engine.compile(&format!("function F(o) {hungry} end"));
    let memory = "stopped at 65536 bytes of memory";
    for expected in [
        memory.to_owned(),
        format!("{memory}, so it is not run on this object for 10s"),
    ] {
        assert_eq!(run(&engine, hungry, &quiet("a")), Err(expected));
    }
}

#[test]
fn machines_are_used_again_and_counted() {
    let engine = Engine::default();
    for _ in 0..3 {
        assert_eq!(evaluate(&engine, "1 + 1"), "2");
    }
    let expected = Turnover {
        made: 1,
        reused: 2,
        kept: 3,
        dropped: 0,
    };
    assert_eq!(engine.turnover(), expected);
}
