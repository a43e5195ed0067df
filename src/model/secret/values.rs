//! The values of secrets, and their removal from output.

use std::collections::BTreeSet;

use aho_corasick::{AhoCorasick, MatchKind};
use data_encoding::BASE64_NOPAD;

use super::is_secret;

/// The text that replaces a secret in output.
pub const REDACTED: &str = "***";

/// The shortest value, in bytes, that is treated as a secret: shorter words occur in any text.
const SHORTEST: usize = 6;

/// The length, in bytes, below which a value of small letters and hyphens only or of digits only is a word or a number of
/// any text: `postgres`, `my-project`, `1700000000`. To replace it would hide nothing and damage names and measurements.
const SHORTEST_WORD: usize = 16;

/// The shortest user name in an address that is treated as a token.
const SHORTEST_USER: usize = 20;

/// The length of a line of base64 in mail and in the output of `base64`.
const BASE64_LINE: usize = 76;

#[derive(Clone, Debug, Default)]
pub struct SecretValues(BTreeSet<String>);

impl SecretValues {
    /// The values of variables whose names suggest secrets, and the passwords in those of others.
    pub fn of_variables<N: AsRef<str>, V: AsRef<str>>(
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        let mut values = Self::default();
        for (name, value) in variables {
            let value = value.as_ref();
            if is_secret(name.as_ref()) {
                values.add(value);
            }
            values.add_passwords_in(value);
        }
        values
    }

    pub fn add(&mut self, value: &str) {
        let parts = value.lines().chain([value]).chain(passwords(value)).map(str::trim);
        let parts = parts.flat_map(|part| [Some(part.to_owned()), percent_decoded(part)]);
        self.0.extend(parts.flatten().filter(|part| is_distinctive(part)));
    }

    /// Adds the passwords in a value that is no secret as a whole, such as an address.
    pub fn add_passwords_in(&mut self, value: &str) {
        for password in passwords(value) {
            self.add(password);
        }
    }

    /// Removes values that are part of these texts: what everybody sees is no secret.
    pub fn remove_parts_of<T: AsRef<str>>(&mut self, texts: &[T]) {
        self.0.retain(|value| !texts.iter().any(|text| text.as_ref().contains(value)));
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True if a secret occurs in this text, or if the text has a password.
    pub fn are_in(&self, text: &str) -> bool {
        !passwords(text).is_empty() || self.0.iter().any(|value| text.contains(value))
    }

    fn forms(&self) -> BTreeSet<Vec<u8>> {
        self.0.iter().flat_map(|value| forms(value)).collect()
    }
}

pub fn has_password(value: &str) -> bool {
    !passwords(value).is_empty()
}

/// True if the value is unlikely to occur in any text.
fn is_distinctive(value: &str) -> bool {
    let is_word = value.bytes().all(|byte| byte.is_ascii_lowercase() || b"-_.".contains(&byte))
        || value.bytes().all(|byte| byte.is_ascii_digit());
    value.len() >= if is_word { SHORTEST_WORD } else { SHORTEST }
}

/// The passwords in a value: in the address `scheme://USER:PASSWORD@HOST`, as a token `scheme://TOKEN@HOST`, as
/// `password=WORD`, and in the header `Authorization: SCHEME WORD`.
fn passwords(value: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (at, _) in value.match_indices("://") {
        let rest = &value[at + 3..];
        let authority = &rest[..rest.find(['/', '?', '#', ' ', '\n', '"']).unwrap_or(rest.len())];
        // A password may have an unescaped `/`.
        let line = rest.split([' ', '\n', '"']).next().unwrap_or_default();
        let user = authority.rsplit_once('@').or_else(|| line.rsplit_once('@'));
        let Some((user, _)) = user else { continue };
        match user.split_once(':') {
            Some((_, password)) if !password.is_empty() => found.push(password),
            Some((token, _)) => found.push(token),
            None if user.len() >= SHORTEST_USER => found.push(user),
            None => {}
        }
    }
    let lower = value.to_ascii_lowercase();
    for (at, key) in lower.match_indices("password=") {
        let rest = value[at + key.len()..].trim_start_matches(['\'', '"']);
        let end = rest.find(|c: char| c.is_whitespace() || "&;'\"".contains(c));
        found.push(&rest[..end.unwrap_or(rest.len())]);
    }
    for (at, key) in lower.match_indices("authorization:") {
        let line = value[at + key.len()..].lines().next().unwrap_or_default();
        found.extend(line.split_whitespace().last());
    }
    found.retain(|password| !password.is_empty());
    found
}

fn forms(value: &str) -> Vec<Vec<u8>> {
    let json = serde_json::Value::from(value).to_string();
    let debug = format!("{value:?}");
    let percent = percent_encoded(value);
    let mut all = vec![
        value.to_owned(),
        json[1..json.len() - 1].to_owned(),
        debug[1..debug.len() - 1].to_owned(),
        percent.to_ascii_lowercase().replace(&value.to_ascii_lowercase(), value),
        percent.replace("%20", "+"),
        percent,
    ];
    all.extend(base64_forms(value));
    all.retain(|form| form.len() >= SHORTEST);
    all.into_iter().map(String::into_bytes).collect()
}

fn percent_encoded(value: &str) -> String {
    let encode = |byte: u8| match byte {
        b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    value.bytes().map(encode).collect()
}

/// The text that a percent-encoded one stands for; `None` if it is none.
fn percent_decoded(text: &str) -> Option<String> {
    if !text.contains('%') {
        return None;
    }
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [byte, after @ ..] = rest {
        let code = (*byte == b'%').then(|| after.get(..2)).flatten();
        let code = code.and_then(|code| u8::from_str_radix(str::from_utf8(code).ok()?, 16).ok());
        bytes.push(code.unwrap_or(*byte));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).ok()
}

/// The base64 of a value wherever it begins in the encoded text, such as behind `USER:` in the header `Authorization`,
/// without the characters that also encode what is beside it.
fn base64_forms(value: &str) -> Vec<String> {
    let mut forms = Vec::new();
    for before in 0..3 {
        let bytes = [&[0; 2][..before], value.as_bytes()].concat();
        let text = BASE64_NOPAD.encode(&bytes);
        // Three bytes are four characters, six bits each.
        let inner = &text[(before * 8).div_ceil(6)..bytes.len() * 8 / 6];
        let lines = text.as_bytes().chunks(BASE64_LINE).map(String::from_utf8_lossy);
        let is_whole = |line: &std::borrow::Cow<'_, str>| line.len() == BASE64_LINE;
        forms.push(inner.to_owned());
        if before == 0 {
            forms.extend(lines.filter(is_whole).map(std::borrow::Cow::into_owned));
        }
    }
    let for_addresses = forms.iter().map(|form| form.replace('+', "-").replace('/', "_"));
    for_addresses.collect::<Vec<_>>().into_iter().chain(forms).collect()
}

/// Replaces secrets in text.
#[derive(Clone, Debug, Default)]
pub struct Redactor {
    forms: Vec<Vec<u8>>,
    search: Option<AhoCorasick>,
}

impl Redactor {
    /// A redactor of these values. Those that are too large to be searched for are left out.
    pub fn new(values: &SecretValues) -> Self {
        let forms: Vec<Vec<u8>> = values.forms().into_iter().collect();
        let search = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&forms);
        Self { search: search.ok().filter(|_| !forms.is_empty()), forms }
    }

    pub const fn is_empty(&self) -> bool {
        self.search.is_none()
    }

    /// The text without secrets.
    pub fn redact(&self, text: &[u8]) -> Vec<u8> {
        let mut redacted = Vec::with_capacity(text.len());
        self.redact_until(text, text.len(), &mut redacted);
        redacted
    }

    /// Redacts `pending`, the beginning of a text that goes on, as far as no secret can begin there, and removes that
    /// part from it.
    pub fn redact_beginning(&self, pending: &mut Vec<u8>) -> Vec<u8> {
        let mut redacted = Vec::with_capacity(pending.len());
        let done = self.redact_until(pending, self.unfinished(pending), &mut redacted);
        pending.drain(..done);
        redacted
    }

    /// Redacts the secrets that begin before `end`; returns where the redacted part ends.
    fn redact_until(&self, text: &[u8], end: usize, redacted: &mut Vec<u8>) -> usize {
        let mut done = 0;
        for found in self.search.iter().flat_map(|search| search.find_iter(text)) {
            if found.start() >= end {
                break;
            }
            redacted.extend_from_slice(&text[done..found.start()]);
            redacted.extend_from_slice(REDACTED.as_bytes());
            done = found.end();
        }
        if done < end {
            redacted.extend_from_slice(&text[done..end]);
            done = end;
        }
        done
    }

    /// Where a secret may begin that the end of `text` cuts off.
    fn unfinished(&self, text: &[u8]) -> usize {
        let longest = |form: &Vec<u8>| {
            let most = text.len().min(form.len().saturating_sub(1));
            (1..=most).rev().find(|length| text.ends_with(&form[..*length])).unwrap_or(0)
        };
        text.len() - self.forms.iter().map(longest).max().unwrap_or(0)
    }

    /// Redacts the beginning of a secret at the end of `text`, and its end at the beginning, where these were cut off.
    pub fn redact_cut(&self, text: &[u8], [start, end]: [bool; 2]) -> Vec<u8> {
        let from = if start { self.rest_of_secret(text) } else { 0 };
        let until = if end { self.unfinished(text).max(from) } else { text.len() };
        let mut redacted = Vec::with_capacity(text.len());
        if from > 0 {
            redacted.extend_from_slice(REDACTED.as_bytes());
        }
        let done = self.redact_until(&text[from..], until - from, &mut redacted);
        if from + done < text.len() {
            redacted.extend_from_slice(REDACTED.as_bytes());
        }
        redacted
    }

    /// The length of the end of a secret at the beginning of `text`.
    fn rest_of_secret(&self, text: &[u8]) -> usize {
        let longest = |form: &Vec<u8>| {
            let most = text.len().min(form.len().saturating_sub(1));
            let is_rest = |length: &usize| text.starts_with(&form[form.len() - length..]);
            (1..=most).rev().find(is_rest).unwrap_or(0)
        };
        self.forms.iter().map(longest).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redactor(values: &[&str]) -> Redactor {
        let mut secrets = SecretValues::default();
        for value in values {
            secrets.add(value);
        }
        Redactor::new(&secrets)
    }

    fn redacted(values: &[&str], text: &str) -> String {
        String::from_utf8(redactor(values).redact(text.as_bytes())).unwrap()
    }

    #[test]
    fn values_are_those_of_secrets_and_passwords_in_others() {
        let values = SecretValues::of_variables([
            ("A_KEY", "short\nbegin 12\n  rest of it"),
            ("HOME", "/home/ada"),
            ("DATABASE_URL", "postgres://me:p%40ssword@db/x?a=b"),
            ("CONNECTION", "host=db password='s3cret 2' user=me"),
            ("ORIGIN", "https://abcdefghijklmnopqrst@host/x"),
            ("GIT_CONFIG_VALUE_0", "AUTHORIZATION: basic eDp5"),
            ("PROXY", "http://proxy:3128"),
            ("WITH_USER", "ssh://git@host/x"),
        ]);
        let expected = [
            "abcdefghijklmnopqrst",
            "begin 12",
            "p%40ssword",
            "p@ssword",
            "rest of it",
            "s3cret",
            "short\nbegin 12\n  rest of it",
        ];
        let values: Vec<&str> = values.0.iter().map(String::as_str).collect();
        assert_eq!(values, expected);
    }

    #[test]
    fn words_and_numbers_are_no_secrets() {
        let text = "postgres my-project 1700000000 true";
        assert_eq!(redacted(&["postgres", "my-project", "1700000000", "true"], text), text);
        assert_eq!(redacted(&["correcthorsebattery"], "a correcthorsebattery"), "a ***");
    }

    #[test]
    fn secrets_are_redacted_in_usual_encodings() {
        let secret = "a\"b/c d+é\\9";
        let basic = BASE64_NOPAD.encode(format!("user:{secret}").as_bytes());
        for form in [
            secret.to_owned(),
            format!("{secret:?}"),
            serde_json::json!([secret]).to_string(),
            "a%22b%2Fc%20d%2B%C3%A9%5C9".to_owned(),
            "a%22b%2fc%20d%2b%c3%a9%5c9".to_owned(),
            "a%22b%2Fc+d%2B%C3%A9%5C9".to_owned(),
            BASE64_NOPAD.encode(secret.as_bytes()),
            format!("Authorization: Basic {basic}=="),
        ] {
            let redacted = redacted(&[secret], &form);
            assert!(redacted.contains(REDACTED), "{form} is {redacted}");
            assert!(redacted.len() < form.len().max(12), "{form} is {redacted}");
        }
    }

    #[test]
    fn wrapped_base64_of_a_long_secret_is_redacted() {
        let lines: Vec<String> = (100..140).map(|line| format!("line {line}")).collect();
        let secret = lines.join("\n");
        let text = BASE64_NOPAD.encode(secret.as_bytes());
        let wrapped: Vec<&str> =
            text.as_bytes().chunks(76).map(|line| str::from_utf8(line).unwrap()).collect();
        let redacted = redacted(&[&secret], &wrapped.join("\n"));
        assert!(wrapped[..wrapped.len() - 1].iter().all(|line| !redacted.contains(line)));
    }

    #[test]
    fn secrets_in_two_pieces_are_redacted() {
        let redactor = redactor(&["s3cret-one", "s3cret-one-and-more", "one-other"]);
        let text = b"x s3cret-one s3cret-one-and-more, s3cret-one-other s3cre";
        let whole = redactor.redact(text);
        assert_eq!(whole, b"x *** ***, ***-other s3cre");
        for at in 0..text.len() {
            let mut pending = text[..at].to_vec();
            let mut redacted = redactor.redact_beginning(&mut pending);
            pending.extend_from_slice(&text[at..]);
            redacted.extend(redactor.redact(&pending));
            assert_eq!(redacted, whole, "cut at {at}");
        }
    }

    #[test]
    fn pieces_of_secrets_at_cuts_are_redacted() {
        let redactor = redactor(&["s3cret-one"]);
        assert_eq!(
            redactor.redact_cut(b"et-one and s3cret-one, s3c", [true, true]),
            b"*** and ***, ***"
        );
        assert_eq!(redactor.redact_cut(b"et-one s3c", [false, false]), b"et-one s3c");
        assert_eq!(redactor.redact_cut(b"s3cret-one", [true, true]), b"***");
    }
}
