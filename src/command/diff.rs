//! `cargo rbench diff`: the functions whose machine code differs between two versions.

use super::output::Output;
use crate::project::{Project, source_of};
use crate::{
    cli::{DiffArgs, LayoutArgs},
    code::FunctionSet,
    console::Console,
    failure::{Exit, Failure, Result},
    model::BenchTarget,
    report::{
        CommandLine as _,
        diff::{DiffReport, TargetDiff},
    },
    settings::{self, BuildSettings},
};

/// Compiles both versions and compares them function by function.
pub fn run(args: &DiffArgs) -> Result<Exit> {
    let console = Console::new(args.output.verbose);
    let project = Project::find(args.target.manifest_path.as_deref())?;
    let settings = BuildSettings::resolve(&project.file, &args.compile, &LayoutArgs::default());
    let filter = settings::target_filter(&args.target);
    let versions = args.versions.resolve(
        |revision| project.repository.resolve(revision),
        |words| args.given.suggest("diff", words, &[]),
    )?;

    let workshop = project.workshop(settings.compile, &console)?;
    let mut functions = Vec::with_capacity(versions.len());
    for version in &versions {
        let checkout = project.checkout(version, &console)?;
        let source = source_of(version, &checkout);
        functions.push(workshop.functions(&workshop.compile(source, &filter)?)?);
    }

    let [of_base, of_head] = &functions[..] else {
        return Err(Failure::new(Exit::Internal, "only two versions can be compared"));
    };
    let names = |functions: &[(BenchTarget, FunctionSet)],
                 others: &[(BenchTarget, FunctionSet)]| {
        let is_alone = |target: &BenchTarget| others.iter().all(|(other, _)| other != target);
        let targets = functions.iter().map(|(target, _)| target);
        targets.filter(|target| is_alone(target)).cloned().collect()
    };
    let target = |(target, base): &(BenchTarget, FunctionSet)| {
        let (_, head) = of_head.iter().find(|(other, _)| other == target)?;
        Some(TargetDiff::new(target, base, head))
    };
    let (targets, only_base, only_head) = (
        of_base.iter().filter_map(target).collect(),
        names(of_base, of_head),
        names(of_head, of_base),
    );
    let [base, head] = versions;
    let report = DiffReport { base, head, targets, only_base, only_head };
    Output::new(args.output.format)?.write(&report)?;
    Ok(Exit::Success)
}
