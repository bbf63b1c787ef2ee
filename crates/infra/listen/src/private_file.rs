//! Files with keys in them, and the directories they are kept in: their owner's alone.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// What the group and everybody else may do with a file.
const OTHERS: u32 = 0o077;

/// Writes a file only its owner can read, whole or not at all.
pub fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let unfinished = path.with_extension("new");
    // One that was left there by somebody else would keep the rights it has.
    match fs::remove_file(&unfinished) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&unfinished)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&unfinished, path)
}

/// Makes a directory that only its owner can look into, or makes one that is there so, whatever the umask is.
pub fn private_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    keep_private(path)
}

/// Takes a file or directory away from everybody but its owner.
///
/// # Errors
/// When others have rights to it and they cannot be taken away.
pub fn keep_private(path: &Path) -> io::Result<()> {
    let mode = fs::metadata(path)?.permissions().mode() & 0o7777;
    if mode & OTHERS == 0 {
        return Ok(());
    }
    let kept = mode & !OTHERS;
    fs::set_permissions(path, Permissions::from_mode(kept)).map_err(|error| {
        let why = format!("others may read it (mode {mode:o}), which cannot be changed: {error}");
        io::Error::new(error.kind(), why)
    })?;
    tracing::warn!(
        path = %path.display(),
        mode = %format_args!("{mode:o}"),
        "others could read this; from now on only its owner can"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn others_lose_what_rights_they_have() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("pki");
        fs::create_dir(&directory).unwrap();
        for loose in [0o755, 0o777, 0o750, 0o700] {
            fs::set_permissions(&directory, Permissions::from_mode(loose)).unwrap();
            private_directory(&directory).unwrap();
            assert_eq!(mode(&directory), 0o700, "{loose:o}");
        }
        let file = directory.join("a.key");
        for (loose, kept) in [(0o644, 0o600), (0o440, 0o400), (0o600, 0o600)] {
            write_private(&file, "x").unwrap();
            fs::set_permissions(&file, Permissions::from_mode(loose)).unwrap();
            keep_private(&file).unwrap();
            assert_eq!(mode(&file), kept, "{loose:o}");
        }
        assert!(keep_private(&directory.join("none")).is_err());
    }
}
