//! The binary `kraken-aws-dynamodb`.

fn main() -> std::process::ExitCode {
    kraken_aws_dynamodb::main()
}
