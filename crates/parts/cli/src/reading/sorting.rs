//! The order of what was found, where one is asked for.

use object::jsonpath::{JsonPath, MissingKeys};
use object::quantity::Quantity;
use serde_json::Value;

use crate::failure::Failure;

/// A path whose value decides the order.
pub(crate) struct Order(JsonPath);

/// What decides: numbers go before texts, and what has neither goes first.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SortKey {
    /// Nothing is there.
    Nothing,
    /// A number, or an amount such as 500m.
    Number(i128),
    /// Anything else.
    Text(String),
}

/// Reads a path; none if it is empty.
pub(super) fn read(path: &str) -> Result<Option<Order>, Failure> {
    if path.is_empty() {
        return Ok(None);
    }
    let wrong = |why: String| {
        Failure::refused(
            format!("--sort-by: {path:?}: {why}"),
            "write a path such as .metadata.creationTimestamp",
        )
    };
    let bare = relaxed(path).ok_or_else(|| {
        // Upstream: the words of kubectl.
        wrong("unexpected path string, expected a 'name1.name2' or '.name1.name2' or '{name1.name2}' or '{.name1.name2}'".to_owned())
    })?;
    match JsonPath::column(&bare) {
        Ok(path) => Ok(Some(Order(path))),
        Err(error) => Err(wrong(error.to_string())),
    }
}

/// A path as people write it, in braces or not, with a point before it or not. What has other braces is none.
pub(super) fn relaxed(path: &str) -> Option<String> {
    let bare = match path.strip_prefix('{') {
        Some(inside) => inside.strip_suffix('}')?,
        None => path,
    };
    if bare.trim_matches('.').is_empty() || bare.contains(['{', '}']) {
        return None;
    }
    Some(match bare.starts_with(['.', '[']) {
        true => bare.to_owned(),
        false => format!(".{bare}"),
    })
}

impl Order {
    /// What an object is sorted by.
    pub(crate) fn key(&self, object: &Value) -> SortKey {
        let found = self.0.find(object, MissingKeys::Skip).unwrap_or_default();
        match found.into_iter().flatten().next() {
            None | Some(Value::Null) => SortKey::Nothing,
            Some(Value::String(text)) => match text.parse::<Quantity>() {
                Ok(amount) => SortKey::Number(amount.nanos()),
                Err(_) => SortKey::Text(text.clone()),
            },
            Some(Value::Number(number)) => match number.as_i64() {
                Some(whole) => SortKey::Number(i128::from(whole).saturating_mul(1_000_000_000)),
                None => SortKey::Text(number.to_string()),
            },
            Some(other) => SortKey::Text(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn amounts_are_compared_as_amounts() {
        let order = read("{.v}").unwrap().unwrap();
        let mut items = [
            json!({"v": "b"}),
            json!({"v": 2}),
            json!({"v": "500m"}),
            json!({"v": "a"}),
            json!({}),
            json!({"v": "10"}),
        ];
        items.sort_by_cached_key(|item| order.key(item));
        let shown: Vec<String> = items.iter().map(|item| item["v"].to_string()).collect();
        assert_eq!(shown.join(" "), "null \"500m\" 2 \"10\" \"a\" \"b\"");
        assert!(read("").unwrap().is_none());
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for (path, is_fine) in [
            ("{.metadata.name}", true),
            (".metadata.name", true),
            ("metadata.name", true),
            ("{metadata.name}", true),
            (".status.conditions[0].type", true),
            ("[", false),
            ("{", false),
            ("}", false),
            ("{}", false),
            ("{.}", false),
            ("{.metadata.name", false),
            (".metadata.name}", false),
            ("{{.metadata.name}}", false),
            ("{.a}{.b}", false),
            (".a[", false),
        ] {
            assert_eq!(read(path).is_ok(), is_fine, "{path}");
        }
    }
}
