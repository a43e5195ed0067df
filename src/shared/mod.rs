//! Places where several machines share one history: a PostgreSQL database or a directory, with one document for each
//! experiment, or a file with all of them. An experiment has the same identity everywhere and is sent once, so a place
//! is a set that only grows, and two places never conflict. A database also has a queue of comparisons to be made.

mod documents;
mod jobs;
mod place;
mod postgres;

pub use self::{
    documents::{About, Directory, Documents, Summary},
    jobs::{Claim, JOB_FORMAT, NewJob, Order, WorkerDescription},
    place::{Address, Place, SharedVariables},
    postgres::Database,
};
