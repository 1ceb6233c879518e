//! Times as the API server writes them.

/// Now, in whole seconds.
pub(super) fn now() -> String {
    kraken_runtime::clock::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
