//! Turns `KRAKEN_MUTANTS` into the cfg `kraken_mutants`: only this crate reads it, so no dependency is recompiled.

fn main() {
    println!("cargo::rustc-check-cfg=cfg(kraken_mutants)");
    println!("cargo::rerun-if-env-changed=KRAKEN_MUTANTS");
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var_os("KRAKEN_MUTANTS").is_some_and(|value| !value.is_empty()) {
        println!("cargo::rustc-cfg=kraken_mutants");
    }
}
