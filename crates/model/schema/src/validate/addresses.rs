//! The named formats of addresses: of hosts, networks, resources and people.

use std::{
    net::{Ipv4Addr, Ipv6Addr},
    sync::LazyLock,
};

use regex::Regex;

/// Letters and symbols of any script.
static LETTER_OR_SYMBOL: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^[\p{L}\p{S}]$").ok());
static LETTER: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^\p{L}$").ok());

fn is_in(class: &LazyLock<Option<Regex>>, c: char) -> bool {
    let mut buffer = [0; 4];
    class
        .as_ref()
        .is_some_and(|class| class.is_match(c.encode_utf8(&mut buffer)))
}

pub(super) fn is_hostname(text: &str) -> bool {
    if text.is_empty() || text.len() > 255 || text.split('.').any(|label| label.len() > 63) {
        return false;
    }
    let plain = |c: char| {
        c.is_ascii_alphanumeric()
            || (!c.is_ascii() && is_in(&LETTER_OR_SYMBOL, c))
            || is_ascii_symbol(c)
    };
    let letter = |c: char| c.is_ascii_alphabetic() || (!c.is_ascii() && is_in(&LETTER, c));
    let Some((labels, top)) = text.rsplit_once('.') else {
        // A lone label may have a dash after its first character only.
        let rest = &text[text.chars().next().map_or(0, char::len_utf8)..];
        let rest = rest.strip_prefix('-').unwrap_or(rest);
        return text.starts_with(plain) && rest.chars().all(plain);
    };
    let is_label = |label: &str| {
        label.starts_with(plain)
            && label.ends_with(plain)
            && label.chars().all(|c| c == '-' || plain(c))
    };
    labels.split('.').all(is_label) && top.chars().count() >= 2 && top.chars().all(letter)
}

/// The ASCII characters of Unicode's symbol categories.
fn is_ascii_symbol(c: char) -> bool {
    matches!(c, '$' | '+' | '<' | '=' | '>' | '^' | '`' | '|' | '~')
}

/// An address; leading zeros in the parts of a dotted one are tolerated.
pub(super) fn parse_ip(text: &str) -> bool {
    if text.contains(':') {
        return text.parse::<Ipv6Addr>().is_ok();
    }
    let parts: Vec<&str> = text.split('.').collect();
    let part = |part: &&str| {
        let digits = part.trim_start_matches('0');
        !part.is_empty()
            && part.bytes().all(|b| b.is_ascii_digit())
            && (digits.is_empty() || digits.parse::<u8>().is_ok())
    };
    parts.len() == 4 && parts.iter().all(part)
}

pub(super) fn is_cidr(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else {
        return false;
    };
    let limit = if address.contains(':') {
        128
    } else {
        Ipv4Addr::BITS
    };
    let plain =
        !length.is_empty() && length.len() <= 3 && length.bytes().all(|b| b.is_ascii_digit());
    parse_ip(address) && plain && length.parse::<u32>().is_ok_and(|length| length <= limit)
}

pub(super) fn is_mac(text: &str) -> bool {
    let is_hex = |part: &str, width: usize| {
        part.len() == width && part.bytes().all(|b| b.is_ascii_hexdigit())
    };
    for (separator, width, counts) in [
        (':', 2, [6, 8, 20]),
        ('-', 2, [6, 8, 20]),
        ('.', 4, [3, 4, 10]),
    ] {
        let parts: Vec<&str> = text.split(separator).collect();
        if counts.contains(&parts.len()) {
            return parts.iter().all(|part| is_hex(part, width));
        }
    }
    false
}

/// An absolute URI or an absolute path, as in the first line of an HTTP request.
pub(super) fn is_request_uri(text: &str) -> bool {
    if text.is_empty() || text.bytes().any(|b| b < 0x20 || b == 0x7F) {
        return false;
    }
    if text == "*" {
        return true;
    }
    let (scheme, rest) = match text.split_once(':') {
        Some((scheme, rest)) if is_scheme(scheme) => (scheme, rest),
        Some(("", _)) => return false,
        _ => ("", text),
    };
    let rest = rest.split_once('?').map_or(rest, |(path, _)| path);
    if !rest.starts_with('/') {
        return !scheme.is_empty();
    }
    let path = match rest.strip_prefix("//") {
        // Without a scheme, two slashes are a path only if there are three.
        Some(after) if !scheme.is_empty() || !rest.starts_with("///") => {
            let end = after.find('/').unwrap_or(after.len());
            let (authority, path) = after.split_at(end);
            if !is_authority(authority) {
                return false;
            }
            path
        }
        _ => rest,
    };
    has_valid_escapes(path)
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
}

fn is_authority(text: &str) -> bool {
    let (user, host) = text
        .rsplit_once('@')
        .map_or(("", text), |(user, host)| (user, host));
    let plain_user = |b: u8| b.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&b);
    if !user.bytes().all(plain_user) || !has_valid_escapes(user) {
        return false;
    }
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((name, port)) => (name, port),
            None => return false,
        },
        None => host.split_at(host.rfind(':').unwrap_or(host.len())),
    };
    let is_port =
        port.is_empty() || (port.starts_with(':') && port[1..].bytes().all(|b| b.is_ascii_digit()));
    let plain = |b: u8| {
        !b.is_ascii() || b.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:[]<>\"%".contains(&b)
    };
    is_port && name.bytes().all(plain) && has_valid_escapes(name)
}

fn has_valid_escapes(text: &str) -> bool {
    text.split('%').skip(1).all(|after| {
        let mut digits = after.bytes();
        digits.next().is_some_and(|b| b.is_ascii_hexdigit())
            && digits.next().is_some_and(|b| b.is_ascii_hexdigit())
    })
}

/// `user@host`, with or without a display name: `Some One <user@host>`.
pub(super) fn is_email(text: &str) -> bool {
    let text = text.trim_matches([' ', '\t']);
    if let Some(open) = text.rfind('<')
        && text.ends_with('>')
    {
        let name = text[..open].trim_end();
        let quoted = name.len() >= 2 && name.starts_with('"') && name.ends_with('"');
        let worded = name
            .split(' ')
            .all(|word| word.chars().all(|c| is_atom_character(c) || c == '.'));
        return (quoted || worded) && is_address(&text[open + 1..text.len() - 1]);
    }
    is_address(text)
}

fn is_address(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else {
        return false;
    };
    let atoms = |text: &str| {
        text.split('.')
            .all(|atom| !atom.is_empty() && atom.chars().all(is_atom_character))
    };
    let inner = local
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    let quoted = inner.is_some_and(|inner| {
        !inner.contains('"') && !inner.contains('\\') && !inner.contains('\n')
    });
    let literal = domain.starts_with('[')
        && domain.ends_with(']')
        && parse_ip(domain.trim_matches(['[', ']']));
    (quoted || atoms(local)) && (literal || atoms(domain))
}

fn is_atom_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(c) || !c.is_ascii()
}
