//! The providers, each built once from its Go module and stored in the user's cache, as all programs of tests.

use std::fs;
use std::path::PathBuf;

use kraken_programs::{
    Module, Program, cache,
    providers::{KTEST, OPENSTACK, TIME},
};

pub(crate) fn ktest() -> PathBuf {
    ensure(&KTEST)
}

pub(crate) fn time() -> PathBuf {
    ensure(&TIME)
}

pub(crate) fn openstack() -> PathBuf {
    ensure(&OPENSTACK)
}

/// The program of a module, built first if it is not in the cache.
fn ensure((module, program): &(Module, Program)) -> PathBuf {
    let folder = module.folder().unwrap();
    let path = folder.join(program.name);
    // Held by the test that builds, also of another process.
    let lock = cache::lock_file(&folder).unwrap();
    lock.lock().unwrap();
    if !path.is_file() {
        let sources = tempfile::tempdir().unwrap();
        module.write(sources.path()).unwrap();
        let unfinished = sources.path().join("program");
        let version = module.version(program).unwrap();
        let output = module.build(program, version, sources.path(), &unfinished).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        // A copy beside it, because a rename works within a file system only.
        let copy = path.with_extension("tmp");
        fs::copy(&unfinished, &copy).unwrap();
        fs::rename(&copy, &path).unwrap();
    }
    path
}
