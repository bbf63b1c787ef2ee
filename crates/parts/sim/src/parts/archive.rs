//! A tape archive of one file: what `kubectl cp` asks a container for.

/// Tape archives come in blocks of this size.
const BLOCK: usize = 512;

/// An archive of one file with a text in it. Its name is kept without the root, as `tar` does.
pub(crate) fn of_file(name: &str, text: &str, seconds: i64) -> String {
    let mut head = vec![0_u8; BLOCK];
    let name = name.trim_start_matches('/');
    let name = name.get(..name.len().min(99)).unwrap_or_default();
    let fields = [
        (0, name.to_owned()),
        (100, "0000644".to_owned()),
        (108, "0000000".to_owned()),
        (116, "0000000".to_owned()),
        (124, format!("{:011o}", text.len())),
        (136, format!("{:011o}", seconds.max(0))),
        // The sum is taken with blanks in the place of itself.
        (148, " ".repeat(8)),
        (156, "0".to_owned()),
        (257, "ustar".to_owned()),
        (263, "00".to_owned()),
    ];
    for (at, field) in fields {
        put(&mut head, at, &field);
    }
    let sum: u32 = head.iter().map(|byte| u32::from(*byte)).sum();
    put(&mut head, 148, &format!("{sum:06o}\0 "));
    let mut archive = String::from_utf8_lossy(&head).into_owned();
    archive.push_str(text);
    let padding = (BLOCK - text.len() % BLOCK) % BLOCK;
    // Two empty blocks end an archive.
    archive.extend(std::iter::repeat_n('\0', padding + 2 * BLOCK));
    archive
}

fn put(head: &mut [u8], at: usize, field: &str) {
    for (slot, byte) in head.iter_mut().skip(at).zip(field.bytes()) {
        *slot = byte;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_is_whole_blocks_with_the_right_sum() {
        let archive = of_file("/etc/hostname", "web-1\n", 1_800_000_000);
        let bytes = archive.as_bytes();
        assert_eq!(bytes.len() % BLOCK, 0);
        assert!(archive.starts_with("etc/hostname\0"));
        assert_eq!(&archive[BLOCK..BLOCK + 6], "web-1\n");
        let said = u32::from_str_radix(&archive[148..154], 8).unwrap();
        let blanked = bytes[..148]
            .iter()
            .chain(b"        ")
            .chain(&bytes[156..BLOCK]);
        assert_eq!(said, blanked.map(|byte| u32::from(*byte)).sum::<u32>());
    }
}
