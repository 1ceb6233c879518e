//! A scanner over text, for the two small grammars of this crate: dotted paths and templates.
//!
//! Both share the names and the `["bracketed names"]` below, so that a template can contain a path unchanged.

/// A syntax error: what was expected, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unexpected {
    /// Byte offset in the text.
    pub(crate) at: usize,
    /// What was expected.
    pub(crate) expected: &'static str,
}

/// A position in a text, always at a character boundary.
#[derive(Debug)]
pub(crate) struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.rest().is_empty()
    }

    pub(crate) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The text between an earlier position and this one.
    pub(crate) fn since(&self, start: usize) -> &'a str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    pub(crate) fn fail<T>(&self, expected: &'static str) -> Result<T, Unexpected> {
        Err(Unexpected { at: self.at, expected })
    }

    /// Consumes `token` if it is next.
    pub(crate) fn consume(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    /// Consumes characters while they are `wanted`, and returns them.
    pub(crate) fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        self.at += end;
        rest.get(..end).unwrap_or_default()
    }

    /// Consumes and returns the text up to `token`, or to the end.
    pub(crate) fn take_until(&mut self, token: &str) -> &'a str {
        let rest = self.rest();
        let end = rest.find(token).unwrap_or(rest.len());
        self.at += end;
        rest.get(..end).unwrap_or_default()
    }

    pub(crate) fn skip_space(&mut self) {
        self.take_while(char::is_whitespace);
    }

    /// A name without quotes: everything up to a dot, a bracket, a brace, a quote, white space or a control character.
    pub(crate) fn name(&mut self, expected: &'static str) -> Result<&'a str, Unexpected> {
        let plain = |c: char| {
            !matches!(c, '.' | '[' | ']' | '{' | '}' | '"' | '\'') && !c.is_whitespace() && !c.is_control()
        };
        let start = self.at;
        match self.take_while(plain) {
            "" => Err(Unexpected { at: start, expected }),
            name => Ok(name),
        }
    }

    /// `"name"]`, `'name']` or `0]`, after the bracket that opens it.
    pub(crate) fn bracketed(&mut self) -> Result<String, Unexpected> {
        let name = match self.rest().chars().next() {
            Some(quote @ ('"' | '\'')) => self.quoted(quote)?,
            Some('0'..='9') => self.take_while(|c| c.is_ascii_digit()).to_owned(),
            _ => return self.fail("a name in quotes or an index after \"[\""),
        };
        if self.consume("]") { Ok(name) } else { self.fail("\"]\"") }
    }

    /// Text in quotes; a backslash escapes a quote or a backslash.
    pub(crate) fn quoted(&mut self, quote: char) -> Result<String, Unexpected> {
        let start = self.at;
        let mut name = String::new();
        let mut characters = self.rest().char_indices().skip(1);
        while let Some((offset, character)) = characters.next() {
            match character {
                '\\' => {
                    let Some((_, escaped @ ('"' | '\'' | '\\'))) = characters.next() else {
                        self.at = start + offset + 1;
                        return self.fail("a quote or a backslash after the backslash");
                    };
                    name.push(escaped);
                }
                end if end == quote => {
                    self.at = start + offset + quote.len_utf8();
                    return Ok(name);
                }
                plain => name.push(plain),
            }
        }
        self.at = self.text.len();
        self.fail("the quote that ends the name")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_ends_before_punctuation() {
        for end in [".", "[", "]", "{", "}", "\"", "'", " ", "\n", "\0", "\u{a0}"] {
            let text = format!("näme-1/x{end}rest");
            assert_eq!(Scanner::new(&text).name("a name"), Ok("näme-1/x"), "{end:?}");
        }
        assert_eq!(Scanner::new(".").name("a name"), Err(Unexpected { at: 0, expected: "a name" }));
    }

    #[test]
    fn a_bracketed_name_can_contain_any_character() {
        for (text, name) in [
            (r#""a.b"]"#, "a.b"),
            ("'a\"b']", "a\"b"),
            (r#""a\"\\\'"]"#, "a\"\\'"),
            ("\"\"]", ""),
            ("12]", "12"),
        ] {
            let mut scanner = Scanner::new(text);
            assert_eq!(scanner.bracketed().as_deref(), Ok(name));
            assert!(scanner.is_at_end());
        }
    }

    #[test]
    fn an_invalid_bracket_is_reported_with_its_position() {
        for (text, at) in
            [("", 0), ("a]", 0), ("\"a", 2), ("\"a\"", 3), ("\"ä\\n\"]", 4), ("1", 1), ("1a]", 1)]
        {
            assert_eq!(Scanner::new(text).bracketed().map_err(|e| e.at), Err(at), "{text}");
        }
    }
}
