//! The binary `kraken-aws-ssm`.

fn main() -> std::process::ExitCode {
    kraken_aws_ssm::main()
}
