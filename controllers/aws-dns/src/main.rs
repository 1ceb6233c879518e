//! The binary `kraken-aws-dns`.

fn main() -> std::process::ExitCode {
    kraken_aws_dns::main()
}
