//! Where a program begins: [`begin!`](crate::begin).
//!
//! Before `main`, the standard library makes a process ready for whatever may come, most of it for a handler that puts the overflow
//! of a stack into words: a dozen system calls and a mapping that is taken down again, a twentieth of what a post costs. The static
//! release build begins without, and does for itself what counts: the standard streams are open, so that no document is taken for
//! one of them, and a reader that goes away is an error and not the end.

/// Makes a function the beginning of a program: it takes the arguments, the first of which is the program's name, and returns the
/// exit status. The crate needs `#![cfg_attr(static_build, no_main)]`.
#[macro_export]
macro_rules! begin {
    ($start:path) => {
        #[cfg(not(static_build))]
        fn main() -> std::process::ExitCode {
            $start(std::env::args_os().collect()).into()
        }

        #[cfg(static_build)]
        #[unsafe(no_mangle)]
        extern "C" fn main(count: std::ffi::c_int, words: *const *const std::ffi::c_char) -> std::ffi::c_int {
            // SAFETY: these are what the C library calls `main` with, and it does so once.
            unsafe { $crate::entry::run(count, words, $start) }
        }
    };
}

#[cfg(static_build)]
pub use of_static_build::run;

#[cfg(static_build)]
mod of_static_build {
    // The arguments are the C library's, and so is what becomes of a signal.
    #![allow(unsafe_code)]

    use std::ffi::{CStr, OsStr, OsString, c_char, c_int};
    use std::os::unix::ffi::OsStrExt;

    use rustix::fs::{Mode, OFlags};

    /// # Safety
    /// `words` are `count` C strings that nobody changes, and no other thread is there yet.
    pub unsafe fn run(count: c_int, words: *const *const c_char, start: fn(Vec<OsString>) -> u8) -> c_int {
        open_standard_streams();
        // SAFETY: no handler is set, and no thread is there that could set one.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
        let word = |n| {
            // SAFETY: the caller says so.
            let word = unsafe { CStr::from_ptr(*words.add(n)) };
            OsStr::from_bytes(word.to_bytes()).to_owned()
        };
        let status = start((0..usize::try_from(count).unwrap_or(0)).map(word).collect());
        // Lets the standard library write out what it still holds.
        std::process::exit(status.into())
    }

    /// The C library looks for the kernel's clock in the process's own memory, which for one or two looks at it costs more than
    /// asking the kernel: two page faults and some thousand instructions. Of two definitions the first counts, which is this.
    ///
    /// # Safety
    /// As of the C library's.
    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn clock_gettime(clock: libc::clockid_t, time: *mut libc::timespec) -> c_int {
        // SAFETY: the caller says so.
        unsafe { libc::syscall(libc::SYS_clock_gettime, clock, time) as c_int }
    }

    /// A stream that is closed becomes `/dev/null`: otherwise the next file to be opened would be it.
    fn open_standard_streams() {
        for stream in [rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr()] {
            if rustix::io::fcntl_getfd(stream) == Err(rustix::io::Errno::BADF) {
                // The lowest number that is free: this stream's.
                match rustix::fs::open("/dev/null", OFlags::RDWR, Mode::empty()) {
                    Ok(null) => std::mem::forget(null),
                    Err(_) => std::process::abort(),
                }
            }
        }
    }
}
