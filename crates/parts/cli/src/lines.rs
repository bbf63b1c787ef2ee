//! The lines of a body that comes piece by piece: watches and logs.

use std::collections::VecDeque;

use client::{AnswerBody, BoxError};
use http_body_util::BodyExt as _;

/// A line is cut here if it does not end: nobody reads further, and memory is finite.
const LONGEST: usize = 16 << 20;

/// Lines as they come.
pub(crate) struct Lines {
    body: AnswerBody,
    cutter: Cutter,
    is_over: bool,
}

#[derive(Default)]
struct Cutter {
    held: Vec<u8>,
    ready: VecDeque<Vec<u8>>,
}

impl Lines {
    pub(crate) fn new(body: AnswerBody) -> Self {
        Self {
            body,
            cutter: Cutter::default(),
            is_over: false,
        }
    }

    /// The next line without its end; the last one may have none. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> Option<Result<Vec<u8>, BoxError>> {
        loop {
            if let Some(line) = self.cutter.ready.pop_front() {
                return Some(Ok(line));
            }
            if self.is_over {
                return None;
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Ok(bytes) = frame.into_data() {
                        self.cutter.push(&bytes);
                    }
                }
                Some(Err(error)) => {
                    self.is_over = true;
                    return Some(Err(error));
                }
                None => {
                    self.is_over = true;
                    self.cutter.finish();
                }
            }
        }
    }
}

impl Cutter {
    fn push(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, behind) = rest.split_at(end);
            self.held.extend_from_slice(line);
            self.ready.push_back(std::mem::take(&mut self.held));
            rest = behind.get(1..).unwrap_or_default();
        }
        self.held.extend_from_slice(rest);
        if self.held.len() > LONGEST {
            self.finish();
        }
    }

    fn finish(&mut self) {
        if !self.held.is_empty() {
            self.ready.push_back(std::mem::take(&mut self.held));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_wherever_the_pieces_end() {
        for pieces in [
            vec!["a\nbc\n\nd"],
            vec!["a", "\nb", "c\n", "\nd"],
            vec!["a\n", "bc\n\n", "", "d"],
        ] {
            let mut cutter = Cutter::default();
            for piece in &pieces {
                cutter.push(piece.as_bytes());
            }
            cutter.finish();
            let lines: Vec<Vec<u8>> = cutter.ready.into_iter().collect();
            assert_eq!(lines, [&b"a"[..], b"bc", b"", b"d"], "{pieces:?}");
        }
    }
}
