#!/bin/sh
# Written by `cargo xtask image`; cargo calls it in the place of rustc for the crates of the workspace.
# Only our programs need another flag: a library is the same for either way of linking, so that no dependency is compiled once more.
# Cargo also asks what rustc can do, with all types of crates; that question must stay as it is.
case " $* " in
*" --crate-name kraken_"*" --crate-type bin "*) exec "$@" -C target-feature=+crt-static -C strip=symbols ;;
*) exec "$@" ;;
esac
