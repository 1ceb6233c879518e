//! Who is answered: only the page that this process serves, with the token that it printed. Pure.
//!
//! Any web page can send requests to 127.0.0.1, and by DNS rebinding even under a name of its own. So the name in `Host` must be that of the
//! loopback address, a foreign `Origin` is rejected, and every answer with data requires the token in a header, which no other page knows and
//! which a form cannot set. A cookie would not do: it is sent to every port of a host.

use anyhow::Result;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri,
    header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, ORIGIN, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS},
};

/// The header with the token.
pub(super) const TOKEN: HeaderName = HeaderName::from_static("x-kraken-token");
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const OPENER: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const RESOURCE: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// Everything of the page is a file of this server, nothing of it is code in a text, and nothing is sent elsewhere.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/// The secret in the address of the page.
pub(super) struct Token(String);

/// What decides about a request.
pub(super) struct Guard {
    pub(super) token: Token,
    pub(super) port: u16,
    pub(super) can_write: bool,
}

/// Why a request is not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// The name of the server is another one.
    Host,
    /// It comes from another page.
    Origin,
    /// The token is missing or wrong.
    Token,
    /// No route has this method.
    Method,
    /// It would write.
    ReadOnly,
}

impl Token {
    /// 128 random bits of the system.
    pub(super) fn random() -> Result<Self> {
        kraken_local::pki::token().map(Self)
    }

    pub(super) fn text(&self) -> &str {
        &self.0
    }

    /// In a time that does not depend on the number of equal letters.
    fn is(&self, given: &str) -> bool {
        let difference = self.0.bytes().zip(given.bytes()).fold(0, |sum, (own, other)| sum | (own ^ other));
        self.0.len() == given.len() && difference == 0
    }
}

impl Guard {
    /// Whether a request is answered.
    pub(super) fn check(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), Refused> {
        let text = |name: &HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
        let is_host = |host: &str| {
            ["127.0.0.1", "localhost"].map(|name| format!("{name}:{}", self.port)).contains(&host.to_owned())
        };
        let is_single = headers.get_all(HOST).iter().count() == 1;
        if !is_single || !text(&HOST).is_some_and(is_host) {
            return Err(Refused::Host);
        }
        let is_own = |origin: &str| origin.strip_prefix("http://").is_some_and(is_host);
        let is_write = method != Method::GET;
        // A browser sends it with every request that writes.
        let is_missing = is_write && !headers.contains_key(ORIGIN);
        let is_foreign = text(&ORIGIN).is_some_and(|origin| !is_own(origin));
        let is_elsewhere = text(&FETCH_SITE).is_some_and(|site| !["same-origin", "none"].contains(&site));
        if is_missing || is_foreign || (is_elsewhere && uri.path() != "/") {
            return Err(Refused::Origin);
        }
        if method != Method::GET && method != Method::POST {
            return Err(Refused::Method);
        }
        // The files of the page are the same for everyone, and have to be loaded before it can send a header.
        let is_data = is_write || uri.path().starts_with("/api/");
        if is_data && !text(&TOKEN).is_some_and(|given| self.token.is(given)) {
            return Err(Refused::Token);
        }
        if is_write && !self.can_write {
            return Err(Refused::ReadOnly);
        }
        Ok(())
    }
}

impl Refused {
    pub(super) fn answer(self) -> (StatusCode, &'static str) {
        match self {
            Self::Host => (
                StatusCode::MISDIRECTED_REQUEST,
                "open the address that the command printed, which begins with http://127.0.0.1",
            ),
            Self::Origin => (StatusCode::FORBIDDEN, "requests of other pages are not answered"),
            Self::Token => (
                StatusCode::UNAUTHORIZED,
                "the token is missing or of another run: open the address that the command printed last",
            ),
            Self::Method => (StatusCode::METHOD_NOT_ALLOWED, "only GET and POST"),
            Self::ReadOnly => (
                StatusCode::FORBIDDEN,
                "the page is read-only: start the command again with --write, or use the command line",
            ),
        }
    }
}

/// The headers of every answer.
pub(super) fn protect(headers: &mut HeaderMap) {
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (OPENER, "same-origin"),
        (RESOURCE, "same-origin"),
        (CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

#[cfg(test)]
pub(super) fn guard(can_write: bool) -> Guard {
    Guard { token: Token("0123456789abcdef".to_owned()), port: 4000, can_write }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: [(&str, &str); 2] = [("host", "127.0.0.1:4000"), ("x-kraken-token", "0123456789abcdef")];

    fn checked(
        can_write: bool,
        method: &str,
        path: &str,
        headers: &[(&'static str, &str)],
    ) -> Result<(), Refused> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        guard(can_write).check(&method.parse().unwrap(), &path.parse().unwrap(), &map)
    }

    #[test]
    fn a_name_that_another_page_made_point_to_this_server_is_rejected() {
        for host in [
            "evil.example:4000",
            "127.0.0.1",
            "127.0.0.1:4001",
            "127.0.0.1:4000.evil.example",
            "0.0.0.0:4000",
            "",
        ] {
            let found = checked(true, "GET", "/", &[("host", host)]);
            assert_eq!(found, Err(Refused::Host), "{host}");
        }
        assert_eq!(checked(true, "GET", "/", &[]), Err(Refused::Host));
        assert_eq!(checked(true, "GET", "/", &[OWN[0], ("host", "evil.example")]), Err(Refused::Host));
        assert_eq!(checked(true, "GET", "/", &[("host", "localhost:4000")]), Ok(()));
    }

    #[test]
    fn a_request_of_another_page_is_rejected_even_with_the_token() {
        for origin in [
            "http://evil.example",
            "null",
            "http://127.0.0.1:4001",
            "https://127.0.0.1:4000",
            "http://127.0.0.1:4000.evil.example",
        ] {
            let headers = [OWN[0], OWN[1], ("origin", origin)];
            assert_eq!(checked(true, "GET", "/api/live", &headers), Err(Refused::Origin), "{origin}");
            assert_eq!(checked(true, "POST", "/api/approve", &headers), Err(Refused::Origin), "{origin}");
        }
        let site = [OWN[0], OWN[1], ("sec-fetch-site", "cross-site")];
        assert_eq!(checked(true, "GET", "/api/live", &site), Err(Refused::Origin));
        assert_eq!(checked(true, "GET", "/app.js", &site), Err(Refused::Origin));
        // A link to the page, which has no data without the token.
        assert_eq!(checked(true, "GET", "/", &site), Ok(()));
        assert_eq!(checked(true, "POST", "/api/approve", &OWN), Err(Refused::Origin), "without an origin");
    }

    #[test]
    fn data_requires_the_token_and_files_do_not() {
        assert_eq!(checked(false, "GET", "/app.js", &[OWN[0]]), Ok(()));
        for token in ["", "0", "0123456789abcdee", "0123456789abcdef0", "0123456789ABCDEF"] {
            let headers = [OWN[0], ("x-kraken-token", token)];
            assert_eq!(checked(false, "GET", "/api/status", &headers), Err(Refused::Token), "{token}");
        }
        assert_eq!(checked(false, "GET", "/api/status", &[OWN[0]]), Err(Refused::Token));
        assert_eq!(checked(false, "GET", "/api/status", &OWN), Ok(()));
    }

    #[test]
    fn nothing_is_written_without_the_flag() {
        let headers = [OWN[0], OWN[1], ("origin", "http://127.0.0.1:4000")];
        assert_eq!(checked(false, "POST", "/api/approve", &headers), Err(Refused::ReadOnly));
        assert_eq!(checked(true, "POST", "/api/approve", &headers), Ok(()));
        for method in ["PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE"] {
            assert_eq!(checked(true, method, "/api/approve", &headers), Err(Refused::Method), "{method}");
        }
    }

    #[test]
    fn tokens_are_long_and_differ() {
        let (one, other) = (Token::random().unwrap(), Token::random().unwrap());
        assert!(one.text().len() == 32 && one.text() != other.text());
    }
}
