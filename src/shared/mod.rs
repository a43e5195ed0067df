//! Places where several machines share one history: a PostgreSQL database or a directory, with one document for each
//! experiment, or a file with all of them. An experiment has the same identity everywhere and is sent once, so a place
//! is a set that only grows, and two places never conflict.

mod documents;
mod place;
#[cfg_attr(not(feature = "postgres"), path = "without_postgres.rs")]
mod postgres;

pub use self::{
    documents::{About, Directory, Documents, Listed, Summary, Wanted},
    place::{Place, SharedVariables},
    postgres::{Address, Database},
};
