//! The binary `kraken-aws-autoscaling`.

fn main() -> std::process::ExitCode {
    kraken_aws_autoscaling::main()
}
