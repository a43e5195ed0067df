//! `cargo rbench build`: builds versions, each several times with different code layouts, without measuring.

use std::time::SystemTime;

use super::{output::Output, pack, project_of, selected_targets};
use crate::{
    builds::{BuildRequest, Compiled, VersionBuilds},
    cli::BuildArgs,
    config::{BuildSettings, Purpose, SamplingConfigs, SamplingOptions},
    console::Console,
    error::{Exit, Result},
    model::{LayoutSeed, Version},
    project::source_of,
    report::{
        build::{BuildReport, BuiltVersion, TargetAgreement, WorstAgreement},
        quantity,
    },
};

/// Builds the versions and reports the builds; with `--pack`, packs them instead.
pub fn run(args: &BuildArgs) -> Result<Exit> {
    if let Some(file) = &args.pack {
        return pack::run(args, file);
    }
    let (console, start) = (Console::attach(), SystemTime::now());
    let project = project_of(&args.target)?;
    project.check_tables(&args.revisions, &console)?;
    let settings =
        BuildSettings::resolve(&project.file, args.compile.in_layout(args.layout.layout));
    let common =
        SamplingConfigs::resolve(&project.file, SamplingOptions::default(), Purpose::OneVersion)
            .common();
    let builds = args.builds.unwrap_or(common.interim_analyses.most);
    let versions = project.repository.resolve_all(&args.revisions)?;
    console.line(&plan(&versions, builds, &settings));

    let build_env = project.build_env(settings.compile.clone(), &console)?;
    let request = BuildRequest {
        only: None,
        filter: selected_targets(&project, &args.target),
        layout: settings.layout,
        strategy: settings.strategy,
        seeds: LayoutSeed::list(settings.seed, builds),
    };
    let mut compiled = Vec::with_capacity(versions.len());
    for version in &versions {
        let checkout = project.checkout(version, &console)?;
        let compilation = build_env.compile(source_of(version, &checkout), &request.filter)?;
        compiled.push((version, checkout, compilation));
    }
    let sources: Vec<Compiled<'_>> = compiled
        .iter()
        .map(|(version, checkout, compilation)| (source_of(version, checkout), compilation))
        .collect();
    let built = build_env.link(&sources, &request)?;
    build_env.prune(start);

    let agreements = agreements(&versions, &built)?;
    let built_version = |(version, builds)| BuiltVersion::new(version, builds);
    Output::new(args.output.format)?.write(&BuildReport {
        layout: settings.layout,
        seed: settings.seed,
        versions: versions.into_iter().zip(built).map(built_version).collect(),
        agreements,
    })?;
    Ok(Exit::Success)
}

fn plan(versions: &[Version], builds: u32, settings: &BuildSettings) -> String {
    let names: Vec<String> = versions.iter().map(ToString::to_string).collect();
    format!(
        "plan: {} of each bench target of {}; layout {}, strategy {}, seed {}, profile {}",
        quantity::count(builds as usize, "build"),
        names.join(", "),
        settings.layout,
        settings.strategy,
        settings.seed,
        settings.compile.profile,
    )
}

/// Compares the builds of each version with those of the version before it.
fn agreements(versions: &[Version], built: &[VersionBuilds]) -> Result<Vec<TargetAgreement>> {
    let mut agreements = Vec::new();
    for (versions, built) in versions.windows(2).zip(built.windows(2)) {
        let [of_base, of_head] = built else { continue };
        for base in &of_base.targets {
            let Some(head) = of_head.target(&base.target) else { continue };
            let between = base.between_seeds()?;
            agreements.push(TargetAgreement {
                base: versions[0].clone(),
                head: versions[1].clone(),
                target: base.target.clone(),
                identical: base.digest() == head.digest(),
                worst: WorstAgreement::new(&base.agreements(head)?),
                same_phase_between_seeds: between.map(|between| between.same_phase_share()),
            });
        }
    }
    Ok(agreements)
}
