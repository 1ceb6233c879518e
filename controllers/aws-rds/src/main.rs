//! The binary `kraken-aws-rds`.

fn main() -> std::process::ExitCode {
    kraken_aws_rds::main()
}
