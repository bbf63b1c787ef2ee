//! What keys on a terminal come to: lines with their corrections, and the keys that interrupt and end.
//!
//! A client with a terminal sends every key as it is and shows nothing by itself: both are up to this side.

use std::collections::VecDeque;

const INTERRUPT: u8 = 0x03;
const END: u8 = 0x04;
/// The keys that end what runs, or what it reads.
pub(super) const ENDING: [u8; 2] = [INTERRUPT, END];
/// What terminals send for the key that takes a character back.
const BACK: [u8; 2] = [0x08, 0x7f];

/// What was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Typed {
    /// A line, without its end.
    Line(String),
    /// Ctrl-C; what was typed of the line is dropped.
    Interrupt,
    /// Ctrl-D at the beginning of a line, or there is no more.
    End,
}

/// Keys that are not a whole line yet.
#[derive(Debug, Default)]
pub(super) struct Keyboard {
    is_terminal: bool,
    ahead: VecDeque<u8>,
    line: Vec<u8>,
}

impl Keyboard {
    /// Without a terminal there are only lines: every other byte is a part of them.
    pub(super) fn new(is_terminal: bool) -> Self {
        Self {
            is_terminal,
            ..Self::default()
        }
    }

    pub(super) fn press(&mut self, keys: &[u8]) {
        self.ahead.extend(keys);
    }

    /// What the keys so far come to, if anything, and what a terminal shows of those that were looked at.
    pub(super) fn next(&mut self) -> (Option<Typed>, Vec<u8>) {
        let mut shown = Vec::new();
        while let Some(key) = self.ahead.pop_front() {
            match key {
                b'\n' | b'\r' => {
                    shown.extend(b"\r\n");
                    return (Some(Typed::Line(self.take())), shown);
                }
                INTERRUPT if self.is_terminal => {
                    self.line.clear();
                    shown.extend(b"^C\r\n");
                    return (Some(Typed::Interrupt), shown);
                }
                END if self.is_terminal => {
                    if self.line.is_empty() {
                        shown.extend(b"\r\n");
                        return (Some(Typed::End), shown);
                    }
                }
                key if self.is_terminal && BACK.contains(&key) => {
                    if self.take_back() {
                        shown.extend(b"\x08 \x08");
                    }
                }
                key => {
                    self.line.push(key);
                    shown.push(key);
                }
            }
        }
        (None, shown)
    }

    /// There are no more keys: a line that was begun ends here.
    pub(super) fn close(&mut self) -> Typed {
        match self.line.is_empty() {
            true => Typed::End,
            false => Typed::Line(self.take()),
        }
    }

    fn take(&mut self) -> String {
        let line = std::mem::take(&mut self.line);
        String::from_utf8_lossy(&line).into_owned()
    }

    /// Drops the last character, which may be of several bytes. `false` if there is none.
    fn take_back(&mut self) -> bool {
        let is_first = |byte: &u8| byte & 0b1100_0000 != 0b1000_0000;
        let last = self.line.iter().rposition(is_first);
        if let Some(last) = last {
            self.line.truncate(last);
        }
        last.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(is_terminal: bool, pieces: &[&str]) -> (Vec<String>, String) {
        let mut keyboard = Keyboard::new(is_terminal);
        let (mut all, mut shown) = (Vec::new(), Vec::new());
        for piece in pieces {
            keyboard.press(piece.as_bytes());
            loop {
                let (one, seen) = keyboard.next();
                shown.extend(seen);
                let Some(one) = one else { break };
                all.push(match one {
                    Typed::Line(line) => line,
                    other => format!("{other:?}"),
                });
            }
        }
        (all, String::from_utf8(shown).unwrap())
    }

    #[test]
    fn keys_on_a_terminal_mean_more_than_their_bytes() {
        for (pieces, expected, shown) in [
            (vec!["l", "s\r"], vec!["ls"], "ls\r\n"),
            (vec!["lx\x7fs\r"], vec!["ls"], "lx\x08 \x08s\r\n"),
            (vec!["\x7fé\x08e\r"], vec!["e"], "é\x08 \x08e\r\n"),
            (vec!["ls", "\x03"], vec!["Interrupt"], "ls^C\r\n"),
            (vec!["a\x03b\r"], vec!["Interrupt", "b"], "a^C\r\nb\r\n"),
            (vec!["\x04"], vec!["End"], "\r\n"),
            (vec!["a\x04b\r\x04"], vec!["ab", "End"], "ab\r\n\r\n"),
        ] {
            let expected: Vec<String> = expected.into_iter().map(str::to_owned).collect();
            assert_eq!(
                typed(true, &pieces),
                (expected, shown.to_owned()),
                "{pieces:?}"
            );
        }
    }

    #[test]
    fn without_a_terminal_there_are_only_lines() {
        let (lines, _) = typed(false, &["a\x03\x04\x7f\nb"]);
        assert_eq!(lines, ["a\x03\x04\x7f"]);
    }
}
