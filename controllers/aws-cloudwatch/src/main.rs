//! The binary `kraken-aws-cloudwatch`.

fn main() -> std::process::ExitCode {
    kraken_aws_cloudwatch::main()
}
