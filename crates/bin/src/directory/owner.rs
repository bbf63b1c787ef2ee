//! Whose a data directory is.
//!
//! What one user has begun, another does not go on with, not even root: files would be left in it that its owner cannot
//! read any more. A directory that nobody has begun may be somebody else's if that lets others write into it, as volumes
//! are that an orchestrator hands to a container; root may write everywhere, so to root that says nothing.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use cli::Failure;

/// The user who may do anything.
const ROOT: u32 = 0;

/// Who is there.
pub(super) fn me() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Whether a user may begin in an empty directory of `owner`.
pub(super) fn may_begin(me: u32, owner: u32) -> bool {
    me == owner || me != ROOT
}

/// Refuses a directory that root would begin in and that is somebody else's.
pub(super) fn check_beginning(path: &Path) -> Result<(), Failure> {
    match owner_of(path) {
        Some(owner) if !may_begin(me(), owner) => Err(refusal(path, owner)),
        _ => Ok(()),
    }
}

/// Refuses a directory that somebody else has begun, which the owner of `witness` in it did.
pub(super) fn check_going_on(path: &Path, witness: &Path) -> Result<(), Failure> {
    match owner_of(witness) {
        Some(owner) if owner != me() => Err(refusal(path, owner)),
        _ => Ok(()),
    }
}

/// Refuses to begin in a home that is somebody else's.
pub(super) fn check_home(home: &Path) -> Result<(), Failure> {
    let owner = match owner_of(home) {
        Some(owner) if !may_begin(me(), owner) => owner,
        _ => return Ok(()),
    };
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    Err(Failure::refused(
        format!(
            "this is {}, and the home directory {} is that of {}, who could not read what is put there",
            named(me(), &users),
            home.display(),
            named(owner, &users)
        ),
        "run it without sudo, or choose a directory with --data-dir",
    ))
}

fn owner_of(path: &Path) -> Option<u32> {
    std::fs::metadata(path).ok().map(|about| about.uid())
}

/// Says whose it is.
pub(super) fn refusal(path: &Path, owner: u32) -> Failure {
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let (theirs, mine) = (named(owner, &users), named(me(), &users));
    let whom = name(owner, &users).map_or_else(|| format!("#{owner}"), str::to_owned);
    Failure::refused(
        format!(
            "the data directory {} belongs to another user, {theirs}; this is {mine}",
            path.display()
        ),
        format!(
            "run it as that user (sudo -u '{whom}' karavel …), or choose a directory you own with --data-dir"
        ),
    )
}

/// A user by name and number.
fn named(uid: u32, users: &str) -> String {
    match name(uid, users) {
        Some(name) => format!("{name} (uid {uid})"),
        None => format!("uid {uid}"),
    }
}

/// The name of a user in a list of users as systems keep it.
fn name(uid: u32, users: &str) -> Option<&str> {
    let uid = uid.to_string();
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == uid).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_begins_in_its_own_directories_only() {
        for (me, owner, expected) in [
            (0, 0, true),
            (0, 1000, false),
            (1000, 1000, true),
            // A volume that is handed to a container.
            (65532, 0, true),
        ] {
            assert_eq!(may_begin(me, owner), expected, "{me} in {owner}'s");
        }
    }

    #[test]
    fn root_does_not_begin_in_somebody_elses_home() {
        let home = tempfile::tempdir().unwrap();
        assert!(check_home(home.path()).is_ok());
        // Only root can give something away.
        if me() == ROOT {
            std::os::unix::fs::chown(home.path(), Some(12345), None).unwrap();
            let said = check_home(home.path()).unwrap_err();
            assert!(said.to_string().contains("uid 12345"), "{said}");
            assert!(said.hint().contains("without sudo"));
        }
    }

    #[test]
    fn users_are_called_by_name_where_they_have_one() {
        let users = "root:x:0:0::/root:/bin/sh\nalice:x:1000:1000::/:/bin/sh\nbroken\n";
        assert_eq!(named(1000, users), "alice (uid 1000)");
        assert_eq!(named(7, users), "uid 7");
    }
}
