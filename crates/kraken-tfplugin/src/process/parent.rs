//! A plugin that does not outlive the process that started it, even if that is killed.
//!
//! Linux kills a process whose parent ends if the process itself asked for it. A provider does not, and code between fork and exec
//! would be unsafe, so that a launcher does it: a program, such as the owner's own with a hidden subcommand, that becomes the plugin.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::{io, process};

use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::getppid;

/// What a launcher does: becomes the plugin that `arguments` name, which are those after the arguments in
/// [`HostOptions::launcher`](crate::HostOptions::launcher). From then on the kernel kills it when the thread of the host that
/// started it ends. Returns only if that fails; print the error and exit.
pub fn exec_plugin(arguments: impl IntoIterator<Item = OsString>) -> io::Error {
    let mut arguments = arguments.into_iter();
    let (Some(parent), Some(program), Some(name)) = (arguments.next(), arguments.next(), arguments.next())
    else {
        return io::Error::other("expected the id of the parent, a program and its name");
    };
    if let Err(error) = set_pdeathsig(Signal::SIGKILL) {
        return error.into();
    }
    // It may have ended before.
    if parent.to_str().and_then(|parent| parent.parse().ok()) != Some(getppid().as_raw()) {
        return io::Error::other("the parent has ended");
    }
    Command::new(program).arg0(name).exec()
}

/// The arguments of a launcher. The program is named by our open file.
pub(super) fn arguments(descriptor: i32, name: OsString) -> [OsString; 3] {
    let parent = process::id();
    [parent.to_string().into(), format!("/proc/{parent}/fd/{descriptor}").into(), name]
}
