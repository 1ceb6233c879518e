//! The binary `kraken-aws-account`.

fn main() -> std::process::ExitCode {
    kraken_aws_account::main()
}
