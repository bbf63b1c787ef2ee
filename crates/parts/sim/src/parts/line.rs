//! A line typed into a shell, taken apart: words, and where what commands write goes.

use std::iter::Peekable;
use std::str::Chars;

/// One command of a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Command {
    pub(crate) joint: Joint,
    pub(crate) words: Vec<String>,
    /// What is sent elsewhere, in the order it is said.
    pub(crate) redirects: Vec<(Stream, Stream)>,
    /// What it writes is read by the next one.
    pub(crate) pipes: bool,
}

/// When a command is run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Joint {
    #[default]
    Always,
    /// If the one before it went well.
    Success,
    /// If the one before it did not.
    Failure,
    /// If the one before it was run, whose output it reads.
    Pipe,
}

/// Where something is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    Out,
    Error,
    Nowhere,
}

/// What is left of a line.
pub(crate) struct Line<'l> {
    chars: Peekable<Chars<'l>>,
    joint: Joint,
}

/// What a variable stands for.
pub(crate) type Variables<'v> = &'v dyn Fn(&str) -> String;

impl<'l> Line<'l> {
    pub(crate) fn new(text: &'l str) -> Self {
        Self {
            chars: text.chars().peekable(),
            joint: Joint::Always,
        }
    }

    /// The next command; `None` at the end. What variables stand for may change from one to the next.
    pub(crate) fn next(&mut self, variables: Variables<'_>) -> Option<Command> {
        self.chars.peek()?;
        let mut command = Command {
            joint: self.joint,
            ..Command::default()
        };
        self.joint = Joint::Always;
        let mut word: Option<String> = None;
        while let Some(letter) = self.chars.next() {
            match letter {
                ' ' | '\t' => command.words.extend(word.take()),
                ';' | '\n' => break,
                '#' if word.is_none() => {
                    while self.chars.next_if(|next| *next != '\n').is_some() {}
                }
                '&' if self.chars.next_if_eq(&'&').is_some() => {
                    self.joint = Joint::Success;
                    break;
                }
                '&' if self.chars.next_if_eq(&'>').is_some() => {
                    let to = self.sink(variables);
                    command
                        .redirects
                        .extend([(Stream::Out, to), (Stream::Error, to)]);
                }
                // What runs beside the others runs before them here.
                '&' => break,
                '|' if self.chars.next_if_eq(&'|').is_some() => {
                    self.joint = Joint::Failure;
                    break;
                }
                '|' => {
                    self.joint = Joint::Pipe;
                    command.pipes = true;
                    break;
                }
                '>' => {
                    let from = match word.as_deref() {
                        Some("2") => Stream::Error,
                        _ => Stream::Out,
                    };
                    if !matches!(word.as_deref(), Some("1" | "2")) {
                        command.words.extend(word.take());
                    }
                    word = None;
                    let to = self.sink(variables);
                    command.redirects.push((from, to));
                }
                '<' => {
                    self.sink(variables);
                }
                other => self.letter(other, word.get_or_insert_default(), variables),
            }
        }
        command.words.extend(word);
        Some(command)
    }

    /// What comes after `>`: another stream, or a file. Files that are no devices are not kept.
    fn sink(&mut self, variables: Variables<'_>) -> Stream {
        self.chars.next_if_eq(&'>');
        let is_stream = self.chars.next_if_eq(&'&').is_some();
        while self
            .chars
            .next_if(|next| matches!(next, ' ' | '\t'))
            .is_some()
        {}
        let mut name = String::new();
        while let Some(letter) = self.chars.next_if(|next| !" \t\n;|&<>".contains(*next)) {
            self.letter(letter, &mut name, variables);
        }
        match (is_stream, name.as_str()) {
            (true, "1") | (false, "/dev/stdout") => Stream::Out,
            (true, "2") | (false, "/dev/stderr") => Stream::Error,
            _ => Stream::Nowhere,
        }
    }

    /// A letter of a word, with everything that belongs to it.
    fn letter(&mut self, letter: char, word: &mut String, variables: Variables<'_>) {
        match letter {
            '\'' => word.extend(self.chars.by_ref().take_while(|next| *next != '\'')),
            '\\' => word.extend(self.chars.next()),
            '$' => self.variable(word, variables),
            '"' => {
                while let Some(letter) = self.chars.next().filter(|next| *next != '"') {
                    let next = self.chars.peek();
                    let is_escape =
                        letter == '\\' && next.is_some_and(|next| "\"\\$`".contains(*next));
                    match letter {
                        _ if is_escape => word.extend(self.chars.next()),
                        '$' => self.variable(word, variables),
                        other => word.push(other),
                    }
                }
            }
            other => word.push(other),
        }
    }

    fn variable(&mut self, word: &mut String, variables: Variables<'_>) {
        let mut name = String::new();
        if self.chars.next_if_eq(&'{').is_some() {
            name.extend(self.chars.by_ref().take_while(|next| *next != '}'));
        } else if let Some(special) = self.chars.next_if(|next| matches!(next, '?' | '$')) {
            name.push(special);
        } else {
            let is_part = |next: &char| next.is_ascii_alphanumeric() || *next == '_';
            while let Some(letter) = self.chars.next_if(is_part) {
                name.push(letter);
            }
        }
        match name.as_str() {
            "" => word.push('$'),
            name => word.push_str(&variables(name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let mut line = Line::new(text);
        let mut commands = Vec::new();
        while let Some(command) = line.next(&|name| format!("<{name}>")) {
            let joint = match command.joint {
                Joint::Always => "",
                Joint::Success => "&& ",
                Joint::Failure => "|| ",
                Joint::Pipe => "| ",
            };
            let redirects = command.redirects.iter();
            let redirects: String = redirects
                .map(|(from, to)| format!(" {from:?}>{to:?}"))
                .collect();
            commands.push(format!("{joint}{:?}{redirects}", command.words));
        }
        commands.join(" ")
    }

    #[test]
    fn lines_are_read_as_shells_read_them() {
        for (line, wanted) in [
            ("", ""),
            ("echo a  b", r#"["echo", "a", "b"]"#),
            (
                "echo 'a  b' \"c $X\" d\\ e",
                r#"["echo", "a  b", "c <X>", "d e"]"#,
            ),
            (
                "echo ${X}y $? '$X' \"\\$X\"",
                r#"["echo", "<X>y", "<?>", "$X", "$X"]"#,
            ),
            ("echo ''", r#"["echo", ""]"#),
            (
                "a; b && c || d | e",
                r#"["a"] ["b"] && ["c"] || ["d"] | ["e"]"#,
            ),
            ("echo 'x; y' # z\nb", r#"["echo", "x; y"] ["b"]"#),
            ("echo b >&2", r#"["echo", "b"] Out>Error"#),
            ("echo b 1>&2", r#"["echo", "b"] Out>Error"#),
            ("echo b>&2; c", r#"["echo", "b"] Out>Error ["c"]"#),
            ("cat x 2>/dev/null", r#"["cat", "x"] Error>Nowhere"#),
            (
                "cat x 2>&1 | tee > /tmp/a",
                r#"["cat", "x"] Error>Out | ["tee"] Out>Nowhere"#,
            ),
            ("echo a >> /dev/stderr", r#"["echo", "a"] Out>Error"#),
            ("echo a &> b", r#"["echo", "a"] Out>Nowhere Error>Nowhere"#),
            ("echo 'a", r#"["echo", "a"]"#),
        ] {
            assert_eq!(shown(line), wanted, "{line}");
        }
    }
}
