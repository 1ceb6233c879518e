//! Every source of nondeterminism has one module, so that a simulation can control it: no other code uses the clock,
//! random numbers, hash orders or spawned tasks of the standard library and of tokio. The decisions of the loop have no effect at all.
#![allow(clippy::unwrap_used)] // a panic fails the test

use std::{fs, path::Path};

/// The crates of a controller.
const ROOTS: &[&str] = &[
    "crates/kraken-options/src",
    "crates/kraken-api/src",
    "crates/kraken-runtime/src",
    "crates/kraken-kind/src",
    "crates/kraken-model/src",
    "crates/kraken-spoke/src",
    "crates/kraken-aws/src",
    "controllers/hub/src",
    "controllers/aws-account/src",
    "controllers/aws-vpc/src",
    "controllers/aws-elb/src",
    "controllers/aws-acm/src",
    "controllers/aws-autoscaling/src",
    "controllers/aws-dns/src",
    "controllers/aws-iam/src",
    "controllers/aws-rds/src",
    "controllers/aws-s3/src",
    "controllers/aws-sqs/src",
    "controllers/aws-cloudwatch/src",
    "controllers/aws-sns/src",
    "controllers/aws-ecr/src",
    "controllers/aws-secretsmanager/src",
    "controllers/aws-kms/src",
    "controllers/aws-dynamodb/src",
    "controllers/aws-ssm/src",
    "controllers/aws-ec2-instance/src",
];
/// The module of each.
const PLACES: &[&str] = &["clock.rs", "random.rs", "hash.rs", "task.rs"];
/// The names that no other code may use.
const WORDS: &[&str] = &[
    "SystemTime",
    "Timestamp::now",
    "Zoned::now",
    "std::time::Instant",
    "RandomState",
    "OsRng",
    "getrandom",
    "tokio::spawn",
    "task::spawn_blocking",
    // It wakes waiters in a random order.
    "sync::watch",
    "watch::channel",
    "collections::HashMap",
    "collections::HashSet",
];
const EXCEPTIONS: &[&str] = &[
    // A cache of regular expressions whose order is never used; its crate has no dependency on kraken-runtime.
    "kraken-options/src/jsonpath/eval/mod.rs",
    // Passes our clock to the SDK, which uses this type.
    "kraken-aws/src/injected.rs",
];

/// What only code that waits or makes a request has.
const EFFECTS: &[&str] = &["async ", ".await", "Client", "Api::", "Api<", "task::spawn", "Mutex", "RwLock"];

/// The code of each file, without its tests.
fn code() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = vec![];
    for folder in ROOTS {
        files(&root.join(folder), &mut found);
    }
    assert!(found.len() > 100, "{}", found.len());
    found
}

fn files(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (path, name) = (entry.path(), entry.file_name().into_string().unwrap());
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") && name != "tests.rs" {
            let text = fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]\n").next().unwrap_or_default();
            let code: Vec<_> = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
            found.push((path.display().to_string(), code.join("\n")));
        }
    }
}

#[test]
fn clocks_random_numbers_hash_orders_and_tasks_have_one_module_each() {
    let mut wrong = vec![];
    for (path, code) in code() {
        let is_place = PLACES.iter().any(|place| path.ends_with(&format!("kraken-runtime/src/{place}")));
        if is_place || EXCEPTIONS.iter().any(|exception| path.ends_with(exception)) {
            continue;
        }
        wrong.extend(WORDS.iter().filter(|word| code.contains(**word)).map(|word| format!("{path}: {word}")));
        // Imports in braces.
        for import in code.split("use std::").skip(1).filter_map(|text| text.split(';').next()) {
            let words = import.split(|c: char| !c.is_alphanumeric());
            let foreign = words.filter(|word| ["Instant", "HashMap", "HashSet"].contains(word));
            wrong.extend(foreign.map(|word| format!("{path}: {word} of std")));
        }
    }
    assert!(wrong.is_empty(), "use kraken_runtime::{{clock, random, hash, task}}:\n{}", wrong.join("\n"));
}

#[test]
fn every_select_is_biased() {
    let is_biased = |after: &str| {
        let body = after.trim_start().strip_prefix('{').unwrap_or_default();
        body.trim_start().starts_with("biased;")
    };
    for (path, code) in code() {
        assert!(code.split("select!").skip(1).all(is_biased), "{path}");
    }
}

#[test]
fn decisions_of_the_loop_are_pure() {
    let model = code().into_iter().filter(|(path, _)| path.contains("crates/kraken-model/src/"));
    let effects = model.flat_map(|(path, code)| {
        EFFECTS.iter().filter(move |word| code.contains(**word)).map(move |word| format!("{path}: {word}"))
    });
    let effects: Vec<_> = effects.collect();
    assert!(
        effects.is_empty(),
        "what waits, makes a request or is shared belongs into kraken-spoke: {effects:#?}"
    );
}
