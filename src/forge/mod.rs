//! The APIs of services that host repositories, limited to comments on pull requests.

mod comments;
mod http;

#[cfg(test)]
#[path = "../../tests/e2e/support/api.rs"]
mod api;
#[cfg(test)]
mod tests;

pub use comments::{Comments, FoundComment, Host, Request};
pub use http::{HttpError, Token};
