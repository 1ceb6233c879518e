use super::*;

fn read(controllers: &Path, path: &str) -> String {
    fs::read_to_string(controllers.join(path)).unwrap()
}

#[test]
fn a_new_spoke_has_its_package_and_the_files_of_the_kind() {
    let folder = tempfile::tempdir().unwrap();
    let written = generate(folder.path(), "aws-rds", "DBInstance").unwrap();
    let expected = [
        "aws-rds/src/db_instance/mod.rs",
        "aws-rds/src/db_instance/api.rs",
        "aws-rds/src/db_instance/observed.rs",
        "aws-rds/src/db_instance/calls.rs",
        "aws-rds/src/db_instance/tests.rs",
        "aws-rds/Cargo.toml",
        "aws-rds/src/main.rs",
        "aws-rds/src/lib.rs",
    ];
    assert_eq!(written, expected);
    for path in expected {
        let text = read(folder.path(), path);
        assert!(!text.contains('@'), "{path} has a placeholder: {text}");
    }
    assert!(read(folder.path(), "aws-rds/Cargo.toml").contains("name = \"kraken-aws-rds\""));
    assert!(read(folder.path(), "aws-rds/src/main.rs").contains("kraken_aws_rds::main()"));
    let lib = read(folder.path(), "aws-rds/src/lib.rs");
    assert!(lib.contains("pub struct Rds;") && lib.contains("Managed<db_instance::DbInstances>"), "{lib}");
    let api = read(folder.path(), "aws-rds/src/db_instance/api.rs");
    for part in [
        "kind = \"DBInstance\"",
        "plural = \"dbinstances\"",
        "noun = \"DB instance\"",
        "state = \"dbInstance\"",
        "observed = super::observed::DbInstance",
        "pub(crate) struct DBInstanceSpec {",
    ] {
        assert!(api.contains(part), "{part}: {api}");
    }
}

#[test]
fn an_existing_spoke_gets_another_kind() {
    let folder = tempfile::tempdir().unwrap();
    generate(folder.path(), "aws-rds", "DBInstance").unwrap();
    let manifest = read(folder.path(), "aws-rds/Cargo.toml");
    generate(folder.path(), "aws-rds", "DBSubnetGroup").unwrap();
    let lib = read(folder.path(), "aws-rds/src/lib.rs");
    assert!(lib.contains("mod db_instance;\nmod db_subnet_group;\n"), "{lib}");
    let kinds = "        registry.kind::<Managed<db_instance::DbInstances>>();\n        \
                 registry.kind::<Managed<db_subnet_group::DbSubnetGroups>>();\n    }";
    assert!(lib.contains(kinds), "{lib}");
    assert_eq!(read(folder.path(), "aws-rds/Cargo.toml"), manifest);
}

#[test]
fn nothing_is_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    generate(folder.path(), "aws-rds", "DBInstance").unwrap();
    let error = generate(folder.path(), "aws-rds", "DBInstance").unwrap_err().to_string();
    assert_eq!(error, "controllers/aws-rds/src/db_instance exists already");
}

#[test]
fn a_wrong_name_is_rejected_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    for (spoke, kind) in
        [("rds", "DBInstance"), ("aws-", "DBInstance"), ("aws-../x", "A"), ("aws-rds", "dbInstance")]
    {
        assert!(generate(folder.path(), spoke, kind).is_err(), "{spoke} {kind}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn every_spoke_of_this_workspace_can_get_another_kind() {
    let controllers = paths::workspace_root().unwrap().join("controllers");
    for spoke in ["aws-vpc", "aws-elb"] {
        let lib = fs::read_to_string(controllers.join(spoke).join("src/lib.rs")).unwrap();
        let with = registered(&lib, &Names::of("CustomerGateway").unwrap()).unwrap();
        assert!(with.contains("\nmod customer_gateway;\nmod "), "{with}");
        assert_eq!(with.lines().count(), lib.lines().count() + 2);
        assert!(
            with.contains("        registry.kind::<Managed<customer_gateway::CustomerGateways>>();\n    }"),
            "{with}"
        );
    }
}

/// In a workspace whose packages are links to those of this one.
#[test]
#[ignore = "compiles a spoke: half a minute if the workspace is built, else many"]
fn a_new_spoke_compiles_and_passes_its_tests() {
    let (root, copy) = (paths::workspace_root().unwrap(), tempfile::tempdir().unwrap());
    let link = |path: &str| std::os::unix::fs::symlink(root.join(path), copy.path().join(path)).unwrap();
    ["crates", "webhooks", "tests", ".cargo"].into_iter().for_each(link);
    let controllers = copy.path().join("controllers");
    fs::create_dir(&controllers).unwrap();
    for spoke in paths::controllers().unwrap() {
        link(&format!("controllers/{spoke}"));
    }
    for file in ["Cargo.toml", "Cargo.lock"] {
        fs::copy(root.join(file), copy.path().join(file)).unwrap();
    }
    generate(&controllers, "aws-rds", "DBInstance").unwrap();
    let mut cargo = std::process::Command::new(env!("CARGO"));
    cargo.args(["test", "--offline", "--package", "kraken-aws-rds"]).current_dir(copy.path());
    assert!(cargo.env("CARGO_TARGET_DIR", root.join("target")).status().unwrap().success());
}
