//! The binary `kraken-aws-sqs`.

fn main() -> std::process::ExitCode {
    kraken_aws_sqs::main()
}
