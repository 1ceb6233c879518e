#!/bin/sh
# Written by `cargo xtask image --profile dev`. Cargo calls it instead of rustc for the crates of the workspace.
# Only binaries need another flag: a library is the same for static and dynamic linking, so no dependency is compiled twice.
# Cargo also queries rustc with all crate types; that query is passed on unchanged.
case " $* " in
*" --crate-name kraken_"*" --crate-type bin "*) exec "$@" -C target-feature=+crt-static -C strip=symbols ;;
*) exec "$@" ;;
esac
