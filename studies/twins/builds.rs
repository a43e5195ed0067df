//! What builds of two versions cost, and how far they agree.

use std::error::Error;

use serde::Deserialize;

use crate::Project;

/// One bench target.
pub struct Cost {
    /// Its name.
    pub target: String,
    /// Functions that both versions have.
    pub common: u32,
    /// The share of them that has the same address in every build.
    pub same_address: f64,
    /// The time that linking takes, in that of `matched`.
    pub links: f64,
    /// The size of the largest executable, in that of `natural`.
    pub size: f64,
}

/// The reports of `rbench build` for three layouts.
pub struct Builds {
    twin: Report,
    matched: Report,
    natural: Report,
}

#[derive(Deserialize)]
struct Report {
    versions: Vec<Version>,
    agreements: Vec<Agreement>,
}

#[derive(Deserialize)]
struct Version {
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    target: String,
    builds: Vec<Build>,
}

#[derive(Deserialize)]
struct Build {
    link_seconds: f64,
    size_bytes: f64,
}

#[derive(Deserialize)]
struct Agreement {
    target: String,
    common: u32,
    same_address: f64,
}

impl Builds {
    /// Builds, or finds what was built.
    pub fn of(project: &Project) -> Result<Self, Box<dyn Error>> {
        let build = |layout| project.rbench(&["build", "--layout", layout]);
        Ok(Self { matched: build("matched")?, twin: build("twin")?, natural: build("natural")? })
    }

    /// The cost of each bench target.
    pub fn costs(&self) -> Vec<Cost> {
        let cost = |agreement: &Agreement| {
            let target = &agreement.target;
            let (twin, matched) = (self.twin.of(target), self.matched.of(target));
            Cost {
                target: target.clone(),
                common: agreement.common,
                same_address: agreement.same_address,
                links: links(&twin) / links(&matched),
                size: size(&twin) / size(&self.natural.of(target)),
            }
        };
        self.twin.agreements.iter().map(cost).collect()
    }
}

impl Report {
    /// All builds of a bench target.
    fn of(&self, name: &str) -> Vec<&Build> {
        let targets = self.versions.iter().flat_map(|version| &version.targets);
        targets.filter(|target| target.target == name).flat_map(|target| &target.builds).collect()
    }
}

fn links(builds: &[&Build]) -> f64 {
    builds.iter().map(|build| build.link_seconds).sum()
}

fn size(builds: &[&Build]) -> f64 {
    builds.iter().map(|build| build.size_bytes).fold(0.0, f64::max)
}
