//! Policy documents, which IAM returns URL-encoded.

pub(crate) use kraken_aws::policy::{
    Document, PolicyDocument, TrustPolicy, compared, imported, imported_trust, resolved, resolved_trust,
};
use percent_encoding::percent_decode_str;

/// The JSON of a document that IAM returns URL-encoded.
pub(crate) fn decoded(text: Option<String>) -> String {
    let text = text.unwrap_or_default();
    // JSON begins with a bracket; in the encoded form, it begins with %7B.
    if text.trim_start().starts_with('{') {
        return text;
    }
    percent_decode_str(&text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_of_iam_is_decoded() {
        let text = r#"{"Statement":{"Effect":"Allow","Action":"s3:*","Resource":"arn:aws:s3:::a%20b/*"}}"#
            .to_owned();
        let encoded: String = text.bytes().map(|byte| format!("%{byte:02X}")).collect();
        assert_eq!(decoded(Some(encoded)), text);
        assert_eq!(decoded(Some(text.clone())), text);
        assert_eq!(decoded(None), "");
    }
}
