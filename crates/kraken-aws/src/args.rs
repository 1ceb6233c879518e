//! The shared flags of all AWS spokes. Credentials are not flags: they come from the environment or the SDK's chain.

use aws_sdk_ec2::config::SharedHttpClient;

/// The endpoint and region of AWS. Both are optional, and never fields of a resource.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct AwsArgs {
    /// The URL of an AWS-compatible endpoint (EC2, load balancing, STS), for tests and private clouds [default: AWS]
    #[arg(long, env = "KRAKEN_AWS_ENDPOINT", value_name = "URL", value_parser = endpoint)]
    pub aws_endpoint: Option<String>,

    /// The region to manage, such as eu-west-1 [default: the SDK's chain: profile, then instance metadata]
    #[arg(long, env = "AWS_REGION", value_name = "REGION")]
    pub aws_region: Option<String>,

    /// Whether a resource without an Account waits for one, instead of using the controller's own credentials
    #[arg(long, env = "KRAKEN_REQUIRE_ACCOUNT", default_value_t = false, action = clap::ArgAction::Set,
          num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub require_account: bool,

    /// The HTTP client for all calls, for a simulation in this process. If it is set, no credentials are loaded from
    /// files or variables.
    #[arg(skip)]
    pub http_client: Option<SharedHttpClient>,
}

impl AwsArgs {
    /// The endpoint; `None` for AWS's default endpoint. An empty variable counts as not set: a manifest may contain it
    /// only as documentation.
    pub fn endpoint(&self) -> Option<&str> {
        given(self.aws_endpoint.as_deref())
    }

    /// The region; `None` if the SDK determines it.
    pub fn region(&self) -> Option<&str> {
        given(self.aws_region.as_deref())
    }
}

fn given(text: Option<&str>) -> Option<&str> {
    text.map(str::trim).filter(|text| !text.is_empty())
}

fn endpoint(text: &str) -> Result<String, String> {
    let host = text.trim().strip_prefix("http://").or_else(|| text.trim().strip_prefix("https://"));
    if text.trim().is_empty() || host.is_some_and(|host| !host.is_empty() && !host.starts_with('/')) {
        Ok(text.to_owned())
    } else {
        Err("must be a URL such as http://localhost:5000".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        aws: AwsArgs,
    }

    fn parse(args: &[&str]) -> Result<AwsArgs, clap::Error> {
        Cli::try_parse_from(["test"].iter().chain(args)).map(|cli| cli.aws)
    }

    #[test]
    fn an_endpoint_is_a_url() {
        let args = parse(&["--aws-endpoint", "http://127.0.0.1:5000", "--aws-region", "eu-west-1"]).unwrap();
        assert_eq!(args.endpoint(), Some("http://127.0.0.1:5000"));
        assert_eq!(args.region(), Some("eu-west-1"));
        for wrong in ["localhost:5000", "http://", "https:///x"] {
            assert!(
                parse(&["--aws-endpoint", wrong]).unwrap_err().to_string().contains("must be a URL"),
                "{wrong}"
            );
        }
    }

    #[test]
    fn an_empty_variable_counts_as_not_set() {
        let args = parse(&["--aws-endpoint", "", "--aws-region", " "]).unwrap();
        assert_eq!((args.endpoint(), args.region()), (None, None));
    }
}
