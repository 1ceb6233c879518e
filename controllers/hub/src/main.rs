//! The binary `kraken-hub`.

fn main() -> std::process::ExitCode {
    kraken_runtime::main::<kraken_hub::Hub>()
}
