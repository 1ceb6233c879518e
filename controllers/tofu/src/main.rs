//! The binary `kraken-tofu`.

fn main() -> std::process::ExitCode {
    kraken_tofu::main()
}
