//! What of the program's file is mapped, and which of it is as it is in the file.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// A range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    pub(crate) start: usize,
    pub(crate) len: usize,
}

/// The mappings of a program that nobody changes, from the text of `/proc/self/maps`.
///
/// These are its code, which can be executed and not written to, and the mapping that begins with the file itself, which
/// holds constants. Others that cannot be written to now were written to by the loader.
pub(crate) fn unchanged(mappings: &str, program: &Path) -> Vec<Mapping> {
    let unchanged = |line| {
        let (mapping, permissions, offset, path) = read(line)?;
        let is_code = permissions == "r-xp";
        let is_beginning = permissions == "r--p" && offset == 0;
        let is_ours = path.as_bytes() == program.as_os_str().as_bytes();
        (is_ours && (is_code || is_beginning)).then_some(mapping)
    };
    mappings.lines().filter_map(unchanged).collect()
}

/// `start-end permissions offset device inode path`, numbers in hexadecimal.
fn read(line: &str) -> Option<(Mapping, &str, u64, &str)> {
    let mut fields = line.splitn(6, ' ');
    let (start, end) = fields.next()?.split_once('-')?;
    let permissions = fields.next()?;
    let offset = u64::from_str_radix(fields.next()?, 16).ok()?;
    let path = fields.nth(2)?.trim_start();
    let start = usize::from_str_radix(start, 16).ok()?;
    let end = usize::from_str_radix(end, 16).ok()?;
    let len = end.checked_sub(start)?;
    Some((Mapping { start, len }, permissions, offset, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPPINGS: &str = "\
1000-3000 r--p 00000000 fe:00 10018819                   /opt/a program
3000-9000 r-xp 00002000 fe:00 10018819                   /opt/a program
9000-a000 r--p 00008000 fe:00 10018819                   /opt/a program
a000-b000 rw-p 00009000 fe:00 10018819                   /opt/a program
b000-c000 rw-p 00000000 00:00 0 
c000-d000 r-xp 00000000 fe:00 77                         /usr/lib/libc.so.6
d000-e000 r-xp 00000000 00:00 0                          [vdso]
e000-d000 r-xp 00000000 fe:00 10018819                   /opt/a program
nonsense
";

    #[test]
    fn only_what_nobody_changes_is_let_go_of() {
        let found = unchanged(MAPPINGS, Path::new("/opt/a program"));
        let mapping = |start, len| Mapping { start, len };
        assert_eq!(found, [mapping(0x1000, 0x2000), mapping(0x3000, 0x6000)]);
        assert_eq!(unchanged(MAPPINGS, Path::new("/opt/other")), []);
    }
}
