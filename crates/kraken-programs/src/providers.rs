//! OpenTofu providers for tests, demo and benchmarks: each is the only program of its module, in the folder of the tests of `kraken-tfplugin`.

use crate::{Module, Program};

/// A provider whose objects are files in a folder, with faults on request.
pub const KTEST: (Module, Program) = only(
    Module {
        name: "ktest",
        go_mod: include_str!("../../kraken-tfplugin/tests/ktest/go.mod"),
        go_sum: include_str!("../../kraken-tfplugin/tests/ktest/go.sum"),
        // It imports what it needs itself.
        tools: "package main\n",
        files: &[
            ("main.go", include_str!("../../kraken-tfplugin/tests/ktest/main.go")),
            ("provider.go", include_str!("../../kraken-tfplugin/tests/ktest/provider.go")),
            ("resource.go", include_str!("../../kraken-tfplugin/tests/ktest/resource.go")),
            ("schema.go", include_str!("../../kraken-tfplugin/tests/ktest/schema.go")),
            ("values.go", include_str!("../../kraken-tfplugin/tests/ktest/values.go")),
        ],
    },
    ".",
    "github.com/hashicorp/terraform-plugin-go",
    "20 seconds",
);

/// The unmodified provider of times.
pub const TIME: (Module, Program) = only(
    Module {
        name: "terraform-provider-time",
        go_mod: include_str!("../../kraken-tfplugin/tests/providers/time/go.mod"),
        go_sum: include_str!("../../kraken-tfplugin/tests/providers/time/go.sum"),
        tools: include_str!("../../kraken-tfplugin/tests/providers/time/tools.go"),
        files: &[],
    },
    "github.com/hashicorp/terraform-provider-time",
    "github.com/hashicorp/terraform-provider-time",
    "1 minute",
);

/// The unmodified provider of OpenStack.
pub const OPENSTACK: (Module, Program) = only(
    Module {
        name: "terraform-provider-openstack",
        go_mod: include_str!("../../kraken-tfplugin/tests/providers/openstack/go.mod"),
        go_sum: include_str!("../../kraken-tfplugin/tests/providers/openstack/go.sum"),
        tools: include_str!("../../kraken-tfplugin/tests/providers/openstack/tools.go"),
        files: &[],
    },
    "github.com/terraform-provider-openstack/terraform-provider-openstack/v3",
    "github.com/terraform-provider-openstack/terraform-provider-openstack/v3",
    "90 seconds",
);

const fn only(
    module: Module,
    package: &'static str,
    version_of: &'static str,
    takes: &'static str,
) -> (Module, Program) {
    let program = Program { name: module.name, package, version_of, takes, without_go: "" };
    (module, program)
}
