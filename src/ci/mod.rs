//! Words the results of a comparison for continuous integration. Pure: from the JSON of `compare`
//! and the variables of the service to texts.
//!
//! All texts come from the [`Comparisons`] that `compare` writes as JSON, even if they were just made. A
//! comparison from the job of a fork is therefore reported in the same way, and none of its text is
//! markup or a command.

mod comparison;
mod environment;
mod junit;
mod merge;
mod page;
mod runner;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use comparison::LARGEST;
pub use environment::{Base, CiEnvironment, Event, Provider, is_job};
pub use junit::junit;
pub use merge::merge;
pub use page::{Comment, Links, SUMMARY_ROOM, marker, page, short_page};
pub use runner::{
    Annotation, Definition, Level, MOST_ANNOTATIONS, annotations, definition, outputs, resume, stop,
};

pub use crate::report::compare::Comparisons;
