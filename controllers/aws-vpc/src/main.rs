//! The binary `kraken-aws-vpc`.

fn main() -> std::process::ExitCode {
    kraken_spoke::main::<kraken_aws_vpc::Network>()
}
