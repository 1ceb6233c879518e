//! The providers, each built once from its Go module and stored in the user's cache, as all programs of tests.

use std::fs;
use std::path::PathBuf;

use kraken_programs::{Module, Program, cache};

const KTEST: Module = Module {
    name: "ktest",
    go_mod: include_str!("../ktest/go.mod"),
    go_sum: include_str!("../ktest/go.sum"),
    // It imports what it needs itself.
    tools: "package main\n",
    files: &[
        ("main.go", include_str!("../ktest/main.go")),
        ("provider.go", include_str!("../ktest/provider.go")),
        ("resource.go", include_str!("../ktest/resource.go")),
        ("schema.go", include_str!("../ktest/schema.go")),
        ("values.go", include_str!("../ktest/values.go")),
    ],
};
const TIME: Module = Module {
    name: "terraform-provider-time",
    go_mod: include_str!("../providers/time/go.mod"),
    go_sum: include_str!("../providers/time/go.sum"),
    tools: include_str!("../providers/time/tools.go"),
    files: &[],
};

const OPENSTACK: Module = Module {
    name: "terraform-provider-openstack",
    go_mod: include_str!("../providers/openstack/go.mod"),
    go_sum: include_str!("../providers/openstack/go.sum"),
    tools: include_str!("../providers/openstack/tools.go"),
    files: &[],
};

pub(crate) fn ktest() -> PathBuf {
    ensure(&KTEST, ".", "github.com/hashicorp/terraform-plugin-go", "20 seconds")
}

pub(crate) fn time() -> PathBuf {
    let module = "github.com/hashicorp/terraform-provider-time";
    ensure(&TIME, module, module, "1 minute")
}

pub(crate) fn openstack() -> PathBuf {
    let module = "github.com/terraform-provider-openstack/terraform-provider-openstack/v3";
    ensure(&OPENSTACK, module, module, "90 seconds")
}

/// The only program of a module, built first if it is not in the cache.
fn ensure(module: &Module, package: &'static str, version_of: &'static str, takes: &'static str) -> PathBuf {
    let program = Program { name: module.name, package, version_of, takes, without_go: "" };
    let folder = module.folder().unwrap();
    let path = folder.join(program.name);
    // Held by the test that builds, also of another process.
    let lock = cache::lock_file(&folder).unwrap();
    lock.lock().unwrap();
    if !path.is_file() {
        let sources = tempfile::tempdir().unwrap();
        module.write(sources.path()).unwrap();
        let unfinished = sources.path().join("program");
        let version = module.version(&program).unwrap();
        let output = module.build(&program, version, sources.path(), &unfinished).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        // A copy beside it, because a rename works within a file system only.
        let copy = path.with_extension("tmp");
        fs::copy(&unfinished, &copy).unwrap();
        fs::rename(&copy, &path).unwrap();
    }
    path
}
