//! The binary `kraken-aws-s3`.

fn main() -> std::process::ExitCode {
    kraken_aws_s3::main()
}
