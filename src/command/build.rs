//! `cargo rbench build`: versions, each built several times with different code layouts.

use std::fs;

use crate::project::Project;
use crate::{
    build::{Event, Order, Source, TargetBuilds, VersionBuilds},
    cli::{BuildArgs, Format},
    code::{self, Agreement, Placement},
    console::Console,
    failure::{Exit, OrFail, Result},
    model::{LayoutSeed, Version},
    report::{self, BuildReport, TargetAgreement, VersionReport},
    settings::{self, BuildSettings},
    source::is_range,
};

/// Builds what was asked for and reports.
pub fn run(args: &BuildArgs) -> Result<Exit> {
    let console = Console::new(args.output.verbose);
    let project = Project::find(args.target.manifest_path.as_deref())?;
    let settings = settings(args, &project);
    let versions = versions(&project, &args.revisions)?;
    console.line(&plan(&versions, &settings));

    let _lock = console.lock(&project.site)?;
    let watch = |event: Event<'_>| console.build_event(&event);
    let workshop = project.workshop(settings.compile.clone(), console.progress_columns(), &watch);
    let order = Order {
        filter: settings::target_filter(&args.target),
        layout: settings.layout,
        strategy: settings.strategy,
        seeds: LayoutSeed::list(settings.seed, settings.builds),
    };
    let mut built = Vec::with_capacity(versions.len());
    for version in &versions {
        let checkout = project.checkout(version, &console)?;
        let source = Source { version, checkout: &checkout };
        built.push(workshop.build(source, &order)?);
    }

    let reports = versions.iter().zip(&built).map(|(v, b)| VersionReport::new(v, b)).collect();
    let report =
        BuildReport::new(settings.layout, settings.seed, reports, agreements(&versions, &built)?);
    Console::result(&match args.output.format {
        Format::Text => report.text(),
        Format::Json => report.json().or_fail(Exit::Internal, || "cannot write the report")? + "\n",
    })?;
    Ok(Exit::Success)
}

fn settings(args: &BuildArgs, project: &Project) -> BuildSettings {
    let resolved = BuildSettings::resolve(&project.file, &args.compile, &args.layout);
    BuildSettings { builds: args.builds.unwrap_or(resolved.builds), ..resolved }
}

fn versions(project: &Project, revisions: &[String]) -> Result<Vec<Version>> {
    let mut versions = Vec::new();
    for revision in revisions {
        if is_range(revision) {
            versions.extend(project.repository.resolve_range(revision)?);
        } else {
            versions.push(project.repository.resolve(revision)?);
        }
    }
    Ok(versions)
}

fn plan(versions: &[Version], settings: &BuildSettings) -> String {
    let names: Vec<String> = versions.iter().map(ToString::to_string).collect();
    format!(
        "plan: {} of each bench target of {}; layout {}, strategy {}, seed {}, profile {}",
        if settings.builds == 1 {
            "1 build".to_owned()
        } else {
            format!("{} builds", settings.builds)
        },
        names.join(", "),
        settings.layout,
        settings.strategy,
        settings.seed,
        settings.compile.profile,
    )
}

/// How far each version agrees with the one before it.
fn agreements(versions: &[Version], built: &[VersionBuilds]) -> Result<Vec<TargetAgreement>> {
    let mut agreements = Vec::new();
    for (versions, built) in versions.windows(2).zip(built.windows(2)) {
        for (base, head) in report::common_targets(&built[0], &built[1]) {
            let base_places = placements(base)?;
            let head_places = placements(head)?;
            let pairs: Vec<Agreement> =
                base_places.iter().zip(&head_places).map(|(a, b)| code::agreement(a, b)).collect();
            let between_seeds = match base_places.as_slice() {
                [one, other, ..] => Some(code::agreement(one, other)),
                _ => None,
            };
            let versions = (&versions[0], &versions[1]);
            agreements.push(TargetAgreement::new(versions, (base, head), &pairs, between_seeds));
        }
    }
    Ok(agreements)
}

fn placements(target: &TargetBuilds) -> Result<Vec<Placement>> {
    target
        .builds
        .iter()
        .map(|build| {
            let what = || format!("cannot read {}", build.executable.display());
            let bytes = fs::read(&build.executable).or_fail(Exit::Build, what)?;
            Placement::of_executable(&bytes).or_fail(Exit::Build, what)
        })
        .collect()
}
