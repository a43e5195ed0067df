//! What came of an execution, as far as it says something of its benchmark.

use crate::{
    failure::{Exit, Failure, Result},
    harness::Outcome,
    model::{Execution, Unmeasured},
};

/// What came of an execution, if that is a result of its benchmark.
pub(super) fn outcome_of(outcome: Result<Outcome>) -> Result<Result<Execution, Unmeasured>> {
    match outcome {
        Err(failure) => failed(failure).map(Err),
        Ok(Outcome::Skipped(reason)) => Ok(Err(Unmeasured::Skipped(reason))),
        Ok(Outcome::Measured(execution)) => Ok(Ok(execution)),
    }
}

/// What a failure says of a benchmark that was executed. Only its own is a result, which is kept as such:
/// any other has nothing to do with the version, and ends the run.
fn failed(failure: Failure) -> Result<Unmeasured> {
    match failure.exit() {
        Exit::Benchmark => Ok(Unmeasured::Failed(failure.to_string())),
        Exit::Interrupted => Err(failure),
        _ => {
            Err(failure
                .hint("every finished execution is kept: run the same command again to resume"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_own_failure_is_a_result_of_a_benchmark() {
        let of = |exit| failed(Failure::new(exit, "cannot"));
        assert_eq!(of(Exit::Benchmark), Ok(Unmeasured::Failed("cannot".to_owned())));
        for exit in [Exit::Usage, Exit::Build, Exit::Internal] {
            let failure = of(exit).unwrap_err();
            assert_eq!(failure.exit(), exit);
            assert!(failure.to_string().ends_with("run the same command again to resume"));
        }
        // Whoever stopped it is told by the run.
        assert_eq!(of(Exit::Interrupted).unwrap_err().to_string(), "cannot");
    }
}
