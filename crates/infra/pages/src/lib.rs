//! Gives back the memory of code that was only needed to start.
//!
//! The system keeps the pages of a program's file that were touched mapped into the process, and many around each, until
//! memory is short. Starting touches most of a large program; running idle touches little of it. [`give_back`] lets go of
//! all of them: they are the file's own, so what is needed again comes back from the system's cache of the file without
//! being read, and the rest is nobody's burden. Whoever runs a long time calls it now and then.
//!
//! Invariants: only pages that are as they are in the file are let go of, so no state is lost.
//!
//! Non-goals: memory of the process's own; that is the allocator's.

#[cfg(target_os = "linux")]
mod mapping;

use std::io;

/// Lets go of the program's code and constants, and says how many bytes of addresses that was about. Does nothing where
/// the system does not tell what is mapped.
///
/// # Errors
/// When the system does not let them go.
#[cfg(target_os = "linux")]
pub fn give_back() -> io::Result<usize> {
    let program = std::fs::read_link("/proc/self/exe")?;
    let mappings = std::fs::read_to_string("/proc/self/maps")?;
    let mut bytes = 0_usize;
    for mapping in mapping::unchanged(&mappings, &program) {
        let start = std::ptr::with_exposed_provenance_mut(mapping.start);
        #[expect(unsafe_code, reason = "the system's call takes an address")]
        // SAFETY: the mapping is private and cannot be written to, and nothing wrote to it before it became so: it holds the
        // headers, constants or code of the program, and neither the loader nor the linker's layout changes any of these
        // (what is relocated lies in mappings of its own, which `unchanged` leaves out). Letting its pages go therefore
        // changes no byte that anybody can read.
        unsafe {
            rustix::mm::madvise(start, mapping.len, rustix::mm::Advice::LinuxDontNeed)?;
        }
        bytes = bytes.saturating_add(mapping.len);
    }
    Ok(bytes)
}

/// Does nothing on this system.
///
/// # Errors
/// None.
#[cfg(not(target_os = "linux"))]
pub fn give_back() -> io::Result<usize> {
    Ok(0)
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    /// KiB of files mapped into this process that are in memory.
    fn resident() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|line| line.starts_with("RssFile:"));
        let number = line.and_then(|line| line.split_whitespace().nth(1));
        number.unwrap().parse().unwrap()
    }

    #[test]
    fn the_program_goes_on_with_less() {
        let before = resident();
        let bytes = give_back().unwrap();
        let after = resident();
        assert!(bytes > 0);
        assert!(after <= before, "{before} KiB became {after}");
        let words: Vec<String> = ["it", "goes", "on"].map(str::to_uppercase).into();
        assert_eq!(words.join(" "), "IT GOES ON");
    }
}
