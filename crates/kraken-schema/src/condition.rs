//! CEL rules that are conditions on fields: `has()`, comparisons, `in`, `matches()`, and their combinations by `!`, `&&` and `||`.

use regex::Regex;
use serde_json::Value;

/// A condition. Its value is `None` if CEL would report an error, such as a missing field.
#[derive(Debug)]
pub(super) enum Condition {
    Any(Vec<Condition>),
    All(Vec<Condition>),
    Not(Box<Condition>),
    Has(Path),
    ExactlyOne(Vec<Condition>),
    Compared(Term, Comparison, Term),
    In(Term, Vec<Value>),
    StartsWith(Path, String),
    Matches(Path, Regex),
}

/// The names of the fields below `self`.
type Path = Vec<String>;

#[derive(Debug)]
pub(super) enum Term {
    Field(Path),
    /// `string()` of the field.
    Text(Path),
    Literal(Value),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    AtMost,
    AtLeast,
}

impl Condition {
    /// `None` if the rule is of another form.
    pub(super) fn parse(rule: &str) -> Option<Self> {
        let mut parser = Parser(tokens(rule)?);
        let condition = parser.any()?;
        parser.0.is_empty().then_some(condition)
    }

    pub(super) fn holds(&self, value: &Value) -> bool {
        self.of(value) == Some(true)
    }

    fn of(&self, value: &Value) -> Option<bool> {
        match self {
            Self::Any(all) => decided(all, value, true),
            Self::All(all) => decided(all, value, false),
            Self::Not(condition) => condition.of(value).map(|holds| !holds),
            Self::Has(path) => Some(field(value, path).is_some()),
            Self::ExactlyOne(all) => {
                Some(all.iter().filter(|condition| condition.of(value) == Some(true)).count() == 1)
            }
            Self::Compared(one, comparison, other) => {
                comparison.holds(&one.value(value)?, &other.value(value)?)
            }
            Self::In(term, list) => Some(list.contains(&term.value(value)?)),
            Self::Matches(path, regex) => Some(regex.is_match(field(value, path)?.as_str()?)),
            Self::StartsWith(path, prefix) => Some(field(value, path)?.as_str()?.starts_with(prefix)),
        }
    }
}

/// The value of conditions of which one with the value `by` decides.
fn decided(all: &[Condition], value: &Value, by: bool) -> Option<bool> {
    let values: Vec<_> = all.iter().map(|condition| condition.of(value)).collect();
    if values.contains(&Some(by)) {
        return Some(by);
    }
    if values.contains(&None) { None } else { Some(!by) }
}

/// A null counts as absent.
fn field<'a>(value: &'a Value, path: &Path) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, name| value.get(name)).filter(|value| !value.is_null())
}

impl Term {
    fn value(&self, value: &Value) -> Option<Value> {
        match self {
            Self::Field(path) => field(value, path).cloned(),
            Self::Text(path) => match field(value, path)? {
                Value::String(text) => Some(text.as_str().into()),
                other => Some(other.to_string().into()),
            },
            Self::Literal(literal) => Some(literal.clone()),
        }
    }
}

impl Comparison {
    fn holds(self, one: &Value, other: &Value) -> Option<bool> {
        match self {
            Self::Equal => Some(one == other),
            Self::NotEqual => Some(one != other),
            Self::AtMost => Some(one.as_f64()? <= other.as_f64()?),
            Self::AtLeast => Some(one.as_f64()? >= other.as_f64()?),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Name(String),
    Literal(Value),
    Sign(&'static str),
}

const SIGNS: [&str; 14] = ["||", "&&", "==", "!=", "<=", ">=", "!", "(", ")", "[", "]", ",", ".", "-"];

/// The tokens, the last one first.
fn tokens(rule: &str) -> Option<Vec<Token>> {
    let (mut rest, mut tokens) = (rule.trim_start(), vec![]);
    while let Some(first) = rest.chars().next() {
        let end_of = |is_part: fn(char) -> bool| rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let end = if first == '\'' {
            let end = rest[1..].find('\'')? + 2;
            tokens.push(Token::Literal(rest[1..end - 1].into()));
            end
        } else if let Some(raw) = rest.strip_prefix("r\"") {
            let length = raw.find('"')?;
            tokens.push(Token::Literal(raw[..length].into()));
            length + 3
        } else if first.is_ascii_digit() {
            let end = end_of(|c| c.is_ascii_digit());
            tokens.push(Token::Literal(rest[..end].parse::<i64>().ok()?.into()));
            end
        } else if first.is_ascii_alphabetic() {
            let end = end_of(|c| c.is_ascii_alphanumeric() || c == '_');
            tokens.push(match &rest[..end] {
                "true" => Token::Literal(true.into()),
                "false" => Token::Literal(false.into()),
                name => Token::Name(name.to_owned()),
            });
            end
        } else {
            let sign = SIGNS.into_iter().find(|sign| rest.starts_with(sign))?;
            tokens.push(Token::Sign(sign));
            sign.len()
        };
        rest = rest[end..].trim_start();
    }
    tokens.reverse();
    Some(tokens)
}

/// The remaining tokens, the last one first.
struct Parser(Vec<Token>);

impl Parser {
    fn takes(&mut self, sign: &'static str) -> bool {
        self.0.pop_if(|token| *token == Token::Sign(sign)).is_some()
    }

    fn expect(&mut self, sign: &'static str) -> Option<()> {
        self.takes(sign).then_some(())
    }

    fn name(&mut self) -> Option<String> {
        match self.0.pop()? {
            Token::Name(name) => Some(name),
            _ => None,
        }
    }

    fn expect_name(&mut self, expected: &str) -> Option<()> {
        (self.name()? == expected).then_some(())
    }

    fn any(&mut self) -> Option<Condition> {
        let mut all = vec![self.all()?];
        while self.takes("||") {
            all.push(self.all()?);
        }
        Some(Condition::Any(all))
    }

    fn all(&mut self) -> Option<Condition> {
        let mut all = vec![self.one()?];
        while self.takes("&&") {
            all.push(self.one()?);
        }
        Some(Condition::All(all))
    }

    fn one(&mut self) -> Option<Condition> {
        if self.takes("!") {
            return Some(Condition::Not(Box::new(self.one()?)));
        }
        if self.takes("(") {
            let inner = self.any()?;
            return self.expect(")").map(|()| inner);
        }
        if self.takes("[") {
            return self.exactly_one();
        }
        if self.0.last() == Some(&Token::Name("has".to_owned())) {
            self.0.pop();
            return self.in_brackets().map(Condition::Has);
        }
        let term = self.term()?;
        self.rest(term)
    }

    /// `[A, B].exists_one(is_set, is_set)`, after the first bracket.
    fn exactly_one(&mut self) -> Option<Condition> {
        let mut all = vec![self.any()?];
        while self.takes(",") {
            all.push(self.any()?);
        }
        self.expect("]")?;
        self.expect(".")?;
        self.expect_name("exists_one")?;
        self.expect("(")?;
        self.expect_name("is_set")?;
        self.expect(",")?;
        self.expect_name("is_set")?;
        self.expect(")")?;
        Some(Condition::ExactlyOne(all))
    }

    fn rest(&mut self, term: Term) -> Option<Condition> {
        if self.0.last() == Some(&Token::Name("in".to_owned())) {
            self.0.pop();
            self.expect("[")?;
            let mut list = vec![self.literal()?];
            while self.takes(",") {
                list.push(self.literal()?);
            }
            return self.expect("]").map(|()| Condition::In(term, list));
        }
        if let Term::Field(path) = &term
            && let Some((method, path)) = path.split_last()
            && self.takes("(")
        {
            let argument = self.literal()?.as_str()?.to_owned();
            self.expect(")")?;
            return match &**method {
                "startsWith" => Some(Condition::StartsWith(path.to_vec(), argument)),
                "matches" => Some(Condition::Matches(path.to_vec(), Regex::new(&argument).ok()?)),
                _ => None,
            };
        }
        let comparison = match self.0.pop()? {
            Token::Sign("==") => Comparison::Equal,
            Token::Sign("!=") => Comparison::NotEqual,
            Token::Sign("<=") => Comparison::AtMost,
            Token::Sign(">=") => Comparison::AtLeast,
            _ => return None,
        };
        Some(Condition::Compared(term, comparison, self.term()?))
    }

    fn term(&mut self) -> Option<Term> {
        match self.0.last()? {
            Token::Name(name) if name == "string" => {
                self.0.pop();
                self.in_brackets().map(Term::Text)
            }
            Token::Name(_) => self.path().map(Term::Field),
            _ => self.literal().map(Term::Literal),
        }
    }

    fn in_brackets(&mut self) -> Option<Path> {
        self.expect("(")?;
        let path = self.path()?;
        self.expect(")").map(|()| path)
    }

    fn path(&mut self) -> Option<Path> {
        self.expect_name("self")?;
        let mut path = vec![];
        while self.takes(".") {
            path.push(self.name()?);
        }
        Some(path)
    }

    fn literal(&mut self) -> Option<Value> {
        let is_negative = self.takes("-");
        match self.0.pop()? {
            Token::Literal(Value::Number(number)) if is_negative => Some((-number.as_i64()?).into()),
            Token::Literal(value) if !is_negative => Some(value),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn conditions_on_fields_are_evaluated_as_by_cel() {
        let spec = json!({"type": {"value": "gp3"}, "port": {"value": 6}, "both": true, "text": "sg-1"});
        for (rule, holds) in [
            ("has(self.type)", true),
            ("!has(self.type.valueFrom) && has(self.type.value)", true),
            ("self.type.value in ['io1', 'io2']", false),
            ("!(self.type.value in ['io1', 'io2'])", true),
            ("self.type.value != 'gp3' || self.both == true", true),
            ("string(self.port.value) in ['6', '17']", true),
            ("self.port.value <= 6 && self.port.value >= -1", true),
            ("self.port.value >= 7", false),
            ("[has(self.type), has(self.none)].exists_one(is_set, is_set)", true),
            ("[has(self.type), has(self.port)].exists_one(is_set, is_set)", false),
            ("self.text.startsWith('sg-')", true),
            (r#"self.text.matches(r"^sg-[0-9]{1}$") && !self.text.matches(r"\s")"#, true),
            // An error is no success, not even negated, unless another alternative decides.
            ("self.none == 1", false),
            ("!(self.none == 1)", false),
            ("self.none == 1 || has(self.type)", true),
            ("(has(self.type) && self.none == 1) || !has(self.type)", false),
        ] {
            let condition = Condition::parse(rule).expect(rule);
            assert_eq!(condition.holds(&spec), holds, "{rule}");
        }
    }

    #[test]
    fn other_rules_are_unknown() {
        for rule in
            ["", "self.all(key, key != '')", "has(self.a) has(self.b)", "size(self.a) < 3", "self.a =="]
        {
            assert!(Condition::parse(rule).is_none(), "{rule}");
        }
    }
}
