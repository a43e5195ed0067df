//! The three forms of a [document](super::document) for people. Each is complete: it shows every
//! block, and escapes every text. Programs read the JSON of the report instead.

mod html;
mod markdown;
mod text;

pub use html::{header, html, section_blocks};
pub use markdown::{COMMENT_ROOM, fenced, markdown, markdown_within};
pub use text::text;

#[cfg(test)]
mod tests;
