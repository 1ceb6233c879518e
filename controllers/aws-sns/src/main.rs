//! The binary `kraken-aws-sns`.

fn main() -> std::process::ExitCode {
    kraken_aws_sns::main()
}
