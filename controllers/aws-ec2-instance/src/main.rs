//! The binary `kraken-aws-ec2-instance`.

fn main() -> std::process::ExitCode {
    kraken_aws_ec2_instance::main()
}
