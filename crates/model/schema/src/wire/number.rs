//! Numbers, tags and lengths as bytes.

use super::decode::Problem;

/// How the value behind a tag is delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delimit {
    /// A number of seven bits a byte.
    Varint,
    /// Eight bytes.
    Fixed64,
    /// A length, then as many bytes.
    Length,
    /// The fields of a group, an old form nobody sends but everybody must skip.
    Group,
    /// The end of a group.
    GroupEnd,
    /// Four bytes.
    Fixed32,
}

/// What is left to read.
#[derive(Clone, Copy)]
pub(super) struct Input<'i> {
    rest: &'i [u8],
}

impl<'i> Input<'i> {
    pub(super) fn new(bytes: &'i [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// A number; more than 64 bits are refused.
    pub(super) fn varint(&mut self) -> Result<u64, Problem> {
        let mut value = 0_u64;
        for (place, byte) in self.rest.iter().enumerate().take(10) {
            let bits = u64::from(byte & 0x7f);
            if place == 9 && bits > 1 {
                return Err(Problem::Number);
            }
            value |= bits << (7 * place);
            if byte & 0x80 == 0 {
                self.rest = self.rest.get(place + 1..).unwrap_or_default();
                return Ok(value);
            }
        }
        Err(if self.rest.len() < 10 {
            Problem::Truncated
        } else {
            Problem::Number
        })
    }

    /// A field number and how its value is delimited.
    pub(super) fn tag(&mut self) -> Result<(u32, Delimit), Problem> {
        let tag = self.varint()?;
        let delimit = match tag & 7 {
            0 => Delimit::Varint,
            1 => Delimit::Fixed64,
            2 => Delimit::Length,
            3 => Delimit::Group,
            4 => Delimit::GroupEnd,
            5 => Delimit::Fixed32,
            _ => return Err(Problem::Tag),
        };
        match u32::try_from(tag >> 3) {
            Ok(number) if (1..1 << 29).contains(&number) => Ok((number, delimit)),
            _ => Err(Problem::Tag),
        }
    }

    /// As many bytes as the length before them says.
    pub(super) fn delimited(&mut self) -> Result<&'i [u8], Problem> {
        let length = usize::try_from(self.varint()?).map_err(|_| Problem::Truncated)?;
        self.take(length)
    }

    pub(super) fn fixed64(&mut self) -> Result<u64, Problem> {
        let bytes = self.take(8)?;
        Ok(u64::from_le_bytes(
            bytes.try_into().map_err(|_| Problem::Truncated)?,
        ))
    }

    /// Passes over a value nobody asked for.
    pub(super) fn skip(&mut self, number: u32, delimit: Delimit) -> Result<(), Problem> {
        // Groups are kept on a list and not on the stack: they cost a byte each to open.
        let mut open = Vec::new();
        let (mut number, mut delimit) = (number, delimit);
        loop {
            match delimit {
                Delimit::Varint => drop(self.varint()?),
                Delimit::Fixed64 => drop(self.take(8)?),
                Delimit::Fixed32 => drop(self.take(4)?),
                Delimit::Length => drop(self.delimited()?),
                Delimit::Group => open.push(number),
                Delimit::GroupEnd if open.pop() == Some(number) => {}
                Delimit::GroupEnd => return Err(Problem::Tag),
            }
            if open.is_empty() {
                return Ok(());
            }
            (number, delimit) = self.tag()?;
        }
    }

    fn take(&mut self, length: usize) -> Result<&'i [u8], Problem> {
        let (taken, rest) = self
            .rest
            .split_at_checked(length)
            .ok_or(Problem::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }
}

/// Appends a number.
pub(super) fn put_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a field number and how its value is delimited.
pub(super) fn put_tag(number: u32, delimit: Delimit, out: &mut Vec<u8>) {
    let code = match delimit {
        Delimit::Varint => 0,
        Delimit::Fixed64 => 1,
        Delimit::Length => 2,
        Delimit::Group => 3,
        Delimit::GroupEnd => 4,
        Delimit::Fixed32 => 5,
    };
    put_varint(u64::from(number) << 3 | code, out);
}

/// Appends a field of bytes.
pub(super) fn put_bytes(number: u32, bytes: &[u8], out: &mut Vec<u8>) {
    put_tag(number, Delimit::Length, out);
    put_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// Appends a field whose value is a number.
pub(super) fn put_number(number: u32, value: u64, out: &mut Vec<u8>) {
    put_tag(number, Delimit::Varint, out);
    put_varint(value, out);
}

/// Begins a field whose length is not known yet; [`close`] needs the answer.
pub(super) fn open(number: u32, out: &mut Vec<u8>) -> usize {
    put_tag(number, Delimit::Length, out);
    out.push(0); // Most lengths fit into this byte.
    out.len()
}

/// Writes the length of everything appended since [`open`].
pub(super) fn close(start: usize, out: &mut Vec<u8>) {
    let length = out.len().saturating_sub(start);
    if let Ok(short @ 0..0x80) = u8::try_from(length) {
        if let Some(byte) = out.get_mut(start - 1) {
            *byte = short;
        }
        return;
    }
    let mut bytes = Vec::with_capacity(5);
    put_varint(length as u64, &mut bytes);
    drop(out.splice(start - 1..start, bytes));
}
