//! Compares two versions by the bench targets that are needed, and by some after the other where each takes long to
//! compile: the first verdicts are there before the last target is compiled.

use super::{
    Event, Outcome,
    measured::{compare_all, compare_listed},
    request::Request,
    session::Session,
};
use crate::{
    error::{Error, Exit, Result},
    model::BenchTarget,
};

/// Makes comparisons, as [`compare_all`] does, without compiling the bench targets that should have none of the benchmarks
/// that the user named; with all of them if the others have none either.
pub fn compare_needed(requests: &[Request], session: &mut Session<'_>) -> Result<Vec<Outcome>> {
    session.leave_out_unneeded(requests.iter().flat_map(|one| &one.versions))?;
    let compared = compare_in_parts(requests, session);
    // Others than that no version has one are errors of the versions.
    let mut versions = requests.iter().flat_map(|one| &one.versions);
    let are_listed = versions.all(|version| session.listed(version).is_some());
    if compared.is_ok()
        || session.unneeded.is_empty()
        || !are_listed
        || session.has_benchmarks().is_ok()
    {
        return compared;
    }
    let note = "none of them has a benchmark that the filter selects, so all are compiled";
    session.observer.compare_event(Event::Note(note));
    session.need_all();
    compare_in_parts(requests, session)
}

/// Makes comparisons. If they have one base, it is tried before another version is compiled, unless a part of its benchmarks
/// shows less than all.
fn compare_at_once(requests: &[Request], session: &mut Session<'_>) -> Result<Vec<Outcome>> {
    let have_one = requests.windows(2).all(|pair| pair[0].versions[0] == pair[1].versions[0]);
    let tries_base = requests.iter().all(|request| request.tries_base && !request.only_plan);
    if have_one && tries_base && session.runner.means_whole_targets() {
        session.list_base(requests)?;
    }
    compare_all(requests, session)
}

/// Makes comparisons. If there is one and each bench target takes long to compile, as many as cargo compiles at once are
/// compiled, listed and measured before the next ones; they share the error rate as parts of one comparison do.
fn compare_in_parts(requests: &[Request], session: &mut Session<'_>) -> Result<Vec<Outcome>> {
    // A budget is for all bench targets together.
    let [request @ Request { budget: None, only_plan: false, .. }] = requests else {
        return compare_at_once(requests, session);
    };
    let Some(slow) = session.runner.slow_targets(&request.versions)? else {
        return compare_at_once(requests, session);
    };
    let all: Vec<BenchTarget> = slow.targets.into_iter().collect();
    let parts = all.chunks(session.runner.compiled_at_once());
    if parts.len() == 1 {
        return compare_at_once(requests, session);
    }
    let of = all.len();
    session.observer.compare_event(Event::ByTarget { benches: of, lto: slow.lto });
    let verdicts = request.verdicts.clone().shared_by(parts.len());
    let requests = [Request { verdicts, ..request.clone() }];
    let mut experiments = Vec::new();
    let mut joined: Option<Outcome> = None;
    let mut nothing = Error::new(Exit::Internal, "there is no bench target to compare");
    let mut done = 0;
    for benches in parts {
        session.compile_without(all.iter().filter(|one| !benches.contains(one)).cloned());
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
    joined.map(|joined| vec![joined]).ok_or(nothing)
}
