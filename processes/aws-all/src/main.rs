//! `kraken-aws-all`: all controllers of AWS in one process, for less memory than one process for each takes. Decision 182 says what is
//! given up.

use std::process::ExitCode;

use kraken_aws::AwsArgs;
use kraken_kind::{
    Spoke,
    runtime::{self, Hosted, SharedProcess},
};
use kraken_spoke::{SpokeArgs, SpokeProgram};

/// All controllers of AWS.
#[derive(Clone, Copy, Debug)]
struct AwsAll;

impl SharedProcess for AwsAll {
    const NAME: &'static str = "kraken-aws-all";
    const ABOUT: &'static str = "Runs all AWS controllers of Kraken in one process";
    type Args = SpokeArgs<AwsArgs>;

    fn controllers(args: &SpokeArgs<AwsArgs>) -> Vec<Hosted> {
        vec![
            Hosted::new::<kraken_aws_account::AccountController>(args.own().clone()),
            spoke::<kraken_aws_acm::Acm>(args),
            spoke::<kraken_aws_autoscaling::Autoscaling>(args),
            spoke::<kraken_aws_cloudwatch::CloudWatch>(args),
            spoke::<kraken_aws_dns::Dns>(args),
            spoke::<kraken_aws_dynamodb::DynamoDb>(args),
            spoke::<kraken_aws_ec2_instance::Ec2>(args),
            spoke::<kraken_aws_ecr::Ecr>(args),
            spoke::<kraken_aws_elb::Elb>(args),
            spoke::<kraken_aws_iam::Iam>(args),
            spoke::<kraken_aws_kms::Kms>(args),
            spoke::<kraken_aws_rds::Rds>(args),
            spoke::<kraken_aws_s3::S3>(args),
            spoke::<kraken_aws_secretsmanager::SecretsManager>(args),
            spoke::<kraken_aws_sns::Sns>(args),
            spoke::<kraken_aws_sqs::Sqs>(args),
            spoke::<kraken_aws_ssm::Ssm>(args),
            spoke::<kraken_aws_vpc::Network>(args),
        ]
    }
}

fn spoke<S: Spoke<Args = AwsArgs>>(args: &SpokeArgs<AwsArgs>) -> Hosted {
    Hosted::new::<SpokeProgram<S>>(args.clone())
}

fn main() -> ExitCode {
    runtime::main_of_shared::<AwsAll>()
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use kraken_spoke::LoopArgs;

    use super::*;

    #[test]
    fn every_controller_of_aws_is_in_the_process() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../controllers");
        let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        let names = names.map(|name| format!("kraken-{}", name.to_str().unwrap()));
        let mut names: Vec<String> = names.filter(|name| name.starts_with("kraken-aws-")).collect();
        names.sort();
        let args = SpokeArgs::new(AwsArgs::default(), LoopArgs::default());
        let hosted = AwsAll::controllers(&args);
        assert_eq!(hosted.iter().map(Hosted::name).collect::<Vec<_>>(), names);
    }
}
