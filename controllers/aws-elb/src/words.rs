//! Fields with a fixed set of values, in AWS's spelling.

use kraken_aws::words;

words!(
    /// The protocol of a listener or of targets.
    Protocol {
        Http = "HTTP",
        Https = "HTTPS",
        Tcp = "TCP",
        Tls = "TLS",
        Udp = "UDP",
        TcpUdp = "TCP_UDP",
    }
);

impl Protocol {
    /// Whether the listener terminates TLS and therefore requires a certificate.
    pub(crate) fn is_secure(self) -> bool {
        matches!(self, Self::Https | Self::Tls)
    }

    /// Whether it is a protocol of an application load balancer.
    pub(crate) fn is_http(self) -> bool {
        matches!(self, Self::Http | Self::Https)
    }
}

words!(
    /// The protocol of health checks.
    HealthCheckProtocol {
        Http = "HTTP",
        Https = "HTTPS",
        Tcp = "TCP",
    }
);

words!(
    /// The type of the targets of a target group.
    TargetType {
        Instance = "instance",
        Ip = "ip",
        Lambda = "lambda",
        Alb = "alb",
    }
);

words!(
    /// The type of a load balancer.
    BalancerType {
        Application = "application",
        Network = "network",
    }
);

words!(
    /// The scheme of a load balancer.
    Scheme {
        InternetFacing = "internet-facing",
        Internal = "internal",
    }
);

words!(
    /// The addresses of a load balancer.
    IpAddressType {
        Ipv4 = "ipv4",
        Dualstack = "dualstack",
        DualstackWithoutPublicIpv4 = "dualstack-without-public-ipv4",
    }
);

words!(
    /// The HTTP status of a redirection.
    RedirectStatus {
        Permanent = "HTTP_301",
        Temporary = "HTTP_302",
    }
);

words!(
    /// The content type of a fixed response.
    ContentType {
        Plain = "text/plain",
        Css = "text/css",
        Html = "text/html",
        Javascript = "application/javascript",
        Json = "application/json",
    }
);

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_have_the_spelling_of_aws() {
        for word in ["HTTP", "HTTPS", "TCP", "TLS", "UDP", "TCP_UDP"] {
            let protocol: Protocol = serde_json::from_value(json!(word)).unwrap();
            assert_eq!((protocol.as_str(), json!(protocol)), (word, json!(word)));
            assert_eq!(protocol, word.to_owned());
        }
        assert!(serde_json::from_value::<Protocol>(json!("http")).is_err());
        assert_ne!(Protocol::Http, "http".to_owned());
        assert!(Protocol::Tls.is_secure() && !Protocol::Tls.is_http());
    }
}
