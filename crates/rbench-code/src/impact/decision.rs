//! Decides which differences between two versions a benchmark executes or reads. Pure.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use super::{EnteredFunction, Impact, IncompleteTrace, Trace};
use crate::elf::{Cause, FunctionDiff, Name, SizedFunction};

/// The differences between two versions of a bench target.
#[derive(Clone, Debug)]
pub struct Differences<'d> {
    /// Differences between their functions.
    pub functions: &'d FunctionDiff,
    /// The functions that both have under one symbol, by instance.
    pub common: &'d BTreeMap<u64, Name>,
    /// The files that differ and that one of its benchmarks reads, by their path below the build path.
    pub files: BTreeSet<PathBuf>,
    /// The environment variables of its processes that differ.
    pub variables: &'d BTreeSet<String>,
    /// Those of them that a variant or cargo's configuration sets, for libraries that no trace shows to read them.
    pub configured: &'d BTreeSet<String>,
    /// Differences that may concern every benchmark, as phrases.
    pub everywhere: &'d [String],
    /// The functions with which only the harness reads its command line, by instance.
    pub command_line: &'d BTreeSet<u64>,
}

/// The impact on a benchmark, from its traces in both versions: base and head.
pub fn impact(differences: &Differences<'_>, traces: [&Trace; 2]) -> Impact {
    let is_read = |name: &&String| {
        is_read_at_start(name) || traces.iter().any(|trace| trace.variables.contains(*name))
    };
    let mut uncertainties = differences.everywhere.to_vec();
    for gap in traces.iter().flat_map(|trace| &trace.gaps) {
        let uncertainty = match gap {
            IncompleteTrace::Untraced(reason) => reason.clone(),
            IncompleteTrace::Unnamed => {
                "rbench cannot see every file or variable that it looks for".to_owned()
            }
            IncompleteTrace::AnyVariable => match differences.variables.first() {
                None => continue,
                Some(name) => {
                    format!("it may read environment variables that differ, such as {name}")
                }
            },
        };
        if !uncertainties.contains(&uncertainty) {
            uncertainties.push(uncertainty);
        }
    }
    let unseen = differences.configured.iter().find(|name| !is_read(name));
    uncertainties.extend(unseen.map(|name| format!("it may read {name}, which differs")));
    let (functions, by_harness): (Vec<_>, Vec<_>) = functions(differences.functions, traces)
        .into_iter()
        .partition(|function| !only_reads_command_line(function, differences, traces));
    if functions.is_empty()
        && let Some(name) = unsteady(differences.common, traces)
    {
        uncertainties.push(format!("it does not enter {name} in each execution"));
    }
    Impact {
        functions,
        files: differences.files.iter().map(|file| shown(file)).collect(),
        variables: differences.variables.iter().filter(is_read).cloned().collect(),
        uncertainties,
        by_harness: by_harness.iter().map(|function| function.instance).collect(),
    }
}

/// True if the harness has read its command line with a function, and nothing else was done with it: a process that
/// measured nothing was in set-up all the time. A function with an inlined benchmark is still being executed when the
/// clock is first read.
fn only_reads_command_line(
    function: &EnteredFunction,
    differences: &Differences<'_>,
    traces: [&Trace; 2],
) -> bool {
    !function.while_measuring
        && traces.iter().all(|trace| !trace.while_measuring.is_empty())
        && differences.command_line.contains(&function.instance)
}

/// True if the dynamic linker or the C library reads a variable before the program starts, where no trace sees it. The
/// libraries that `LD_LIBRARY_PATH` leads to are compared as files.
fn is_read_at_start(name: &str) -> bool {
    let prefixes = ["GLIBC_", "LD_", "MALLOC_"];
    name != "LD_LIBRARY_PATH" && prefixes.iter().any(|prefix| name.starts_with(prefix))
}

/// A function that is the same in both versions, but was entered in only one of the executions. If no function that
/// differs is entered, this shows that executions take different paths, and one of them may lead to a difference.
fn unsteady<'d>(common: &'d BTreeMap<u64, Name>, [base, head]: [&Trace; 2]) -> Option<&'d Name> {
    let mut once = base.entered().chain(head.entered());
    once.find_map(|instance| {
        let in_both = base.has_entered(instance) && head.has_entered(instance);
        common.get(&instance).filter(|_| !in_both)
    })
}

/// The functions that differ and that were entered.
fn functions(diff: &FunctionDiff, [base, head]: [&Trace; 2]) -> Vec<EnteredFunction> {
    let mut entered = Vec::new();
    let measured = |trace: &Trace, instance| trace.while_measuring.contains(&instance);
    for function in &diff.changed {
        let (in_base, in_head) = (function.base_instance, function.instance);
        if base.has_entered(in_base) || head.has_entered(in_head) {
            entered.push(EnteredFunction {
                name: function.name.clone(),
                instance: function.instance,
                base_size: Some(function.base_size),
                head_size: Some(function.head_size),
                base_stack: function.base_stack,
                head_stack: function.head_stack,
                while_measuring: measured(base, in_base) || measured(head, in_head),
                cause: function.cause.clone(),
                callees_gained: function.callees_gained.clone(),
                callees_lost: function.callees_lost.clone(),
            });
        }
    }
    let alone = |function: &SizedFunction, trace: &Trace, [in_base, in_head]: [bool; 2]| {
        let SizedFunction { name, instance, size, stack } = function;
        EnteredFunction {
            name: name.clone(),
            instance: *instance,
            base_size: in_base.then_some(*size),
            head_size: in_head.then_some(*size),
            base_stack: stack.filter(|_| in_base),
            head_stack: stack.filter(|_| in_head),
            while_measuring: measured(trace, *instance),
            cause: Cause::Code,
            callees_gained: Vec::new(),
            callees_lost: Vec::new(),
        }
    };
    for function in diff.removed.iter().filter(|function| base.has_entered(function.instance)) {
        entered.push(alone(function, base, [true, false]));
    }
    for function in diff.added.iter().filter(|function| head.has_entered(function.instance)) {
        entered.push(alone(function, head, [false, true]));
    }
    entered.sort_by_cached_key(|function| {
        let sizes = [function.base_size, function.head_size].map(Option::unwrap_or_default);
        let change = sizes[0].abs_diff(sizes[1]);
        (!function.while_measuring, std::cmp::Reverse(change), function.name.clone())
    });
    entered
}

/// The path of a file as its author knows it: below the root of the repository.
fn shown(file: &Path) -> String {
    file.strip_prefix("src").unwrap_or(file).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elf::ChangedFunction;

    fn changed(name: &str, instances: [u64; 2], sizes: [u64; 2]) -> ChangedFunction {
        let ([base_instance, instance], [base_size, head_size]) = (instances, sizes);
        let name = Name::demangle(name);
        ChangedFunction {
            name,
            instance,
            base_instance,
            base_size,
            head_size,
            base_stack: Some(24),
            head_stack: None,
            cause: Cause::Code,
            callees_gained: vec![Name::demangle("gained")],
            callees_lost: Vec::new(),
        }
    }

    fn sized(name: &str, instance: u64) -> SizedFunction {
        SizedFunction { name: Name::demangle(name), instance, size: 9, stack: Some(8) }
    }

    fn trace(in_set_up: &[u64], while_measuring: &[u64]) -> Trace {
        Trace {
            in_set_up: in_set_up.iter().copied().collect(),
            while_measuring: while_measuring.iter().copied().collect(),
            ..Trace::default()
        }
    }

    fn reached_functions(diff: &FunctionDiff, traces: [&Trace; 2]) -> Vec<(String, bool)> {
        reached_beside(&BTreeSet::new(), diff, traces)
    }

    fn reached_beside(
        command_line: &BTreeSet<u64>,
        diff: &FunctionDiff,
        traces: [&Trace; 2],
    ) -> Vec<(String, bool)> {
        let differences = Differences {
            functions: diff,
            common: &BTreeMap::new(),
            files: BTreeSet::new(),
            variables: &BTreeSet::new(),
            configured: &BTreeSet::new(),
            everywhere: &[],
            command_line,
        };
        let impact = impact(&differences, traces);
        let name = |function: &EnteredFunction| function.name.to_string();
        impact.functions.iter().map(|one| (name(one), one.while_measuring)).collect()
    }

    #[test]
    fn changed_function_counts_if_either_version_enters_it() {
        let diff = FunctionDiff {
            changed: vec![changed("a", [1, 11], [10, 20]), changed("b", [2, 12], [10, 40])],
            removed: vec![sized("gone", 3)],
            added: vec![sized("new", 14)],
            ..FunctionDiff::default()
        };
        let none = trace(&[], &[]);
        let is = |names: &[(&str, bool)]| -> Vec<(String, bool)> {
            names.iter().map(|(name, measured)| ((*name).to_owned(), *measured)).collect()
        };
        assert_eq!(reached_functions(&diff, [&none, &none]), []);
        // The numbers of the other version identify other functions.
        assert_eq!(
            reached_functions(&diff, [&trace(&[11, 12, 14], &[]), &trace(&[], &[1, 2, 3])]),
            []
        );
        assert_eq!(reached_functions(&diff, [&trace(&[1], &[]), &none]), is(&[("a", false)]));
        assert_eq!(reached_functions(&diff, [&none, &trace(&[], &[11])]), is(&[("a", true)]));
        let both = [&trace(&[1, 2, 3], &[]), &trace(&[14], &[14])];
        let order = [("new", true), ("b", false), ("a", false), ("gone", false)];
        assert_eq!(
            reached_functions(&diff, both),
            is(&order),
            "measured ones first, then the largest change"
        );
    }

    #[test]
    fn function_has_sizes_in_the_versions_that_have_it() {
        let diff = FunctionDiff {
            changed: vec![changed("a", [1, 1], [10, 20])],
            removed: vec![sized("gone", 2)],
            added: vec![sized("new", 3)],
            ..FunctionDiff::default()
        };
        let trace = trace(&[], &[1, 2, 3]);
        let sizes =
            |one: &EnteredFunction| (one.base_size, one.head_size, one.base_stack, one.head_stack);
        let sizes: Vec<_> = functions(&diff, [&trace, &trace]).iter().map(sizes).collect();
        let a = (Some(10), Some(20), Some(24), None);
        let gone = (Some(9), None, Some(8), None);
        let new = (None, Some(9), None, Some(8));
        assert_eq!(sizes, [a, gone, new]);
    }

    #[test]
    fn command_line_counts_unless_it_is_read_before_measuring() {
        let diff = FunctionDiff {
            changed: vec![changed("clap::parse", [1, 11], [10, 20]), changed("a", [2, 12], [1, 2])],
            ..FunctionDiff::default()
        };
        let readers = BTreeSet::from([11]);
        let reached = |traces: [&Trace; 2]| reached_beside(&readers, &diff, traces);
        let (set_up, measured) = (trace(&[1], &[7]), trace(&[11], &[11]));
        assert_eq!(reached([&set_up, &trace(&[11], &[7])]), []);
        let counts = [("clap::parse".to_owned(), true)];
        assert_eq!(reached([&set_up, &measured]), counts);
        assert_eq!(reached_functions(&diff, [&set_up, &set_up])[0].0, "clap::parse");
        // Without a reading of the clock, this is all that the process does.
        assert_eq!(reached([&set_up, &trace(&[11], &[])]).len(), 1);
        assert_eq!(reached([&trace(&[1, 2], &[7]), &set_up]), [("a".to_owned(), false)]);
    }

    #[test]
    fn files_and_variables_have_impact_and_gaps_are_uncertain() {
        let (functions, everywhere) = (FunctionDiff::default(), ["another compiler".to_owned()]);
        let variables = BTreeSet::from(["A".to_owned(), "B".to_owned()]);
        let differences = Differences {
            functions: &functions,
            common: &BTreeMap::new(),
            files: BTreeSet::from(["src/data/x".into(), "target/release/y".into()]),
            variables: &variables,
            configured: &BTreeSet::new(),
            everywhere: &everywhere,
            command_line: &BTreeSet::new(),
        };
        let asking = |name: &str, gaps: &[IncompleteTrace]| Trace {
            variables: BTreeSet::from([name.to_owned()]),
            gaps: gaps.to_vec(),
            ..Trace::default()
        };
        let found = impact(&differences, [&asking("B", &[]), &asking("C", &[])]);
        assert_eq!(found.files, ["data/x", "target/release/y"]);
        assert_eq!(
            (found.variables, found.uncertainties),
            (vec!["B".to_owned()], everywhere.to_vec())
        );
        let untraced = IncompleteTrace::Untraced("it cannot be traced".to_owned());
        let gaps = [IncompleteTrace::Unnamed, IncompleteTrace::AnyVariable, untraced];
        let found = impact(&differences, [&asking("B", &gaps), &asking("B", &gaps)]);
        assert_eq!(found.uncertainties.len(), 4, "each once: {:?}", found.uncertainties);
        let unaffected = Differences {
            files: BTreeSet::new(),
            variables: &BTreeSet::new(),
            configured: &BTreeSet::new(),
            everywhere: &[],
            ..differences
        };
        let any = asking("B", &[IncompleteTrace::AnyVariable]);
        assert!(impact(&unaffected, [&any, &any]).is_nothing(), "no variable differs");
    }

    #[test]
    fn variables_of_the_dynamic_linker_are_read_by_every_program() {
        let names = ["GLIBC_TUNABLES", "LD_LIBRARY_PATH", "LD_PRELOAD", "MALLOC_ARENA_MAX", "A"];
        let differences = Differences {
            functions: &FunctionDiff::default(),
            common: &BTreeMap::new(),
            files: BTreeSet::new(),
            variables: &names.map(str::to_owned).into(),
            configured: &BTreeSet::new(),
            everywhere: &[],
            command_line: &BTreeSet::new(),
        };
        let traces = [&Trace::default(), &Trace::default()];
        let read = ["GLIBC_TUNABLES", "LD_PRELOAD", "MALLOC_ARENA_MAX"];
        assert_eq!(impact(&differences, traces).variables, read);
    }

    #[test]
    fn configured_variable_is_uncertain_unless_it_is_read() {
        let names = BTreeSet::from(["A".to_owned(), "B".to_owned(), "C".to_owned()]);
        let differences = Differences {
            functions: &FunctionDiff::default(),
            common: &BTreeMap::new(),
            files: BTreeSet::new(),
            variables: &names,
            configured: &BTreeSet::from(["A".to_owned(), "B".to_owned()]),
            everywhere: &[],
            command_line: &BTreeSet::new(),
        };
        let reading = Trace { variables: BTreeSet::from(["A".to_owned()]), ..Trace::default() };
        let found = impact(&differences, [&reading, &Trace::default()]);
        assert_eq!(found.variables, ["A"]);
        assert_eq!(found.uncertainties, ["it may read B, which differs"]);
    }

    #[test]
    fn different_paths_are_uncertain_unless_a_difference_explains() {
        let common = BTreeMap::from([(1, Name::demangle("first")), (2, Name::demangle("second"))]);
        let uncertainties = |diff: &FunctionDiff, traces: [&Trace; 2]| {
            let differences = Differences {
                functions: diff,
                common: &common,
                files: BTreeSet::new(),
                variables: &BTreeSet::new(),
                configured: &BTreeSet::new(),
                everywhere: &[],
                command_line: &BTreeSet::new(),
            };
            impact(&differences, traces).uncertainties
        };
        let none = FunctionDiff::default();
        let (one, both) = (trace(&[1], &[]), trace(&[2], &[1]));
        assert_eq!(
            uncertainties(&none, [&both, &trace(&[1], &[2])]),
            [""; 0],
            "it is only another moment"
        );
        assert_eq!(
            uncertainties(&none, [&both, &trace(&[1, 2, 7], &[])]),
            [""; 0],
            "7 is in one of them"
        );
        for traces in [[&one, &both], [&both, &one]] {
            assert_eq!(
                uncertainties(&none, traces),
                ["it does not enter second in each execution"]
            );
        }
        let differs = FunctionDiff { added: vec![sized("new", 3)], ..none };
        assert_eq!(uncertainties(&differs, [&one, &trace(&[1, 2, 3], &[])]), [""; 0]);
    }
}
