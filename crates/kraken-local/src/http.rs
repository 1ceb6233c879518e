//! The status of a server on loopback, such as `/readyz`: one request, without a connection that is kept.

use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// A server on loopback that does not answer for this long is not ready.
const ANSWERED_WITHIN: Duration = Duration::from_secs(5);

/// The status and the body of the answer to `GET <path>`.
///
/// # Errors
/// When the server does not answer within 5 seconds, or not with HTTP.
pub async fn status(port: u16, path: &str) -> io::Result<(u16, String)> {
    let answer = timeout(ANSWERED_WITHIN, ask(port, path)).await.map_err(io::Error::other)??;
    parse(&answer).ok_or_else(|| io::Error::other("the answer is not HTTP"))
}

async fn ask(port: u16, path: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

fn parse(answer: &str) -> Option<(u16, String)> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.strip_prefix("HTTP/1.")?.split(' ').nth(1)?.parse().ok()?;
    Some((status, body.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_a_status_and_a_body() {
        let answer = "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 3\r\n\r\nno\n";
        assert_eq!(parse(answer), Some((503, "no\n".to_owned())));
        assert_eq!(parse("SSH-2.0"), None);
        assert_eq!(parse("HTTP/1.1 x\r\n\r\n"), None);
    }
}
