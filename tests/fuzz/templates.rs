//! Templates: parsing, and rendering with values that look like templates themselves.

use anyhow::Result;
use kraken_options::{Dependency, Path, Piece, RenderError, ResourceRef, Template, TemplateError};
use kraken_testing::fuzz::{self, Rng, Target, require};
use serde_json::Value;

/// In no input, so that its place in a rendered text is that of a value.
const MARK: &str = "\u{f8ff}mark\u{f8ff}";
const VALUES: &[&str] = &[
    "",
    "{{ .Secret.db.password }}",
    "}}",
    "{{",
    "$(NAME) ${NAME} `x`",
    "a\0b",
    "\u{202e}abc",
    "\"quoted\" \\ 'text'",
    "line\r\nline",
];

const TOKENS: &[&str] = &[
    "{{",
    "}}",
    "{",
    "}",
    " ",
    ".",
    "[\"",
    "\"]",
    "['",
    "']",
    "[0]",
    "ConfigMap",
    "Secret",
    "secret",
    "S-ecret",
    ".Subnet",
    ".db",
    ".password",
    "\"",
    "\\",
    "{{ .Secret.db.password }}",
    "{{ .ConfigMap.sizes.small }}",
    "{{ .VPC.main }}",
    "{{ .VPC.main.vpc.CidrBlock }}",
    "{{ .[\"VPC.aws\"].main }}",
    "{{ \"{{\" }}",
    "$",
    "$(",
    "|",
    "range",
    "\n",
    "\t",
    "ä",
];

#[test]
fn no_template_breaks_parsing_and_values_are_inserted_verbatim() -> Result<()> {
    fuzz::run(&Target { name: "templates", dictionary: TOKENS, generate: &generated, check: &check })
}

fn generated(rng: &mut Rng, _: &[Vec<u8>]) -> Vec<u8> {
    fuzz::pieces(rng, TOKENS).into_bytes()
}

fn check(input: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(input).replace('\u{f8ff}', " ");
    let template = match Template::parse(&text) {
        Ok(template) => template,
        Err(TemplateError::Syntax { at, expected }) => {
            return require(text.is_char_boundary(at) && !expected.is_empty(), || {
                format!("the error is at byte {at} of {}", text.len())
            });
        }
        Err(_) => return require(text.len() > 65_536, || "a short template is too long".to_owned()),
    };
    for reference in template.references() {
        reference_is_valid(reference)?;
    }
    rendering(&text, &template)
}

/// The path of a reference is a path for the hub too, unless it is too long for one.
fn reference_is_valid(reference: &Dependency) -> Result<(), String> {
    let Dependency::Resource(ResourceRef { path, .. }) = reference else { return Ok(()) };
    let parsed = Path::parse(path);
    require(path.is_empty() || path.len() > 1024 || parsed.is_ok(), || {
        format!("the path {path:?}: {parsed:?}")
    })
}

fn rendering(text: &str, template: &Template) -> Result<(), String> {
    let rendered = |value: &'static str| template.render(|_| Some(Piece::Text(value)));
    let marked = match rendered(MARK) {
        Ok(marked) => marked,
        Err(error) => return require(error == RenderError::TooLong, || format!("not rendered: {error}")),
    };
    let references = template.references().count();
    require(marked.matches(MARK).count() == references, || {
        format!("{references} references became {:?}", marked.as_str())
    })?;
    if references == 0 && !text.contains("{{") {
        require(marked.as_str() == text, || format!("{text:?} became {:?}", marked.as_str()))?;
    }
    for &value in VALUES {
        let expected = marked.replace(MARK, value);
        let found = rendered(value).map_err(|error| format!("{value:?} was not rendered: {error}"))?;
        require(found.as_str() == expected, || format!("{value:?} became {:?}", found.as_str()))?;
        let json = Value::from(value);
        let as_json = template.render(|_| Some(Piece::Json(&json)));
        require(as_json.is_ok_and(|text| text.as_str() == expected), || {
            format!("{value:?} as JSON differs")
        })?;
    }
    let missing = template.render(|_| None);
    require(matches!(missing, Err(RenderError::Missing(_))) == (references > 0), || {
        "a reference without a value".to_owned()
    })
}
