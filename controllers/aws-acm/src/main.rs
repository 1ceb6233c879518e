//! The binary `kraken-aws-acm`.

fn main() -> std::process::ExitCode {
    kraken_aws_acm::main()
}
