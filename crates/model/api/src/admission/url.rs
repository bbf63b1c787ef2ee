//! URLs as Go's parser reads them, because what it accepts is part of the API.
//!
//! It is more generous than the standards in some places (a host may have any letters beyond ASCII) and stranger in
//! others: `10.0.0.1:6443` does not parse, `host:6443` is the scheme `host`, and a bare `host` is a path.

/// The parts of a URL that rules ask about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Url {
    /// In lower case; empty if there is none.
    pub scheme: String,
    /// Host with port; empty if there is none.
    pub host: String,
    /// The user's name, without the password.
    pub user: Option<String>,
    /// What follows `?`.
    pub query: String,
    /// What follows `#`.
    pub fragment: String,
}

/// Why a text is not a URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum UrlError {
    #[error("invalid control character in URL")]
    Control,
    #[error("missing protocol scheme")]
    Scheme,
    #[error("first path segment in URL cannot contain colon")]
    FirstSegment,
    #[error("invalid URL escape {escape:?}")]
    Escape { escape: String },
    #[error("invalid userinfo")]
    User,
    #[error("invalid port {port:?} after host")]
    Port { port: String },
    #[error("missing ']' in host")]
    Bracket,
    #[error("invalid character {character:?} in host name")]
    Host { character: char },
}

impl Url {
    /// Takes a text apart.
    pub(super) fn parse(text: &str) -> Result<Self, UrlError> {
        let (text, fragment) = text.split_once('#').unwrap_or((text, ""));
        if text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
            return Err(UrlError::Control);
        }
        check_escapes(fragment)?;
        let (scheme, rest) = split_scheme(text)?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let mut url = Self {
            scheme: scheme.to_ascii_lowercase(),
            query: query.to_owned(),
            fragment: fragment.to_owned(),
            ..Self::default()
        };
        if !rest.starts_with('/') {
            if !url.scheme.is_empty() {
                // What follows the scheme is opaque, as in `mailto:somebody`.
                return Ok(url);
            }
            if rest
                .split('/')
                .next()
                .is_some_and(|segment| segment.contains(':'))
            {
                return Err(UrlError::FirstSegment);
            }
        }
        let is_bare_path = url.scheme.is_empty() && rest.starts_with("///");
        let authority = rest.strip_prefix("//").filter(|_| !is_bare_path);
        let Some(authority) = authority else {
            check_escapes(rest)?;
            return Ok(url);
        };
        let (authority, path) = match authority.find('/') {
            Some(end) => authority.split_at(end),
            None => (authority, ""),
        };
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        check_host(host)?;
        url.user = user.map(check_user).transpose()?;
        url.host = host.to_owned();
        check_escapes(path)?;
        Ok(url)
    }
}

fn split_scheme(text: &str) -> Result<(&str, &str), UrlError> {
    for (position, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if position > 0 => {}
            b':' if position == 0 => return Err(UrlError::Scheme),
            b':' => {
                let (scheme, rest) = text.split_at(position);
                return Ok((scheme, rest.strip_prefix(':').unwrap_or(rest)));
            }
            _ => break,
        }
    }
    Ok(("", text))
}

fn check_user(user: &str) -> Result<String, UrlError> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c);
    if !user.chars().all(is_allowed) {
        return Err(UrlError::User);
    }
    check_escapes(user)?;
    Ok(user.split(':').next().unwrap_or_default().to_owned())
}

fn check_host(host: &str) -> Result<(), UrlError> {
    let port = if host.starts_with('[') {
        let (_, port) = host.rsplit_once(']').ok_or(UrlError::Bracket)?;
        Some(port)
    } else {
        host.rfind(':').map(|position| host.split_at(position).1)
    };
    if let Some(port) = port {
        let is_port = port.is_empty()
            || port
                .strip_prefix(':')
                .is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
        if !is_port {
            return Err(UrlError::Port {
                port: port.to_owned(),
            });
        }
    }
    check_escapes(host)?;
    let is_allowed = |c: char| {
        !c.is_ascii() || c.is_ascii_alphanumeric() || "-_.~!$&'()*+,;=:[]<>\"%".contains(c)
    };
    if let Some(character) = host.chars().find(|c| !is_allowed(*c)) {
        return Err(UrlError::Host { character });
    }
    // In a host, ASCII must be written plainly, apart from the `%` before an IPv6 zone.
    let is_beyond_ascii = |escape: &str| {
        let digit = escape.chars().nth(1).and_then(|c| c.to_digit(16));
        digit.is_some_and(|digit| digit >= 8)
    };
    match escapes(host).find(|escape| escape != "%25" && !is_beyond_ascii(escape)) {
        Some(escape) => Err(UrlError::Escape { escape }),
        None => Ok(()),
    }
}

fn check_escapes(text: &str) -> Result<(), UrlError> {
    let is_escape = |escape: &str| {
        escape
            .chars()
            .skip(1)
            .filter(char::is_ascii_hexdigit)
            .count()
            == 2
    };
    match escapes(text).find(|escape| !is_escape(escape)) {
        Some(escape) => Err(UrlError::Escape { escape }),
        None => Ok(()),
    }
}

/// Every `%` with the two characters that follow it.
fn escapes(text: &str) -> impl Iterator<Item = String> {
    let starts = text.match_indices('%').map(|(position, _)| position);
    starts.map(|start| {
        text.get(start..)
            .unwrap_or_default()
            .chars()
            .take(3)
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_fall_into_the_parts_that_go_sees() {
        for (text, expected) in [
            ("https://10.0.0.1:6443", "https 10.0.0.1:6443"),
            ("HTTPS://Host/path", "https Host"),
            ("https://h:6443?x=1", "https h:6443 ?x=1"),
            ("https://h#top", "https h #top"),
            ("https://user:secret@h", "https h @user"),
            ("https://[fe80::1%25en0]:1", "https [fe80::1%25en0]:1"),
            ("https://ü.example", "https ü.example"),
            ("host:6443", "host "),
            ("host", " "),
            ("//host/path", " host"),
            ("///path", " "),
            ("https://", "https "),
            ("", " "),
            ("https://h:", "https h:"),
            ("https://h?", "https h"),
            (
                "10.0.0.1:6443",
                "first path segment in URL cannot contain colon",
            ),
            (":80", "missing protocol scheme"),
            ("https://h:x", "invalid port \":x\" after host"),
            ("https://[::1", "missing ']' in host"),
            ("https://a b", "invalid character ' ' in host name"),
            ("https://h/%zz", "invalid URL escape \"%zz\""),
            ("https://h/%2", "invalid URL escape \"%2\""),
            ("https://%41", "invalid URL escape \"%41\""),
            ("https://u^@h", "invalid userinfo"),
            ("https://h\n", "invalid control character in URL"),
        ] {
            let found = match Url::parse(text) {
                Err(error) => error.to_string(),
                Ok(url) => {
                    let mut shown = format!("{} {}", url.scheme, url.host);
                    for (mark, part) in [
                        ("@", url.user.as_deref()),
                        ("?", Some(&*url.query)),
                        ("#", Some(&*url.fragment)),
                    ] {
                        if let Some(part) = part.filter(|part| !part.is_empty()) {
                            shown.push_str(&format!(" {mark}{part}"));
                        }
                    }
                    shown
                }
            };
            assert_eq!(found, expected, "{text:?}");
        }
    }
}
