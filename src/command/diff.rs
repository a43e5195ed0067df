//! `cargo rbench diff`: the functions whose machine code differs between two versions.

use crate::project::Project;
use crate::{
    build::{Event, Source},
    cli::{DiffArgs, Format, LayoutArgs},
    code::FunctionSet,
    console::Console,
    failure::{Exit, OrFail, Result},
    model::BenchTarget,
    report::{DiffReport, TargetDiff},
    settings::{self, BuildSettings},
};

/// Compiles both versions and compares them function by function.
pub fn run(args: &DiffArgs) -> Result<Exit> {
    let console = Console::new(args.output.verbose);
    let project = Project::find(args.target.manifest_path.as_deref())?;
    let settings = BuildSettings::resolve(&project.file, &args.compile, &LayoutArgs::default());
    let filter = settings::target_filter(&args.target);
    let versions =
        [project.repository.resolve(&args.base)?, project.repository.resolve(&args.head)?];

    let _lock = console.lock(&project.site)?;
    let watch = |event: Event<'_>| console.build_event(&event);
    let workshop = project.workshop(settings.compile, console.progress_columns(), &watch);
    let mut functions = Vec::with_capacity(versions.len());
    for version in &versions {
        let checkout = project.checkout(version, &console)?;
        let source = Source { version, checkout: &checkout };
        functions.push(workshop.functions(source, &filter)?);
    }

    let [base, head] = versions;
    let mut report = DiffReport::new(base, head);
    for (target, base) in &functions[0] {
        match functions[1].iter().find(|(other, _)| other == target) {
            Some((_, head)) => {
                let diff = FunctionSet::diff(base, head);
                report.targets.push(TargetDiff::new(target, diff, (base, head)));
            }
            None => report.only_base.push(target.clone()),
        }
    }
    let known = |target: &BenchTarget| functions[0].iter().any(|(other, _)| other == target);
    report.only_head =
        functions[1].iter().map(|(target, _)| target).filter(|&t| !known(t)).cloned().collect();
    Console::result(&match args.output.format {
        Format::Text => report.text(),
        Format::Json => report.json().or_fail(Exit::Internal, || "cannot write the report")? + "\n",
    })?;
    Ok(Exit::Success)
}
