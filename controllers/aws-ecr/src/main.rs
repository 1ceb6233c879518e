//! The binary `kraken-aws-ecr`.

fn main() -> std::process::ExitCode {
    kraken_aws_ecr::main()
}
