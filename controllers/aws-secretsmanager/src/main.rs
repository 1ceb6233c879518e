//! The binary `kraken-aws-secretsmanager`.

fn main() -> std::process::ExitCode {
    kraken_aws_secretsmanager::main()
}
