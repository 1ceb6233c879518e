//! The binary `kraken-aws-iam`.

fn main() -> std::process::ExitCode {
    kraken_aws_iam::main()
}
