//! JSON Pointer.

use proptest::prelude::*;
use serde_json::json;

use crate::patch::Pointer;

#[test]
fn pointers_resolve_and_print() {
    let document = json!({"a": {"b/c": [1, {"~": 2}]}, "": 3});
    for (text, found) in [
        ("", Some(document.clone())),
        ("/", Some(json!(3))),
        ("/a/b~1c/0", Some(json!(1))),
        ("/a/b~1c/1/~0", Some(json!(2))),
        ("/a/b~1c/-1/~0", Some(json!(2))),
        ("/a/b~1c/2", None),
        ("/a/b~1c/-", None),
        ("/x", None),
        ("/a/b~1c/0/x", None),
    ] {
        let pointer: Pointer = text.parse().unwrap();
        assert_eq!(pointer.to_string(), text);
        assert_eq!(pointer.resolve(&document), found.as_ref(), "{text:?}");
        assert_eq!(json!(pointer), json!(text));
        assert_eq!(
            serde_json::from_value::<Pointer>(json!(text)).unwrap(),
            pointer
        );
    }
    assert!("a".parse::<Pointer>().is_err());
    assert_eq!(
        ["a/b", "~"].into_iter().collect::<Pointer>().to_string(),
        "/a~1b/~0"
    );
}

proptest! {
    #[test]
    fn pointers_survive_printing(tokens in prop::collection::vec("[ab/~01é]{0,4}", 0..5)) {
        let pointer: Pointer = tokens.iter().map(String::as_str).collect();
        prop_assert_eq!(pointer.tokens(), &tokens[..]);
        prop_assert_eq!(pointer.to_string().parse::<Pointer>(), Ok(pointer));
    }
}
