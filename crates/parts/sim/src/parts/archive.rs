//! A tape archive of a few small files: what `kubectl cp` asks a container for.

use crate::parts::files::Entry;

/// Tape archives come in blocks of this size.
const BLOCK: usize = 512;

/// An archive of files and directories by path. Names are kept without the root, as `tar` does.
pub(crate) fn of(entries: &[(String, Entry)], seconds: i64) -> String {
    let mut archive = String::new();
    for (path, entry) in entries {
        let name = path.trim_start_matches('/');
        match entry {
            Entry::File(text) => {
                archive.push_str(&head(name, text.len(), "0000644", "0", seconds));
                archive.push_str(text);
                let padding = (BLOCK - text.len() % BLOCK) % BLOCK;
                archive.extend(std::iter::repeat_n('\0', padding));
            }
            Entry::Directory(_) if name.is_empty() => {}
            Entry::Directory(_) => {
                archive.push_str(&head(&format!("{name}/"), 0, "0000755", "5", seconds));
            }
        }
    }
    // Two empty blocks end an archive.
    archive.extend(std::iter::repeat_n('\0', 2 * BLOCK));
    archive
}

fn head(name: &str, length: usize, mode: &str, kind: &str, seconds: i64) -> String {
    let mut head = vec![0_u8; BLOCK];
    let name = name.get(..name.len().min(99)).unwrap_or_default();
    let fields = [
        (0, name.to_owned()),
        (100, mode.to_owned()),
        (108, "0000000".to_owned()),
        (116, "0000000".to_owned()),
        (124, format!("{length:011o}")),
        (136, format!("{:011o}", seconds.max(0))),
        // The sum is taken with blanks in the place of itself.
        (148, " ".repeat(8)),
        (156, kind.to_owned()),
        (257, "ustar".to_owned()),
        (263, "00".to_owned()),
    ];
    for (at, field) in fields {
        put(&mut head, at, &field);
    }
    let sum: u32 = head.iter().map(|byte| u32::from(*byte)).sum();
    put(&mut head, 148, &format!("{sum:06o}\0 "));
    String::from_utf8_lossy(&head).into_owned()
}

fn put(head: &mut [u8], at: usize, field: &str) {
    for (slot, byte) in head.iter_mut().skip(at).zip(field.bytes()) {
        *slot = byte;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn an_archive_is_whole_blocks_with_the_right_sums() {
        let entries = [
            ("/etc".to_owned(), Entry::Directory(BTreeSet::new())),
            (
                "/etc/hostname".to_owned(),
                Entry::File("web-1\n".to_owned()),
            ),
        ];
        let archive = of(&entries, 1_800_000_000);
        let bytes = archive.as_bytes();
        assert_eq!(bytes.len(), 5 * BLOCK);
        assert!(archive.starts_with("etc/\0"));
        assert!(archive[BLOCK..].starts_with("etc/hostname\0"));
        assert_eq!(&archive[2 * BLOCK..2 * BLOCK + 6], "web-1\n");
        for begin in [0, BLOCK] {
            let head = &bytes[begin..begin + BLOCK];
            let said = u32::from_str_radix(&archive[begin + 148..begin + 154], 8).unwrap();
            let blanked = head[..148].iter().chain(b"        ").chain(&head[156..]);
            assert_eq!(said, blanked.map(|byte| u32::from(*byte)).sum::<u32>());
        }
    }
}
