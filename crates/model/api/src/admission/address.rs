//! Where load balancers can be reached.

use std::net::{IpAddr, Ipv4Addr};

use object::{
    field::{FieldError, FieldPath},
    names,
};

use super::problems;

/// Whether a text is an IP address. Leading zeros in IPv4 are forgiven: old objects have them.
pub(super) fn is_ip(text: &str) -> bool {
    text.parse::<IpAddr>().is_ok() || is_sloppy_ipv4(text)
}

/// Checks the points of entry in `status.loadBalancer.ingress`, each given as address and host name.
pub(super) fn check_points_of_entry<'a>(
    points: impl Iterator<Item = (&'a str, &'a str)>,
) -> Vec<FieldError> {
    let list = FieldPath::from("status.loadBalancer.ingress");
    let mut errors = Vec::new();
    for (position, (ip, hostname)) in points.enumerate() {
        let path = list.index(position);
        if !ip.is_empty() && !is_ip(ip) {
            errors.push(FieldError::invalid(
                path.child("ip"),
                ip,
                "must be a valid IP address",
            ));
        }
        if hostname.is_empty() {
            continue;
        }
        let path = path.child("hostname");
        errors.extend(problems::each(
            &path,
            hostname,
            names::check_dns1123_subdomain(hostname),
        ));
        if is_ip(hostname) {
            errors.push(FieldError::invalid(path, hostname, NOT_AN_IP));
        }
    }
    errors
}

/// The text for an address where a name is wanted.
pub(super) const NOT_AN_IP: &str = "must be a DNS name, not an IP address";

fn is_sloppy_ipv4(text: &str) -> bool {
    let mut parts = text.split('.');
    let mut octet = || {
        let part = parts.next()?;
        let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        digits
            .then(|| part.trim_start_matches('0'))
            .map(|part| if part.is_empty() { "0" } else { part })?
            .parse::<u8>()
            .ok()
    };
    let address = (|| Some(Ipv4Addr::new(octet()?, octet()?, octet()?, octet()?)))();
    address.is_some() && parts.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_from_names() {
        for (text, expected) in [
            ("10.0.0.1", true),
            ("010.000.0.01", true),
            ("::1", true),
            ("::ffff:10.0.0.1", true),
            ("10.0.0", false),
            ("10.0.0.0.1", false),
            ("10.0.0.256", false),
            ("10.0.0.", false),
            ("fe80::1%eth0", false),
            ("example.com", false),
            ("", false),
        ] {
            assert_eq!(is_ip(text), expected, "{text:?}");
        }
    }
}
