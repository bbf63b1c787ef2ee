//! Checks of single values that several kinds share. Each returns what is wrong, in the words clients know.

use std::net::IpAddr;

use object::names;

use super::spot::{Errors, Spot};

pub(super) const NOT_NEGATIVE: &str = "must be greater than or equal to 0";
pub(super) const IMMUTABLE: &str = "field is immutable";

/// A name with a prefix of its own for objects: a trailing dash is left for the generated part.
pub(super) fn mask_trailing_dash(prefix: &str) -> String {
    match prefix.strip_suffix('-') {
        Some(stem) if !stem.is_empty() => {
            let mut masked: String = stem.to_owned();
            masked.pop();
            masked.push('a');
            masked
        }
        _ => prefix.to_owned(),
    }
}

/// A number from zero up.
pub(super) fn not_negative(spot: &Spot<'_>, errors: &mut Errors) {
    if spot.number().is_some_and(|number| number < 0) {
        errors.push(spot.invalid(NOT_NEGATIVE));
    }
}

/// A number within bounds.
pub(super) fn in_range(spot: &Spot<'_>, low: i64, high: i64, errors: &mut Errors) {
    if spot
        .number()
        .is_some_and(|number| !(low..=high).contains(&number))
    {
        errors.push(spot.invalid(format!("must be between {low} and {high}, inclusive")));
    }
}

/// The number of a port.
pub(super) fn port_number(spot: &Spot<'_>, errors: &mut Errors) {
    in_range(spot, 1, 65535, errors);
}

/// A port by number or name.
pub(super) fn port(spot: &Spot<'_>, errors: &mut Errors) {
    if spot.value.is_string() {
        spot.complain(port_name(spot.text()), errors);
    } else {
        port_number(spot, errors);
    }
}

/// The name of a port.
pub(super) fn port_name(name: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let known = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.len() > 15 {
        problems.push("must be no more than 15 characters".to_owned());
    }
    if !name.chars().all(known) {
        problems.push(
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned(),
        );
    }
    if !name.contains(|c: char| c.is_ascii_lowercase()) {
        problems.push("must contain at least one letter (a-z)".to_owned());
    }
    if name.contains("--") {
        problems.push("must not contain consecutive hyphens".to_owned());
    }
    if name.starts_with('-') || name.ends_with('-') {
        problems.push("must not begin or end with a hyphen".to_owned());
    }
    problems
}

/// A key of a config map or secret, which becomes a file name.
pub(super) fn config_key(key: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if key.len() > names::SUBDOMAIN_LENGTH {
        problems.push(format!(
            "must be no more than {} characters",
            names::SUBDOMAIN_LENGTH
        ));
    }
    let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if key.is_empty() || !key.chars().all(known) {
        problems.push(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or \
             'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
                .to_owned(),
        );
    }
    match key {
        "." => problems.push("must not be '.'".to_owned()),
        ".." => problems.push("must not be '..'".to_owned()),
        _ if key.starts_with("..") => problems.push("must not start with '..'".to_owned()),
        _ => {}
    }
    problems
}

/// The name of an environment variable.
pub(super) fn variable_name(name: &str) -> Vec<String> {
    if name.chars().all(|c| (' '..='~').contains(&c) && c != '=') {
        return Vec::new();
    }
    vec!["a valid environment variable name must consist only of printable ASCII characters other than '='".to_owned()]
}

/// A count or a percentage, and its plain number; anything else counts as zero.
pub(super) fn count_or_percent(spot: &Spot<'_>, errors: &mut Errors) -> i64 {
    if let Some(number) = spot.number() {
        not_negative(spot, errors);
        return number;
    }
    let digits = spot
        .text()
        .strip_suffix('%')
        .filter(|digits| !digits.is_empty());
    match digits.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit())) {
        Some(digits) => digits.parse().unwrap_or(i64::MAX),
        None if spot.is_set() => {
            errors.push(spot.invalid(
                "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex \
                 used for validation is '[0-9]+%')",
            ));
            0
        }
        None => 0,
    }
}

/// A share of no more than everything.
pub(super) fn at_most_all(spot: &Spot<'_>, errors: &mut Errors) {
    let percent = spot
        .text()
        .strip_suffix('%')
        .and_then(|digits| digits.parse::<i64>().ok());
    if percent.is_some_and(|percent| percent > 100) {
        errors.push(spot.invalid("must not be greater than 100%"));
    }
}

/// An address and how many of its bits are the network's.
pub(super) fn network(text: &str) -> Option<(IpAddr, u8)> {
    let (address, bits) = text.split_once('/')?;
    let address: IpAddr = address.parse().ok()?;
    let plain = !bits.is_empty() && bits.bytes().all(|byte| byte.is_ascii_digit());
    let bits: u8 = bits.parse().ok().filter(|_| plain)?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    (bits <= most).then_some((address, bits))
}

/// A network such as `10.0.0.0/8`.
pub(super) fn cidr(spot: &Spot<'_>, errors: &mut Errors) {
    if network(spot.text()).is_none() {
        errors
            .push(spot.invalid("must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"));
    }
}

/// An IP address.
pub(super) fn ip_address(spot: &Spot<'_>, errors: &mut Errors) {
    if spot.text().parse::<IpAddr>().is_err() {
        errors.push(spot.invalid("must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"));
    }
}

/// A host name with `*` for its first part.
pub(super) fn wildcard_subdomain(text: &str) -> Vec<String> {
    let rest = text.strip_prefix("*.");
    if rest.is_some_and(|rest| names::check_dns1123_subdomain(rest).is_empty()) {
        return Vec::new();
    }
    vec![
        "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of \
         lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', \
         regex used for validation is '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
            .to_owned(),
    ]
}
