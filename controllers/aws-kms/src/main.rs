//! The binary `kraken-aws-kms`.

fn main() -> std::process::ExitCode {
    kraken_aws_kms::main()
}
