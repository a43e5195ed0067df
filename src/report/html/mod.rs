//! Renders a report as one web page: a file that needs no network, no server and no external
//! script, and that is complete without its own script.
//!
//! The script only filters, sorts and saves. A policy in the page forbids everything but its one
//! style and its one script, by their digests. Untrusted text is [escaped](super::escape) first,
//! and then by the templates.

mod figure;

use std::io::Read as _;

use askama::{
    Template,
    filters::{Html, escape},
};
use data_encoding::BASE64;
pub use figure::{Course, Linear, Pairs, Point, Symmetric, Times};
use flate2::{Compression, read::DeflateEncoder};
use sha2::{Digest as _, Sha256};

use super::escape::escape_untrusted;
use crate::error::{Context as _, Exit, Result};

const STYLE: &str = include_str!("../../../templates/style.css");
const SCRIPT: &str = include_str!("../../../templates/script.js");

/// The compression level of the data in a page.
const EFFORT: Compression = Compression::best();

/// The number of digits kept of numbers in the data: measured values have four.
const DIGITS: usize = 6;

#[derive(Template)]
#[template(path = "page.html")]
struct Page<'p> {
    version: &'static str,
    policy: String,
    title: &'p str,
    style: &'p str,
    script: &'p str,
    body: &'p str,
    /// The name of the data file, without its extension.
    file: &'p str,
    data: String,
}

/// A page with this body. `json` is the data that a reader can save; it is stored compressed.
pub fn page(title: &str, body: &str, file: &str, json: &str) -> Result<String> {
    let [style, script] = [STYLE, SCRIPT].map(bare);
    let page = Page {
        version: env!("CARGO_PKG_VERSION"),
        policy: policy(&style, &script),
        title: &escape_untrusted(title),
        style: &style,
        script: &script,
        body,
        file: &file_name(file),
        data: packed(json),
    };
    rendered(&page)
}

/// A number of four digits by which the script sorts, in its shortest form.
pub fn sortable(number: f64) -> String {
    if number.is_infinite() {
        return "Infinity".to_owned();
    }
    let number: f64 = format!("{number:.3e}").parse().unwrap_or(number);
    let [plain, exponential] = [format!("{number}"), format!("{number:e}")];
    if plain.len() <= exponential.len() { plain } else { exponential }
}

/// Text without characters that HTML could take for markup.
pub fn escape_html(text: &str) -> String {
    let Ok(escaped) = escape(text, Html);
    escaped.to_string()
}

/// A name as HTML in which a line may break after `/`, `::` and `..`, unless it fits the narrowest
/// column of names.
pub fn breakable(name: &str) -> String {
    /// The number of characters that always fit.
    const NARROW: usize = 16;
    let escaped = escape_html(name);
    if name.chars().count() <= NARROW {
        return escaped;
    }
    ["/", "::", ".."].iter().fold(escaped, |text, end| text.replace(end, &format!("{end}<wbr>")))
}

pub fn rendered(template: &impl Template) -> Result<String> {
    template.render().context(Exit::Internal, || "cannot write the report as a web page")
}

/// Drops indentation and comment lines, which only developers need.
fn bare(text: &str) -> String {
    let lines =
        text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

/// The content security policy of the page: its one style and its one script.
fn policy(style: &str, script: &str) -> String {
    let digest = |text: &str| BASE64.encode(&Sha256::digest(text));
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        digest(style),
        digest(script)
    )
}

/// A JSON document without anything that HTML could take for markup, and much shorter: compressed
/// (RFC 1951), in base 64.
fn packed(json: &str) -> String {
    let text = shortened(json);
    let mut compressed = Vec::new();
    // Reading from memory does not fail.
    let _ = DeflateEncoder::new(text.as_bytes(), EFFORT).read_to_end(&mut compressed);
    BASE64.encode(&compressed)
}

/// A JSON document without the white space between its tokens, and with fewer digits.
fn shortened(json: &str) -> String {
    let mut out = String::with_capacity(json.len() / 2);
    let mut rest = json;
    while let Some(first) = rest.chars().next() {
        let is_number = |c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E');
        let end = match first {
            '"' => end_of_string(rest),
            '-' | '0'..='9' => rest.find(|c| !is_number(c)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        let (word, after) = rest.split_at(end);
        match word.parse::<f64>() {
            Ok(number) if word.len() > DIGITS + 2 && word.contains(['.', 'e']) => {
                let rounded = format!("{number:.*e}", DIGITS - 1).parse().unwrap_or(number);
                out += &format!("{rounded:?}");
            }
            _ if first.is_ascii_whitespace() => {}
            _ => out += word,
        }
        rest = after;
    }
    out
}

fn end_of_string(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '"' if !is_escaped => return at + 1,
            _ => is_escaped = c == '\\' && !is_escaped,
        }
    }
    text.len()
}

pub fn file_name(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
    let name: String = name.chars().take(80).map(letter).collect();
    name.trim_matches(['-', '.']).to_owned()
}

#[cfg(test)]
mod tests;
