//! Warnings beside an answer: `Warning` headers, as clients print them.

use http::header::WARNING;
use http::{HeaderValue, Response};

use crate::body::Body;

/// The longest all warnings of an answer are together, in characters. Upstream: beyond that each is cut.
const LONGEST_TOGETHER: usize = 4 * 1024;
/// How much of each is left then.
const LONGEST_CUT: usize = 256;

/// Adds warnings to an answer, each text once.
pub(crate) fn warn(response: &mut Response<Body>, warnings: &[String]) {
    let headers = response.headers_mut();
    for header in shown(warnings) {
        let mut there = headers.get_all(WARNING).iter();
        if !there.any(|there| *there == header) {
            headers.append(WARNING, header);
        }
    }
}

fn shown(warnings: &[String]) -> Vec<HeaderValue> {
    let together: usize = warnings.iter().map(|text| text.chars().count()).sum();
    let is_cut = together > LONGEST_TOGETHER;
    let mut room = LONGEST_TOGETHER;
    let mut shown = Vec::new();
    for text in warnings {
        let text = match text.char_indices().nth(LONGEST_CUT) {
            Some((end, _)) if is_cut => text.get(..end).unwrap_or_default(),
            _ => text,
        };
        // Upstream: what has control characters is not told at all; it could not be told apart from other headers.
        if room == 0 || text.is_empty() || text.contains(char::is_control) {
            continue;
        }
        let quoted = text.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(header) = HeaderValue::from_bytes(format!("299 - \"{quoted}\"").as_bytes()) {
            room = room.saturating_sub(text.chars().count());
            shown.push(header);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(warnings: &[&str]) -> Vec<String> {
        let warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
        let mut response = Response::new(Body::Whole(bytes::Bytes::new()));
        warn(&mut response, &warnings);
        let headers = response.headers().get_all(WARNING);
        let texts = headers
            .iter()
            .map(|header| String::from_utf8_lossy(header.as_bytes()).into_owned());
        texts.collect()
    }

    #[test]
    fn warnings_are_quoted_and_told_once_in_any_language() {
        assert_eq!(
            check(&["say \"no\" \\", "", "vergiß", "line\nbreak", "vergiß"]),
            [r#"299 - "say \"no\" \\""#, r#"299 - "vergiß""#]
        );
    }

    #[test]
    fn long_warnings_are_cut_once_they_are_too_long_together() {
        let long = "é".repeat(3000);
        assert_eq!(check(&[&long]), [format!("299 - \"{long}\"")]);
        let cut = |text: &str| format!("299 - \"{}\"", text.repeat(256));
        assert_eq!(check(&[&long, &"x".repeat(2000)]), [cut("é"), cut("x")]);
        let many: Vec<String> = (0..100)
            .map(|n| format!("{n:03}{}", "y".repeat(300)))
            .collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(check(&many).len(), 16);
    }
}
