//! The answer to a question: a finding, or the data that it would need.

use std::fmt;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// The reason why a question has no answer from these data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InsufficientData {
    Builds {
        needed: usize,
        found: usize,
    },
    /// Too few executions, of each build where the levels must be distinguished.
    Executions {
        needed: usize,
        found: usize,
    },
    /// Too few measurements of each execution.
    Measurements {
        needed: usize,
        /// The available number, in the shortest execution.
        found: usize,
    },
    Variance,
    /// The costs of builds and executions were not given.
    Cost,
}

impl fmt::Display for InsufficientData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Builds { needed, found } => {
                write!(f, "this needs {needed} builds or more, and there are {found}")
            }
            Self::Executions { needed, found } => {
                write!(
                    f,
                    "this needs {needed} executions or more of each build, and there are {found}"
                )
            }
            Self::Measurements { needed, found } => write!(
                f,
                "this needs {needed} measurements or more of each execution, and the shortest has {found}"
            ),
            Self::Variance => f.write_str("all measurements are exactly equal"),
            Self::Cost => f.write_str("the costs of a build and of an execution are unknown"),
        }
    }
}

/// An answer in JSON.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum Answer<T> {
    /// The finding.
    Found(T),
    /// There is no finding.
    Unanswered(Unanswered),
}

/// A question without an answer.
#[derive(Serialize, JsonSchema)]
pub struct Unanswered {
    /// The reason why the data do not answer it.
    unanswered: String,
}

/// Serializes the finding, or `{"unanswered": reason}` in its place.
pub fn serialize_answer<T: Serialize, E: fmt::Display, S: Serializer>(
    answer: &Result<T, E>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let answer = answer.as_ref().map_or_else(
        |reason| Answer::Unanswered(Unanswered { unanswered: reason.to_string() }),
        Answer::Found,
    );
    answer.serialize(serializer)
}
