//! Requests whose warnings are read: admission says in them what will happen. Client required.

use http::{Request, header::WARNING};
use http_body_util::BodyExt as _;
use kube::{
    Client,
    api::{DeleteParams, DynamicObject, Patch, PatchParams},
    client::Body,
    core::{Request as Builder, Status},
};
use serde_json::Value;

/// The object after a request, and what admission said.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) object: Option<DynamicObject>,
    pub(crate) warnings: Vec<String>,
}

/// Sends a patch, as a dry run if the parameters say so.
pub(crate) async fn patch(
    client: &Client,
    path: &str,
    name: &str,
    params: &PatchParams,
    patch: &Patch<Value>,
) -> Result<Answer, kube::Error> {
    let request = Builder::new(path).patch(name, params, patch).map_err(kube::Error::BuildRequest)?;
    send(client, request).await
}

/// What the deletion of an object would do.
pub(crate) async fn deletion(client: &Client, path: &str, name: &str) -> Result<Answer, kube::Error> {
    let params = DeleteParams { dry_run: true, ..DeleteParams::default() };
    let request = Builder::new(path).delete(name, &params).map_err(kube::Error::BuildRequest)?;
    send(client, request).await
}

async fn send(client: &Client, request: Request<Vec<u8>>) -> Result<Answer, kube::Error> {
    let response = client.send(request.map(Body::from)).await?;
    let headers = response.headers().get_all(WARNING).into_iter();
    let warnings = headers.filter_map(|header| text(&String::from_utf8_lossy(header.as_bytes()))).collect();
    let is_success = response.status().is_success();
    let code = response.status().as_u16();
    let body = response.into_body().collect().await?.to_bytes();
    if !is_success {
        let status = serde_json::from_slice::<Status>(&body)
            .unwrap_or_else(|_| Status::failure(&String::from_utf8_lossy(&body), "Failed").with_code(code));
        return Err(kube::Error::Api(Box::new(status)));
    }
    Ok(Answer { object: serde_json::from_slice(&body).ok(), warnings })
}

/// The text of a warning header: `299 - "text"`, in which quotes and backslashes are escaped.
fn text(header: &str) -> Option<String> {
    let quoted = header.splitn(3, ' ').nth(2)?.strip_prefix('"')?;
    let mut text = String::new();
    let mut letters = quoted.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => return Some(text),
            '\\' => text.extend(letters.next()),
            other => text.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_warning_is_unquoted() {
        assert_eq!(text(r#"299 - "VPC/a: has \"b\" and \\""#).as_deref(), Some(r#"VPC/a: has "b" and \"#));
        assert_eq!(text("299 - unquoted"), None);
        assert_eq!(text(r#"299 - "open"#), None);
    }
}
