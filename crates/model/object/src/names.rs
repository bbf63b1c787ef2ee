//! The rules names follow, with a sentence for whoever broke one.
//!
//! Each check returns what is wrong, in the words Kubernetes' clients know; an empty list means all is well.

/// The longest DNS label, and the longest label value and name part of a label key.
pub const LABEL_LENGTH: usize = 63;
/// The longest DNS subdomain, and the longest prefix of a label key.
pub const SUBDOMAIN_LENGTH: usize = 253;

const LABEL_RULE: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must \
     start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
     '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN_RULE: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or \
     '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
     '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL_1035_RULE: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
     alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
     validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const QUALIFIED_NAME_RULE: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and \
     end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
     '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE_RULE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or \
     '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex \
     used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/// A DNS label as in RFC 1123: namespaces, ports, cluster names.
#[must_use]
pub fn check_dns1123_label(text: &str) -> Vec<String> {
    let mut problems = check_length(text, LABEL_LENGTH);
    if !is_dns1123_label(text) {
        problems.push(if is_dns1123_subdomain(text) {
            "must not contain dots".to_owned()
        } else {
            LABEL_RULE.to_owned()
        });
    }
    problems
}

/// A DNS subdomain as in RFC 1123: the names of most objects.
#[must_use]
pub fn check_dns1123_subdomain(text: &str) -> Vec<String> {
    let mut problems = check_length(text, SUBDOMAIN_LENGTH);
    if !is_dns1123_subdomain(text) {
        problems.push(SUBDOMAIN_RULE.to_owned());
    }
    problems
}

/// A DNS label as in RFC 1035, which may not start with a digit: Services.
#[must_use]
pub fn check_dns1035_label(text: &str) -> Vec<String> {
    let mut problems = check_length(text, LABEL_LENGTH);
    if !is_dns1123_label(text) || !text.starts_with(|c: char| c.is_ascii_lowercase()) {
        problems.push(LABEL_1035_RULE.to_owned());
    }
    problems
}

/// A key of a label, annotation, taint or extended resource: an optional subdomain, a slash, and a name.
#[must_use]
pub fn check_qualified_name(text: &str) -> Vec<String> {
    let (prefix, name) = match text.split_once('/') {
        None => (None, text),
        Some((prefix, name)) if !name.contains('/') => (Some(prefix), name),
        Some(_) => {
            return vec![
                "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end with \
                 an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
                 '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. \
                 'example.com/MyName')"
                    .to_owned(),
            ];
        }
    };
    let mut problems = Vec::new();
    match prefix {
        Some("") => problems.push("prefix part must be non-empty".to_owned()),
        Some(prefix) => {
            problems.extend(
                check_dns1123_subdomain(prefix)
                    .into_iter()
                    .map(|problem| format!("prefix part {problem}")),
            );
        }
        None => {}
    }
    if name.is_empty() {
        problems.push("name part must be non-empty".to_owned());
    } else if name.len() > LABEL_LENGTH {
        problems.push(format!("name part {}", too_long(LABEL_LENGTH)));
    }
    if !is_label_word(name) {
        problems.push(QUALIFIED_NAME_RULE.to_owned());
    }
    problems
}

/// The value of a label; may be empty.
#[must_use]
pub fn check_label_value(text: &str) -> Vec<String> {
    let mut problems = check_length(text, LABEL_LENGTH);
    if !text.is_empty() && !is_label_word(text) {
        problems.push(LABEL_VALUE_RULE.to_owned());
    }
    problems
}

/// A name that stands as one segment of a URL: RBAC roles such as `system:node`.
#[must_use]
pub fn check_path_segment(text: &str) -> Vec<String> {
    if text == "." || text == ".." {
        return vec![format!("may not be '{text}'")];
    }
    ["/", "%"]
        .into_iter()
        .filter(|bad| text.contains(bad))
        .map(|bad| format!("may not contain '{bad}'"))
        .collect()
}

/// Whether the text is a DNS label of any length.
#[must_use]
pub fn is_dns1123_label(text: &str) -> bool {
    is_bounded_word(text, is_lower_alphanumeric, |byte| {
        is_lower_alphanumeric(byte) || byte == b'-'
    })
}

/// Whether the text is a dotted sequence of DNS labels, of any length.
#[must_use]
pub fn is_dns1123_subdomain(text: &str) -> bool {
    text.split('.').all(is_dns1123_label)
}

/// Whether the text is a word as label values and key names are, of any length.
fn is_label_word(text: &str) -> bool {
    is_bounded_word(
        text,
        |byte| byte.is_ascii_alphanumeric(),
        |byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte),
    )
}

fn is_bounded_word(text: &str, at_ends: fn(u8) -> bool, inside: fn(u8) -> bool) -> bool {
    match text.as_bytes() {
        [] => false,
        [only] => at_ends(*only),
        [first, middle @ .., last] => {
            at_ends(*first) && at_ends(*last) && middle.iter().all(|byte| inside(*byte))
        }
    }
}

fn is_lower_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

fn check_length(text: &str, limit: usize) -> Vec<String> {
    if text.len() > limit {
        vec![too_long(limit)]
    } else {
        Vec::new()
    }
}

fn too_long(limit: usize) -> String {
    format!("must be no more than {limit} characters")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdicts(text: &str) -> String {
        type Check = fn(&str) -> Vec<String>;
        let checks: [(&str, Check); 6] = [
            ("label", check_dns1123_label),
            ("subdomain", check_dns1123_subdomain),
            ("1035", check_dns1035_label),
            ("key", check_qualified_name),
            ("value", check_label_value),
            ("segment", check_path_segment),
        ];
        let good: Vec<&str> = checks
            .iter()
            .filter(|(_, check)| check(text).is_empty())
            .map(|(name, _)| *name)
            .collect();
        good.join(" ")
    }

    #[test]
    fn each_rule_accepts_what_it_should() {
        for (text, good) in [
            ("web", "label subdomain 1035 key value segment"),
            ("1web", "label subdomain key value segment"),
            ("a.b", "subdomain key value segment"),
            ("Web", "key value segment"),
            ("a_b", "key value segment"),
            ("-a", "segment"),
            ("a-", "segment"),
            ("a..b", "key value segment"),
            ("", "value segment"),
            ("a/b", "key"),
            ("A/b", ""),
            ("a/b/c", ""),
            ("/b", ""),
            ("a/", ""),
            ("system:node", "segment"),
            ("..", ""),
            ("50%", ""),
            ("é", "segment"),
        ] {
            assert_eq!(verdicts(text), good, "{text:?}");
        }
    }

    #[test]
    fn lengths_are_limited() {
        assert_eq!(
            verdicts(&"a".repeat(63)),
            "label subdomain 1035 key value segment"
        );
        assert_eq!(verdicts(&"a".repeat(64)), "subdomain segment");
        assert_eq!(verdicts(&"a".repeat(254)), "segment");
        assert_eq!(
            check_label_value(&"a".repeat(64)),
            ["must be no more than 63 characters"]
        );
        assert!(check_qualified_name(&format!("{}/b", "a".repeat(253))).is_empty());
        assert!(!check_qualified_name(&format!("{}/b", "a".repeat(254))).is_empty());
    }
}
