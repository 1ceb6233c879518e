//! The simulated APIs. They share an endpoint; the version in a call selects the API.

/// One API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Service {
    /// EC2: instances, networks, volumes.
    Ec2,
    /// Elastic Load Balancing, version 2.
    Elb,
    /// STS: the account of the credentials.
    Sts,
}

impl Service {
    /// The API whose calls have this `Version`.
    pub(super) fn of(version: Option<&str>) -> Self {
        let others = [Self::Elb, Self::Sts];
        others.into_iter().find(|service| version == Some(service.version())).unwrap_or(Self::Ec2)
    }

    /// The version of the protocol in the parameters of a call.
    pub fn version(self) -> &'static str {
        match self {
            Self::Ec2 => "2016-11-15",
            Self::Elb => "2015-12-01",
            Self::Sts => "2011-06-15",
        }
    }

    /// The XML namespace of its responses.
    pub(super) fn namespace(self) -> &'static str {
        match self {
            Self::Ec2 => "http://ec2.amazonaws.com/doc/2016-11-15",
            Self::Elb => "http://elasticloadbalancing.amazonaws.com/doc/2015-12-01/",
            Self::Sts => "https://sts.amazonaws.com/doc/2011-06-15/",
        }
    }
}
