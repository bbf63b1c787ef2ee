//! The named string formats Kubernetes checks.
//!
//! A format it does not know is ignored, so that schemas may use `format` as documentation.

use std::net::Ipv6Addr;

use super::addresses::{is_cidr, is_email, is_hostname, is_mac, is_request_uri, parse_ip};

/// Whether `text` has the format called `name`; `None` if there is no such format.
pub(super) fn is_valid(name: &str, text: &str) -> Option<bool> {
    // Upstream: dashes in format names mean nothing.
    let plain: String = name.chars().filter(|c| *c != '-').collect();
    Some(match plain.as_str() {
        "bsonobjectid" => text.len() == 24 && text.bytes().all(|b| b.is_ascii_hexdigit()),
        "uri" => is_request_uri(text),
        "email" => is_email(text),
        "hostname" => is_hostname(text),
        "ipv4" => text.contains('.') && parse_ip(text),
        "ipv6" => text.contains(':') && text.parse::<Ipv6Addr>().is_ok(),
        "cidr" => is_cidr(text),
        "mac" => is_mac(text),
        "uuid" => is_uuid(text, None),
        "uuid3" => is_uuid(text, Some('3')),
        "uuid4" => is_uuid(text, Some('4')),
        "uuid5" => is_uuid(text, Some('5')),
        "isbn" => is_isbn10(text) || is_isbn13(text),
        "isbn10" => is_isbn10(text),
        "isbn13" => is_isbn13(text),
        "creditcard" => is_credit_card(text),
        "ssn" => is_ssn(text),
        "hexcolor" => {
            let digits = text.strip_prefix('#').unwrap_or(text);
            matches!(digits.len(), 3 | 6) && digits.bytes().all(|b| b.is_ascii_hexdigit())
        }
        "rgbcolor" => is_rgb_color(text),
        "byte" => is_base64(text),
        "password" => true,
        "date" => is_date(text),
        "duration" => is_go_duration(text) || is_worded_duration(text),
        "datetime" => is_date_time(text),
        "k8sshortname" => text.len() <= 63 && is_dns_label(text),
        "k8slongname" => text.len() <= 253 && text.split('.').all(is_dns_label),
        _ => return None,
    })
}

fn is_uuid(text: &str, version: Option<char>) -> bool {
    let mut rest = text;
    for (place, width) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if place > 0 {
            rest = rest.strip_prefix('-').unwrap_or(rest);
        }
        let Some((group, after)) = rest.split_at_checked(width) else {
            return false;
        };
        let fits = match (place, version) {
            (2, Some(version)) => group.starts_with(version),
            (3, Some('4' | '5')) => group.starts_with(['8', '9', 'a', 'b', 'A', 'B']),
            _ => true,
        };
        if !fits || !group.bytes().all(|b| b.is_ascii_hexdigit()) {
            return false;
        }
        rest = after;
    }
    rest.is_empty()
}

fn without_spaces_and_dashes(text: &str) -> Vec<u8> {
    text.bytes()
        .filter(|b| !matches!(b, b'-' | b' ' | b'\t' | b'\n' | b'\r' | 0x0C))
        .collect()
}

fn digit(b: u8) -> u32 {
    u32::from(b.wrapping_sub(b'0'))
}

fn is_isbn10(text: &str) -> bool {
    let characters = without_spaces_and_dashes(text);
    let [digits @ .., last] = characters.as_slice() else {
        return false;
    };
    if digits.len() != 9
        || !digits.iter().all(u8::is_ascii_digit)
        || !(last.is_ascii_digit() || *last == b'X')
    {
        return false;
    }
    let check = if *last == b'X' { 10 } else { digit(*last) };
    let sum: u32 = digits
        .iter()
        .zip(1..)
        .map(|(b, weight)| digit(*b) * weight)
        .sum();
    (sum + 10 * check).is_multiple_of(11)
}

fn is_isbn13(text: &str) -> bool {
    let digits = without_spaces_and_dashes(text);
    if digits.len() != 13 || !digits.iter().all(u8::is_ascii_digit) {
        return false;
    }
    let sum: u32 = digits
        .iter()
        .enumerate()
        .map(|(place, b)| digit(*b) * if place % 2 == 0 { 1 } else { 3 })
        .sum();
    sum.is_multiple_of(10)
}

fn is_credit_card(text: &str) -> bool {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_digit).collect();
    let starts = |prefixes: &[&[u8]]| prefixes.iter().any(|prefix| digits.starts_with(prefix));
    let known = match digits.len() {
        13 => starts(&[b"4"]),
        14 => starts(&[b"300", b"301", b"302", b"303", b"304", b"305", b"36", b"38"]),
        15 => starts(&[b"34", b"37", b"2131", b"1800"]),
        16 => starts(&[
            b"4", b"51", b"52", b"53", b"54", b"55", b"6011", b"65", b"35",
        ]),
        _ => false,
    };
    let sum: u32 = (digits.iter().rev().enumerate())
        .map(|(place, b)| match (digit(*b), place % 2) {
            (digit, 0) => digit,
            (digit, _) if digit > 4 => digit * 2 - 9,
            (digit, _) => digit * 2,
        })
        .sum();
    known && sum.is_multiple_of(10)
}

fn is_ssn(text: &str) -> bool {
    // Upstream: both separators must be there, although the pattern allows none.
    let bytes = text.as_bytes();
    bytes.len() == 11
        && bytes.iter().enumerate().all(|(place, b)| match place {
            3 | 6 => matches!(b, b'-' | b' '),
            _ => b.is_ascii_digit(),
        })
}

fn is_rgb_color(text: &str) -> bool {
    let Some(inner) = text
        .strip_prefix("rgb(")
        .and_then(|rest| rest.strip_suffix(')'))
    else {
        return false;
    };
    let parts: Vec<&str> = inner
        .split(',')
        .map(|part| part.trim_matches([' ', '\t', '\n', '\r', '\x0C']))
        .collect();
    let channel = |part: &&str| {
        let plain =
            part.bytes().all(|b| b.is_ascii_digit()) && (*part == "0" || !part.starts_with('0'));
        plain && part.parse::<u8>().is_ok()
    };
    parts.len() == 3 && parts.iter().all(channel)
}

fn is_base64(text: &str) -> bool {
    let body = text
        .strip_suffix("==")
        .or_else(|| text.strip_suffix('='))
        .unwrap_or(text);
    // Upstream: the empty string is not base64.
    !body.is_empty()
        && text.len().is_multiple_of(4)
        && body
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'+' || b == b'/')
}

fn is_date(text: &str) -> bool {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = text.as_bytes() else {
        return false;
    };
    let number = |digits: &[u8]| -> Option<i16> {
        digits.iter().try_fold(0, |sum, b| {
            b.is_ascii_digit().then(|| sum * 10 + i16::from(b - b'0'))
        })
    };
    let parts = (
        number(&[*y1, *y2, *y3, *y4]),
        number(&[*m1, *m2]),
        number(&[*d1, *d2]),
    );
    let (Some(year), Some(month), Some(day)) = parts else {
        return false;
    };
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return false,
    };
    (1..=days).contains(&day)
}

fn is_date_time(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else {
        return false;
    };
    is_date(date) && is_clock_time(time).unwrap_or(false)
}

/// `15:04:05`, an optional fraction, and a zone.
fn is_clock_time(text: &str) -> Option<bool> {
    let two = |from: usize| {
        text.get(from..from + 2)
            .filter(|part| part.bytes().all(|b| b.is_ascii_digit()))
    };
    let (hour, minute, second) = (two(0)?, two(3)?, two(6)?);
    if text.get(2..3)? != ":" || text.get(5..6)? != ":" {
        return Some(false);
    }
    let rest = text.get(8..)?;
    let zone = match rest.strip_suffix('z') {
        Some(fraction) => fraction,
        None => {
            let (fraction, zone) = rest.split_at_checked(rest.len().checked_sub(6)?)?;
            let [b'+' | b'-', h1, h2, b':', m1, m2] = zone.as_bytes() else {
                return Some(false);
            };
            if ![h1, h2, m1, m2].into_iter().all(u8::is_ascii_digit) {
                return Some(false);
            }
            fraction
        }
    };
    // Upstream: any character may separate the fraction.
    let mut fraction = zone.chars();
    let fits = match fraction.next() {
        None => true,
        Some(_) => {
            !fraction.as_str().is_empty() && fraction.as_str().bytes().all(|b| b.is_ascii_digit())
        }
    };
    Some(fits && hour <= "23" && minute <= "59" && second <= "59")
}

/// `1h30m`, `-1.5h`, `0`.
fn is_go_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    if rest.is_empty() {
        return false;
    }
    let mut total = 0f64;
    while !rest.is_empty() {
        let end = rest
            .find(|c: char| c != '.' && !c.is_ascii_digit())
            .unwrap_or(rest.len());
        let (number, after) = rest.split_at(end);
        let Ok(number) = number.parse::<f64>() else {
            return false;
        };
        let end = after
            .find(|c: char| c == '.' || c.is_ascii_digit())
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        let factor = match unit {
            "ns" => 1.0,
            "us" | "µs" | "μs" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            "m" => 60e9,
            "h" => 3600e9,
            _ => return false,
        };
        total += number * factor;
        rest = after;
    }
    // A duration is a 64-bit count of nanoseconds.
    total < 9.223_372_036_854_775e18
}

/// `2 weeks 3 days`: any number followed by a word for a unit will do.
fn is_worded_duration(text: &str) -> bool {
    const EXACT: [&str; 15] = [
        "ns", "nano", "us", "µs", "micro", "ms", "milli", "s", "sec", "m", "min", "h", "hr", "d",
        "w",
    ];
    const PREFIXES: [&str; 8] = [
        "nano", "micro", "milli", "sec", "min", "hour", "day", "week",
    ];
    let mut rest = text;
    let mut found = false;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        rest = &rest[start..];
        let end = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        let (number, after) = rest.split_at(end);
        let after = after.trim_start_matches([' ', '\t', '\n', '\r', '\x0C']);
        let end = after
            .find(|c: char| !c.is_ascii_alphabetic() && c != 'µ')
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        rest = after;
        if unit.is_empty() {
            continue;
        }
        if number.parse::<i64>().is_err() {
            return false;
        }
        let unit = unit.to_lowercase();
        found |= unit == "wk"
            || EXACT.contains(&unit.as_str())
            || PREFIXES.iter().any(|word| unit.starts_with(word));
    }
    found
}

fn is_dns_label(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.starts_with(plain) && text.ends_with(plain) && text.chars().all(|c| c == '-' || plain(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_accept_and_refuse_what_kubernetes_does() {
        let cases: &[(&str, &[&str], &[&str])] = &[
            (
                "date-time",
                &["2024-02-29T23:59:59Z", "2024-01-01t00:00:00.5+02:00"],
                &[
                    "2023-02-29T00:00:00Z",
                    "2024-01-01 00:00:00Z",
                    "2024-01-01T24:00:00Z",
                    "2024-01-01T00:00:00",
                    "",
                ],
            ),
            ("date", &["2024-02-29"], &["2023-02-29", "2024-2-9", "x"]),
            ("byte", &["YQ==", "YWI=", "YWJj"], &["", "YQ=", "Y-=="]),
            (
                "uuid",
                &[
                    "123e4567-e89b-12d3-a456-426614174000",
                    "123E4567e89b12d3a456426614174000",
                ],
                &["123e4567", "g23e4567-e89b-12d3-a456-426614174000"],
            ),
            (
                "uuid4",
                &["123e4567-e89b-42d3-a456-426614174000"],
                &[
                    "123e4567-e89b-12d3-a456-426614174000",
                    "123e4567-e89b-42d3-c456-426614174000",
                ],
            ),
            (
                "ipv4",
                &["1.2.3.4", "010.0.0.1", "::ffff:1.2.3.4"],
                &["1.2.3", "256.1.1.1", "::1"],
            ),
            (
                "ipv6",
                &["::1", "fe80::1"],
                &["1.2.3.4", "fe80::1%eth0", ":::1"],
            ),
            (
                "cidr",
                &["10.0.0.0/8", "::/0"],
                &["10.0.0.0", "10.0.0.0/33", "10.0.0.0/+8"],
            ),
            (
                "mac",
                &[
                    "00:00:5e:00:53:01",
                    "0000.5e00.5301",
                    "02-00-5e-10-00-00-00-01",
                ],
                &["00:00:5e:00:53", "00:00:5e:00:53:0g"],
            ),
            (
                "hostname",
                &["a", "a.bc", "a-b.example.com", "1.co"],
                &["", "-a", "a-.com", "a.b1", "a b", "a..bc"],
            ),
            (
                "uri",
                &[
                    "http://a/b?c=d",
                    "/a/b",
                    "mailto:a@b",
                    "*",
                    "https://[::1]:8080/",
                ],
                &[
                    "",
                    "a/b",
                    "://x",
                    "http://a b/",
                    "http://a/%zz",
                    "http://a:x/",
                ],
            ),
            (
                "email",
                &["a@b.c", "A B <a.b@c.d>", "\"a b\"@c"],
                &["a", "@b", "a@", "a..b@c", "a b@c"],
            ),
            (
                "duration",
                &["1h30m", "-1.5h", "0", "22 ns", "3 days", "2 Weeks"],
                &["", "1", "1x", "h"],
            ),
            (
                "isbn10",
                &["0-321-75104-3", "080442957X"],
                &["0-321-75104-4", "1"],
            ),
            ("isbn13", &["978-0321751041"], &["978-0321751042"]),
            ("isbn", &["0321751043", "9780321751041"], &["123"]),
            (
                "creditcard",
                &["4111 1111 1111 1111"],
                &["4111 1111 1111 1112", "1234"],
            ),
            ("ssn", &["111-22-3333"], &["111223333", "11-222-3333"]),
            ("hexcolor", &["#FFF", "a1b2c3"], &["#FFFF", "#GGG"]),
            (
                "rgbcolor",
                &["rgb(0, 255,10)"],
                &["rgb(256,0,0)", "rgb(01,0,0)", "rgb(0,0)"],
            ),
            ("bsonobjectid", &["507f1f77bcf86cd799439011"], &["507f"]),
            ("k8s-short-name", &["a-1"], &["-a", "A", "a.b", ""]),
            ("k8s-long-name", &["a.b-c"], &["a..b", "A"]),
            ("password", &["anything"], &[]),
        ];
        for (format, valid, invalid) in cases {
            for text in *valid {
                assert_eq!(is_valid(format, text), Some(true), "{format} {text:?}");
            }
            for text in *invalid {
                assert_eq!(is_valid(format, text), Some(false), "{format} {text:?}");
            }
        }
        assert_eq!(is_valid("made-up", "x"), None);
    }
}
