//! Compares two versions by some bench targets after the other, where each takes long to compile: the first verdicts
//! are there before the last target is compiled.

use super::{
    Event, Outcome,
    measured::{compare, compare_listed},
    request::Request,
    session::Session,
};
use crate::error::{Error, Exit, Result};

/// Makes a comparison, as [`compare`] does. If each bench target takes long to compile, as many as cargo compiles
/// at once are compiled, listed and measured before the next ones; they share the error rate as parts of one comparison
/// do.
pub fn compare_by_target(request: &Request, session: &mut Session<'_>) -> Result<Outcome> {
    let Some(slow) = session.runner.slow_targets(&request.versions)? else {
        return compare(request, session);
    };
    let names: Vec<String> = slow.names.into_iter().collect();
    let parts = names.chunks(session.runner.compiled_at_once());
    if parts.len() == 1 {
        return compare(request, session);
    }
    let of = names.len();
    session.observer.compare_event(Event::ByTarget { benches: of, lto: slow.lto });
    let verdicts = request.verdicts.clone().shared_by(parts.len());
    let requests = [Request { verdicts, ..request.clone() }];
    let mut experiments = Vec::new();
    let mut joined: Option<Outcome> = None;
    let mut nothing = Error::new(Exit::Internal, "there is no bench target to compare");
    let mut done = 0;
    for benches in parts {
        session.select_benches(benches);
        done += benches.len();
        session.list_any(&request.versions)?;
        if let Err(error) = session.has_benchmarks() {
            // The benchmarks that the user named may be in another target.
            nothing = error;
            continue;
        }
        for outcome in compare_listed(&requests, session, &mut experiments)? {
            let counts = &outcome.counts();
            session.observer.compare_event(Event::TargetsCompared { benches, done, of, counts });
            match &mut joined {
                Some(joined) => joined.add_targets(outcome),
                None => joined = Some(outcome),
            }
        }
    }
    // All experiments are finished together, so an interrupted command is resumed as a whole.
    experiments.iter().try_for_each(|one| session.runner.finish(one))?;
    joined.ok_or(nothing)
}
