//! The binary `kraken-aws-vpc`.

fn main() -> std::process::ExitCode {
    kraken_@spoke_module@::main()
}
