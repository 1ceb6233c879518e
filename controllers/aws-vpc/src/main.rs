//! The binary `kraken-aws-vpc`.

fn main() -> std::process::ExitCode {
    kraken_aws_vpc::main()
}
