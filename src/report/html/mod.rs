//! A report as one web page: a file that needs no network, no server and no script of others, and that says all
//! without its own script.
//!
//! The script only filters, sorts and saves. A policy in the page forbids everything but the one style and the one
//! script that it has, by their digests; foreign text is escaped by the templates, and is made
//! [visible](super::visible) before.

mod figure;

use askama::Template;
use data_encoding::BASE64;
pub use figure::{Course, Linear, Pairs, Point, Symmetric, Times};
use sha2::{Digest as _, Sha256};

use super::visible::visible;
use crate::failure::{Exit, OrFail as _, Result};

const STYLE: &str = include_str!("../../../templates/style.css");
const SCRIPT: &str = include_str!("../../../templates/script.js");

/// How well the data in a page are compressed, from 0 to 10: beyond, it takes longer and saves next to nothing.
const EFFORT: u8 = 8;

#[derive(Template)]
#[template(path = "page.html")]
struct Page<'p> {
    version: &'static str,
    policy: String,
    title: &'p str,
    style: &'static str,
    script: &'static str,
    body: &'p str,
    /// The name of a file of the data, without its ending.
    file: &'p str,
    data: Option<String>,
}

#[derive(Template)]
#[template(path = "plain.html")]
struct Plain<'p> {
    text: &'p str,
}

/// A page with this body. `json` is what a reader can save, compressed.
pub fn page(title: &str, body: &impl Template, file: &str, json: Option<&str>) -> Result<String> {
    let body = rendered(body)?;
    let page = Page {
        version: env!("CARGO_PKG_VERSION"),
        policy: policy(),
        title: &visible(title),
        style: STYLE,
        script: SCRIPT,
        body: &body,
        file: &file_name(file),
        data: json.map(packed),
    };
    rendered(&page)
}

/// A page of text for a terminal.
pub fn plain(text: &str, json: &str) -> Result<String> {
    page("cargo rbench", &Plain { text }, "report", Some(json))
}

fn rendered(template: &impl Template) -> Result<String> {
    template.render().or_fail(Exit::Internal, || "cannot write the report as a web page")
}

/// What the page may load and execute: its one style and its one script.
fn policy() -> String {
    let digest = |text: &str| BASE64.encode(&Sha256::digest(text));
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        digest(STYLE),
        digest(SCRIPT)
    )
}

/// Text without anything that HTML could take for markup, and much shorter: compressed (RFC 1951), in base 64.
fn packed(text: &str) -> String {
    BASE64.encode(&miniz_oxide::deflate::compress_to_vec(text.as_bytes(), EFFORT))
}

/// A name that any system has for a file.
fn file_name(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
    let name: String = name.chars().take(80).map(letter).collect();
    name.trim_matches(['-', '.']).to_owned()
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod tests;
