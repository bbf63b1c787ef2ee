//! Rules about how the server reaches a webhook: a URL, or a service of its own.

use object::{field::FieldError, names};

use super::spot::{Errors, Spot};

/// What a URL should look like.
const FORM: &str = "; desired format: https://host[/path]";

/// The parts of a URL that rules look at.
#[derive(Debug, PartialEq, Eq)]
struct Url<'a> {
    scheme: &'a str,
    user: Option<&'a str>,
    host: &'a str,
    /// Perhaps empty: `https://h/?` has a query too.
    query: Option<&'a str>,
    fragment: Option<&'a str>,
}

/// `clientConfig`, of a webhook or of a definition's conversion.
pub(super) fn client_config(config: &Spot<'_>, errors: &mut Errors) {
    let (url, service) = (config.field("url"), config.field("service"));
    match (url.is_set(), service.is_set()) {
        (true, false) => check_url(&url, errors),
        (false, true) => check_service(&service, errors),
        _ => errors.push(config.required("exactly one of url or service is required")),
    }
}

fn check_url(url: &Spot<'_>, errors: &mut Errors) {
    let parsed = match Url::parse(url.text()) {
        Ok(parsed) => parsed,
        Err(why) => {
            errors.push(url.required(format!("url must be a valid URL: {why}{FORM}")));
            return;
        }
    };
    let mut wrong = |value: &str, detail: String| {
        errors.push(FieldError::invalid(url.path(), value, detail));
    };
    if !parsed.scheme.eq_ignore_ascii_case("https") {
        let detail = format!("'https' is the only allowed URL scheme{FORM}");
        wrong(parsed.scheme, detail);
    }
    if parsed.host.is_empty() {
        wrong("", format!("host must be provided{FORM}"));
    }
    if let Some(user) = parsed.user {
        // Upstream: the password too is shown there; an error ends in logs, so it is not here.
        let shown = match user.split_once(':') {
            Some((name, _)) => format!("{name}:xxxxx"),
            None => user.to_owned(),
        };
        let detail = "user information is not permitted in the URL";
        wrong(&shown, detail.to_owned());
    }
    for (part, what) in [
        (parsed.fragment, "fragments"),
        (parsed.query, "query parameters"),
    ] {
        if let Some(part) = part {
            wrong(part, format!("{what} are not permitted in the URL"));
        }
    }
}

fn check_service(service: &Spot<'_>, errors: &mut Errors) {
    for field in ["name", "namespace"] {
        if service.field(field).is_empty() {
            let detail = format!("service {field} is required");
            errors.push(service.field(field).required(detail));
        }
    }
    let port = service.field("port");
    if port
        .number()
        .is_some_and(|number| !(1..=65535).contains(&number))
    {
        errors.push(port.invalid("port is not valid: must be between 1 and 65535, inclusive"));
    }
    check_path(&service.field("path"), errors);
}

/// A path whose segments are names.
fn check_path(path: &Spot<'_>, errors: &mut Errors) {
    let text = path.text();
    if matches!(text, "" | "/") {
        return;
    }
    let Some(rest) = text.strip_prefix('/') else {
        errors.push(path.invalid("must start with a '/'"));
        return;
    };
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    for (place, segment) in rest.split('/').enumerate() {
        if segment.is_empty() {
            errors.push(path.invalid(format!("segment[{place}] may not be empty")));
            continue;
        }
        for problem in names::check_dns1123_subdomain(segment) {
            errors.push(path.invalid(format!("segment[{place}]: {problem}")));
        }
    }
}

impl<'a> Url<'a> {
    fn parse(text: &'a str) -> Result<Self, &'static str> {
        if text.chars().any(char::is_control) {
            return Err("invalid control character in URL");
        }
        let (rest, fragment) = split_optional(text, '#');
        let (rest, query) = split_optional(rest, '?');
        let (scheme, rest) = split_scheme(rest)?;
        let Some(rest) = rest.strip_prefix("//") else {
            return Ok(Self {
                scheme,
                user: None,
                host: "",
                query,
                fragment,
            });
        };
        let authority = rest.split('/').next().unwrap_or_default();
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        check_host(host)?;
        Ok(Self {
            scheme,
            user,
            host,
            query,
            fragment,
        })
    }
}

/// What comes before a mark, and what comes after it if it is there.
fn split_optional(text: &str, mark: char) -> (&str, Option<&str>) {
    match text.split_once(mark) {
        Some((before, after)) => (before, Some(after)),
        None => (text, None),
    }
}

fn split_scheme(text: &str) -> Result<(&str, &str), &'static str> {
    let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    match text.split_once(':') {
        Some(("", _)) => Err("missing protocol scheme"),
        Some((scheme, rest))
            if scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                && scheme.chars().all(known) =>
        {
            Ok((scheme, rest))
        }
        Some((first, _)) if !first.contains('/') => {
            Err("first path segment in URL cannot contain colon")
        }
        _ => Ok(("", text)),
    }
}

/// A name or an address, perhaps with a port.
fn check_host(host: &str) -> Result<(), &'static str> {
    let port = if let Some(inner) = host.strip_prefix('[') {
        let Some((address, port)) = inner.split_once(']') else {
            return Err("missing ']' in host");
        };
        if address.parse::<std::net::Ipv6Addr>().is_err() {
            return Err("invalid address in host");
        }
        port
    } else {
        host.find(':').map_or("", |at| &host[at..])
    };
    if !port.is_empty() {
        let number = port.strip_prefix(':').unwrap_or("x");
        if !number.is_empty() && number.parse::<u16>().is_err() {
            return Err("invalid port after host");
        }
    }
    let is_odd = |c: char| c.is_whitespace() || matches!(c, '"' | '<' | '>' | '\\' | '^' | '`');
    if host.contains(is_odd) {
        return Err("invalid character in host name");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn webhooks_are_reached_by_https_and_by_nothing_else() {
        const SCHEME: &str =
            "'https' is the only allowed URL scheme; desired format: https://host[/path]";
        const HOST: &str = "host must be provided; desired format: https://host[/path]";
        let service = |over: object::Value| {
            let mut service = json!({"namespace": "ops", "name": "hook", "port": 443});
            for (field, value) in over.as_object().unwrap() {
                service[field] = value.clone();
            }
            json!({"service": service})
        };
        for (config, expected) in [
            (json!({"url": "https://hooks.example/check"}), String::new()),
            (json!({"url": "https://[::1]:8443"}), String::new()),
            (json!({"url": "https://127.0.0.1:8443/a/b"}), String::new()),
            (json!({}), "<root>: Required value: exactly one of url or service is required".into()),
            (
                json!({"url": "https://a", "service": {"namespace": "a", "name": "b"}}),
                "<root>: Required value: exactly one of url or service is required".into(),
            ),
            (json!({"url": "http://a/"}), format!("url: Invalid value: \"http\": {SCHEME}")),
            (
                json!({"url": ""}),
                format!("url: Invalid value: \"\": {SCHEME}|url: Invalid value: \"\": {HOST}"),
            ),
            (json!({"url": "https:///a"}), format!("url: Invalid value: \"\": {HOST}")),
            (
                json!({"url": "https://u:hidden@a/"}),
                "url: Invalid value: \"u:xxxxx\": user information is not permitted in the URL".into(),
            ),
            (
                json!({"url": "https://a/b?c=d#e"}),
                "url: Invalid value: \"e\": fragments are not permitted in the URL|url: Invalid value: \"c=d\": query parameters are not permitted in the URL".into(),
            ),
            (
                json!({"url": "https://h/?"}),
                "url: Invalid value: \"\": query parameters are not permitted in the URL".into(),
            ),
            (
                json!({"url": "https://h/#"}),
                "url: Invalid value: \"\": fragments are not permitted in the URL".into(),
            ),
            (
                json!({"url": "https://a:x/"}),
                "url: Required value: url must be a valid URL: invalid port after host; desired format: https://host[/path]".into(),
            ),
            (
                json!({"url": "https://[::1"}),
                "url: Required value: url must be a valid URL: missing ']' in host; desired format: https://host[/path]".into(),
            ),
            (service(json!({"path": "/check/v1/"})), String::new()),
            (
                service(json!({"name": "", "namespace": "", "port": 65536, "path": "/a//B"})),
                [
                    "service.name: Required value: service name is required",
                    "service.namespace: Required value: service namespace is required",
                    "service.port: Invalid value: 65536: port is not valid: must be between 1 and 65535, inclusive",
                    "service.path: Invalid value: \"/a//B\": segment[1] may not be empty",
                    "service.path: Invalid value: \"/a//B\": segment[2]: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
                ]
                .join("|"),
            ),
            (
                service(json!({"path": "check"})),
                "service.path: Invalid value: \"check\": must start with a '/'".into(),
            ),
            (
                service(json!({"path": "//"})),
                "service.path: Invalid value: \"//\": segment[0] may not be empty".into(),
            ),
        ] {
            let mut errors = Vec::new();
            client_config(&Spot::root(&config), &mut errors);
            let found: Vec<String> = errors.iter().map(ToString::to_string).collect();
            assert_eq!(found.join("|"), expected, "{config}");
        }
    }
}
