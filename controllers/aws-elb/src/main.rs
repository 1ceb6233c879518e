//! The binary `kraken-aws-elb`.

fn main() -> std::process::ExitCode {
    kraken_spoke::main::<kraken_aws_elb::Elb>()
}
