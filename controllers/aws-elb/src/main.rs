//! The binary `kraken-aws-elb`.

fn main() -> std::process::ExitCode {
    kraken_aws_elb::main()
}
