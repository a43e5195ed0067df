//! Finds the bench targets of a version.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use cargo_metadata::{
    CrateType, Metadata, MetadataCommand, Package, Target, TargetKind,
    camino::{Utf8Path, Utf8PathBuf},
};
use serde::{Deserialize, Serialize};

use super::{
    cargo::{self, CargoContext, Chosen, Discovered},
    features::{SourceAttributes, features_off, need_nightly, set_features},
    files, tool,
};
use crate::{
    error::{Context, Error, Exit, Result},
    model::{BenchTarget, CompileSettings, Member, Members, TargetFilter},
    process::sandbox::Task,
    shell::{option, quoted},
};

/// The file with cargo's data about a version's workspace, in the directory of the compilation.
pub(super) const KEPT: &str = "workspace.json";

/// Runs cargo metadata, which also completes the lock file; `version` is for error messages.
pub(super) fn metadata(
    context: &CargoContext,
    settings: &CompileSettings,
    version: &str,
) -> Result<Metadata> {
    let what = || format!("cannot read the workspace of {version}");
    let mut command = context.command(&cargo::metadata(context, settings));
    // Cargo caches rustc's answers there, so it need not ask again when it compiles.
    command.env("CARGO_TARGET_DIR", &context.target_dir);
    let output = tool::run(&mut command, Task::Run, what)
        .map_err(|error| explain_outside(error, context))?;
    MetadataCommand::parse(String::from_utf8_lossy(&output.stdout)).context(Exit::Build, what)
}

/// Explains an error about a path dependency that leads out of the repository: its path is beside the version's files,
/// where nothing is.
fn explain_outside(error: Error, context: &CargoContext) -> Error {
    let text = error.to_string();
    let beside = context.target_dir.parent().and_then(|build_path| {
        let rest = text.split_once(&format!("{}/", build_path.display()))?.1;
        let path = rest.split(['`', '\n']).next().unwrap_or_default();
        (!path.starts_with("src/")).then(|| path.trim_end_matches("/Cargo.toml").to_owned())
    });
    let Some(path) = beside else { return error };
    error
        .cause(format!("{path} is outside of the repository, so that no version of it is known"))
        .hint("make it a git dependency, or a submodule of the repository")
}

/// What cargo has said about workspaces, by their files and features: it takes half a second to say it again.
#[derive(Debug, Default)]
pub struct KnownMetadata(RefCell<BTreeMap<String, Metadata>>);

impl KnownMetadata {
    /// Asks unless it is known.
    pub(super) fn get(
        &self,
        key: String,
        ask: impl FnOnce() -> Result<Metadata>,
    ) -> Result<Metadata> {
        if let Some(known) = self.0.borrow().get(&key) {
            return Ok(known.clone());
        }
        let metadata = ask()?;
        self.0.borrow_mut().insert(key, metadata.clone());
        Ok(metadata)
    }
}

/// Cargo's data about a version's workspace.
#[derive(Debug, Serialize, Deserialize)]
pub struct Workspace {
    /// With the features that cargo turns on in the selected packages.
    metadata: Metadata,
    /// The features that rbench turns on, because no selected bench target can be compiled without them.
    added_features: Vec<String>,
    /// True if the compiler refuses `#![feature(…)]`.
    is_stable: bool,
}

impl Workspace {
    /// Asks cargo through `metadata`, once or twice; `compiler` is the output of `rustc -vV`.
    pub fn discover(
        context: &CargoContext,
        settings: &CompileSettings,
        filter: &TargetFilter,
        compiler: &str,
        metadata: &dyn Fn(&CompileSettings) -> Result<Metadata>,
    ) -> Result<Self> {
        let is_stable = !tool::has_unstable_features(compiler, context);
        let ask = |settings: &CompileSettings, added_features| -> Result<Self> {
            let metadata = metadata(settings)?;
            let mut workspace = Self { metadata, added_features, is_stable };
            workspace.unify_features(context, settings, filter);
            Ok(workspace)
        };
        let workspace = ask(settings, Vec::new())?;
        let added = workspace.features_to_add(filter);
        if added.is_empty() {
            return Ok(workspace);
        }
        // Features can turn on dependencies, and features of other members.
        ask(&settings.with_features(&added), added)
    }

    /// The [stored](Self::keep) data of the workspace that was compiled in `home`. Cargo would return the same again,
    /// since the compilation's key covers everything that it depends on.
    pub fn kept(home: &Path) -> Option<Self> {
        files::read_json(&home.join(KEPT))
    }

    /// Stores the data with the compilation in `home`.
    pub fn keep(&self, home: &Path) -> Result<()> {
        files::write_json_line(&home.join(KEPT), self)
    }

    /// The features that rbench turns on besides those of the user.
    pub fn added_features(&self) -> &[String] {
        &self.added_features
    }

    /// Replaces the features of the selected packages by those that cargo turns on when it compiles only these. In
    /// `cargo metadata`, a feature is on if any member of the workspace turns it on.
    fn unify_features(
        &mut self,
        context: &CargoContext,
        settings: &CompileSettings,
        filter: &TargetFilter,
    ) {
        let admitted = |one: &Discovered| filter.admits(&one.target) && one.needs_features();
        let mut asked = BTreeSet::new();
        while self.targets(&TargetKind::Bench).iter().any(admitted) {
            let ready = self.ready_targets(filter);
            let specs: BTreeSet<String> = ready.into_iter().map(|one| one.package_spec).collect();
            // Fewer packages turn on fewer features, so that this ends.
            if specs.is_empty() || specs == asked {
                return;
            }
            let mut command = context.command(&cargo::feature_tree(context, settings, &specs));
            command.env("CARGO_TARGET_DIR", &context.target_dir);
            // Cargo before 1.44 has no such command. It then refuses targets whose features are off.
            let Ok(output) =
                tool::run(&mut command, Task::Run, || "cannot ask for features".to_owned())
            else {
                return;
            };
            set_features(&mut self.metadata, &String::from_utf8_lossy(&output.stdout));
            asked = specs;
        }
    }

    /// The features without which cargo compiles none of the bench targets that the filter selects; none if it compiles
    /// some. They are those of all targets in the same packages, so that the features of a target do not depend on the
    /// names that the user selects.
    fn features_to_add(&self, filter: &TargetFilter) -> Vec<String> {
        if !filter.programs.is_empty() || !self.ready_targets(filter).is_empty() {
            return Vec::new();
        }
        let chosen = self.candidates(filter);
        let selected: BTreeSet<&str> = chosen.iter().map(|one| one.package_id.as_str()).collect();
        let of_packages = self.candidates(&TargetFilter { benches: Vec::new(), ..filter.clone() });
        let is_alone = selected.len() == 1;
        let mut added = BTreeSet::new();
        for package in &self.metadata.packages {
            if !selected.contains(package.id.repr.as_str()) {
                continue;
            }
            let targets = chosen.iter().chain(&of_packages);
            let targets = targets.filter(|one| one.package_id == package.id.repr);
            let missing: BTreeSet<String> =
                targets.flat_map(|one| self.missing_features(one)).collect();
            let is_known =
                |name: &&String| name.contains('/') || package.features.contains_key(*name);
            let name = |name: &String| {
                if is_alone { name.clone() } else { format!("{}/{name}", package.name) }
            };
            added.extend(missing.iter().filter(is_known).map(name));
        }
        added.into_iter().collect()
    }

    /// The features that are off and without which a bench target has no benchmark.
    fn missing_features(&self, found: &Discovered) -> Vec<String> {
        let mut features = found.required_features.clone();
        features.extend(found.source.features.iter().cloned());
        features.sort();
        features.dedup();
        features_off(&self.metadata, &found.package_id, &features)
    }

    fn targets(&self, kind: &TargetKind) -> Vec<Discovered> {
        let packages = self.metadata.workspace_packages().into_iter();
        let mut all: Vec<Discovered> =
            packages.flat_map(|package| package_targets(&self.metadata, package, kind)).collect();
        all.sort_by(|a, b| a.target.cmp(&b.target));
        all
    }

    /// The targets of this kind that the filter admits, in the packages of its members.
    fn admitted(&self, kind: &TargetKind, filter: &TargetFilter) -> Vec<Discovered> {
        let members = self.members(&filter.members);
        let is_of_member =
            |found: &Discovered| members.iter().any(|package| package.id.repr == found.package_id);
        let mut admitted = self.targets(kind);
        admitted.retain(|found| is_of_member(found) && filter.admits(&found.target));
        admitted
    }

    /// The admitted bench targets that this compiler accepts, with their features on or off. If it accepts none, all:
    /// then cargo reports it, as it does for those that the user named.
    fn candidates(&self, filter: &TargetFilter) -> Vec<Discovered> {
        let is_refused = |found: &Discovered| {
            let is_named = filter.benches.contains(&found.target.target);
            self.is_stable && found.source.is_unstable && !is_named
        };
        let mut admitted = self.admitted(&TargetKind::Bench, filter);
        if !admitted.iter().all(is_refused) {
            admitted.retain(|found| !is_refused(found));
        }
        admitted
    }

    /// Those of the [candidates](Self::candidates) whose features are on.
    fn ready_targets(&self, filter: &TargetFilter) -> Vec<Discovered> {
        let mut ready = self.candidates(filter);
        ready.retain(|found| self.missing_features(found).is_empty());
        ready
    }

    /// The bench targets that are left out because this compiler does not accept them.
    pub fn unstable_targets(&self, filter: &TargetFilter) -> Vec<BenchTarget> {
        if !filter.programs.is_empty() {
            return Vec::new();
        }
        let candidates = self.candidates(filter);
        let admitted = self.admitted(&TargetKind::Bench, filter).into_iter();
        let left_out = admitted.filter(|found| !candidates.contains(found));
        left_out.map(|found| found.target).collect()
    }

    /// The bench targets of the workspace that the filter selects; none is no error.
    /// Like cargo, leaves out targets whose required features are off, unless the user named them: then cargo reports
    /// the missing features.
    pub fn bench_targets(&self, filter: &TargetFilter, version: &str) -> Result<Chosen> {
        let programs = !filter.programs.is_empty();
        let mut all = self.targets(if programs { &TargetKind::Bin } else { &TargetKind::Bench });
        let targets = if programs {
            let mut admitted = self.admitted(&TargetKind::Bin, filter);
            let mut examples = self.admitted(&TargetKind::Example, filter);
            // A name stands for an example only where no program has it.
            let is_program = |example: &Discovered| {
                all.iter().any(|program| program.target.target == example.target.target)
            };
            examples.retain(|example| !is_program(example));
            admitted.extend(examples);
            all.extend(self.targets(&TargetKind::Example));
            only_one_of_each(&admitted, &all, filter, version)?;
            admitted
        } else {
            let is_on = |found: &Discovered| {
                let source_features = &found.source.features;
                let is_named = filter.benches.contains(&found.target.target);
                self.missing_features(found).is_empty()
                    || is_named
                        && features_off(&self.metadata, &found.package_id, source_features)
                            .is_empty()
            };
            self.candidates(filter).into_iter().filter(is_on).collect()
        };
        let mut targets: Vec<Discovered> = targets;
        let is_unstable = |found: &Discovered| found.source.is_unstable;
        if self.is_stable && !targets.is_empty() && targets.iter().all(is_unstable) {
            let of_some = targets.first().map(|found| found.target.to_string());
            let what =
                format!("cannot compile the bench targets of {version} on a stable toolchain");
            return Err(Error::new(Exit::Build, what)
                .cause(format!(
                    "{} has `#![feature(…)]`, or requires a feature of a package that has it",
                    of_some.unwrap_or_default()
                ))
                .hint("use a nightly toolchain: cargo +nightly rbench"));
        }
        let mut others = all.iter().filter(|found| !targets.contains(found));
        let has_namesake = others.any(|other| {
            targets.iter().any(|chosen| chosen.package_id == other.package_id)
                && targets.iter().any(|chosen| chosen.target.target == other.target.target)
        });
        let packages = targets.iter().map(|found| found.package_spec.clone()).collect();
        targets.retain(|found| !filter.left_out.contains(&found.target));
        let features = self.added_features.clone();
        Ok(Chosen { targets, packages, features, has_namesake, programs })
    }

    /// The packages of these members in this version: a member that has another name or another directory here is found
    /// by the one that it kept.
    fn members(&self, members: &Members) -> Vec<&Package> {
        let all = self.metadata.workspace_packages();
        match members {
            Members::All => all,
            Members::Default if self.only_others_have_benches() => all,
            Members::Default => {
                all.into_iter().filter(|one| is_default_member(&self.metadata, one)).collect()
            }
            Members::One(member) => {
                let manifest = self.metadata.workspace_root.as_std_path().join(&member.directory);
                let is_there = |one: &&&Package| {
                    one.manifest_path.parent().is_some_and(|path| *path == manifest)
                };
                let named = all.iter().find(|package| package.name == member.name);
                named.or_else(|| all.iter().find(is_there)).into_iter().copied().collect()
            }
        }
    }

    /// True if the default members have no bench target, but other members have one: many projects keep their
    /// benchmarks in a package beside that of the root. Cargo would then run nothing.
    pub fn only_others_have_benches(&self) -> bool {
        let with_bench: Vec<&Package> = self
            .metadata
            .workspace_packages()
            .into_iter()
            .filter(|package| package.targets.iter().any(Target::is_bench))
            .collect();
        !with_bench.is_empty()
            && !with_bench.iter().any(|package| is_default_member(&self.metadata, package))
    }

    /// True if rbench selects this package for these members.
    pub fn selects(&self, members: &Members, package: &Package) -> bool {
        self.members(members).iter().any(|member| member.id == package.id)
    }

    /// The error of a command that needs bench targets, if the filter selects none in this version.
    pub fn nothing_to_build(&self, filter: &TargetFilter, version: &str) -> Error {
        let all = self.targets(&TargetKind::Bench);
        if all.is_empty() {
            let what = format!("no package of {version} has a bench target");
            let mut error = Error::new(Exit::Usage, what)
                .cause("rbench looks for [[bench]] targets and benches/*.rs");
            let outside = manifests_outside(&self.metadata, &self.metadata.workspace_root);
            for manifest in &outside {
                error = error.hint(format!(
                    "{manifest} is not part of this workspace: use it with --manifest-path {manifest}"
                ));
            }
            for advice in benches_in_sources(&self.metadata) {
                error = error.hint(advice);
            }
            // A program needs no bench target.
            for Discovered { target, .. } in self.targets(&TargetKind::Bin) {
                let command = option("command", Some(&quoted(&target.target)));
                error = error.hint(format!("measure the program {}: {command}", target.target));
            }
            return match outside[..] {
                [] => error.hint("add a bench target, or use a version that has one"),
                _ => error,
            };
        }
        let mut error = Error::new(Exit::Usage, format!("no bench target of {version} matches"));
        let members = self.members(&filter.members);
        if let (Members::One(member), []) = (&filter.members, &members[..]) {
            let Member { name, directory } = member;
            error = error.cause(format!("it has no package `{name}` or {}", directory.display()));
        }
        let has_bench = |name: &&String| all.iter().any(|found| found.target.target == **name);
        for name in filter.benches.iter().filter(|name| !has_bench(name)) {
            error = error.cause(format!("no bench target is called `{name}`"));
        }
        let has_package = |name: &&String| all.iter().any(|found| found.target.package == **name);
        for name in filter.packages.iter().filter(|name| !has_package(name)) {
            error = error.cause(format!("no package `{name}` has a bench target"));
        }
        if !filter.excluded.is_empty() {
            error = error.cause(format!("--exclude leaves out {}", filter.excluded.join(", ")));
        }
        error = error.cause("the workspace has:");
        for found in &all {
            let BenchTarget { package, target } = &found.target;
            let needed = needed(&self.missing_features(found));
            error = error.cause(format!("  -p {package} --bench {target}{needed}"));
        }
        let is_member =
            |found: &&Discovered| members.iter().any(|package| package.id.repr == found.package_id);
        let mut admitted = all.iter().filter(|found| filter.admits(&found.target)).peekable();
        match (admitted.peek().is_some(), admitted.any(|found| is_member(&found))) {
            // Those that exist would be on.
            (_, true) => {
                error.hint("add the features that they need to [features] in their Cargo.toml")
            }
            (true, false) => error.hint("select packages with -p, or all of them with --workspace"),
            (false, false) => error.hint("correct -p, --bench or --exclude"),
        }
    }

    /// All bench targets, selected or not, with true where required features are off.
    pub fn all_bench_targets(&self) -> Vec<(BenchTarget, bool)> {
        let is_off = |found: &Discovered| !self.missing_features(found).is_empty();
        let all = self.targets(&TargetKind::Bench).into_iter();
        all.map(|found| (found.target.clone(), is_off(&found))).collect()
    }

    /// The crates of its packages, under their names in code.
    pub fn crates(&self) -> BTreeSet<String> {
        let packages = self.metadata.workspace_packages().into_iter();
        packages
            .flat_map(|package| &package.targets)
            .map(|one| one.name.replace('-', "_"))
            .collect()
    }

    /// Cargo's complete metadata.
    pub const fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Cargo's package and target of a bench target, by the id of the package in cargo's messages.
    pub fn package_and_target(
        &self,
        target: &BenchTarget,
        package_id: &str,
    ) -> Result<(&Package, &Target)> {
        let package = self.metadata.packages.iter().find(|p| p.id.repr == package_id);
        let of_kind = |package: &'_ &Package, kind: TargetKind| {
            let mut targets = package.targets.iter();
            targets.position(|one| one.kind.contains(&kind) && one.name == target.target)
        };
        package
            .and_then(|package| {
                let bench = of_kind(&package, TargetKind::Bench);
                let program = bench.or_else(|| of_kind(&package, TargetKind::Bin));
                let found = program.or_else(|| of_kind(&package, TargetKind::Example))?;
                Some((package, package.targets.get(found)?))
            })
            .ok_or_else(|| {
                Error::new(Exit::Build, format!("cannot find bench target {target}"))
                    .cause("it was compiled, but is no longer in the workspace")
            })
    }

    /// The directory of a package, by its id in cargo's messages.
    pub fn package_directory(&self, id: &str) -> Option<PathBuf> {
        let package = self.metadata.packages.iter().find(|package| package.id.repr == id)?;
        package.manifest_path.parent().map(|directory| directory.as_std_path().to_owned())
    }

    /// The names of all packages whose source may differ between versions: those of the workspace, all others that are
    /// given by a path, and those in the repository, at `source_path`.
    pub fn path_packages(&self, source_path: &Path) -> BTreeSet<&str> {
        self.of_repository(source_path).map(|one| one.name.as_str()).collect()
    }

    /// The ids of packages that have the name of one of [`path_packages`](Self::path_packages), but come from
    /// elsewhere: a benchmark library may depend on the released version of what it measures.
    pub fn namesakes(&self, source_path: &Path) -> BTreeSet<&str> {
        let names = self.path_packages(source_path);
        let own: Vec<_> = self.of_repository(source_path).map(|one| &one.id).collect();
        let all = self.metadata.packages.iter();
        all.filter(|one| names.contains(one.name.as_str()) && !own.contains(&&one.id))
            .map(|one| one.id.repr.as_str())
            .collect()
    }

    fn of_repository(&self, source_path: &Path) -> impl Iterator<Item = &Package> {
        let packages = self.metadata.packages.iter();
        packages
            .filter(move |one| one.source.is_none() || one.manifest_path.starts_with(source_path))
    }
}

/// Manifests with bench targets that are not part of the workspace, up to two directories below `root`, relative to it:
/// projects do this to keep benchmark dependencies away from users of the crate.
pub fn manifests_outside(metadata: &Metadata, root: &Utf8Path) -> Vec<String> {
    let members: Vec<_> = metadata.workspace_packages();
    let below = |directory: &Utf8Path| {
        let entries = directory.read_dir_utf8().into_iter().flatten().flatten();
        let is_source = |name: &str| !name.starts_with('.') && name != "target";
        let paths = entries.filter(move |entry| is_source(entry.file_name()));
        paths.map(|entry| entry.path().to_owned()).collect::<Vec<_>>()
    };
    let has_bench = |manifest: &Utf8PathBuf| {
        let text = fs::read_to_string(manifest).unwrap_or_default();
        let is_package = text.contains("[package]");
        is_package && (text.contains("[[bench]]") || manifest.with_file_name("benches").is_dir())
    };
    let near = below(root);
    let far = near.iter().flat_map(|directory| below(directory));
    let directories = near.iter().cloned().chain(far).chain([root.to_owned()]);
    let manifests = directories.map(|path| path.join("Cargo.toml"));
    let mut outside: Vec<String> = manifests
        .filter(|path| members.iter().all(|one| one.manifest_path != *path) && has_bench(path))
        .filter_map(|path| Some(path.strip_prefix(root).ok()?.to_string()))
        .collect();
    outside.sort();
    outside
}

/// How the `#[bench]` functions inside of libraries and programs of the workspace become benchmarks: cargo runs them with
/// the unit tests, and rbench only those of bench targets. Not for packages that have such a target already.
pub fn benches_in_sources(metadata: &Metadata) -> Vec<String> {
    let advice = |package: &Package| {
        let roots = package.targets.iter().filter(|target| target.is_lib() || target.is_bin());
        let with_benches = roots.filter(|root| has_bench_function(&root.src_path));
        let root = with_benches.min_by_key(|root| !root.is_lib())?;
        let directory = package.manifest_path.parent()?;
        let path = root.src_path.strip_prefix(directory).ok()?;
        let is_target = |target: &Target| target.is_bench() && target.src_path == root.src_path;
        if package.targets.iter().any(is_target) {
            return None;
        }
        let what = if root.is_lib() { "library" } else { "program" };
        Some(format!(
            "{} has #[bench] functions in its {what}; with these lines in its Cargo.toml, cargo +nightly rbench \
             measures them:\n[[bench]]\nname = \"unit\"\npath = \"{path}\"",
            package.name
        ))
    };
    metadata.workspace_packages().into_iter().filter_map(advice).collect()
}

/// True if the crate with this root source has a line that begins with `#[bench]`.
fn has_bench_function(source: &Utf8Path) -> bool {
    crate_text(source).0.lines().any(|line| line.trim().starts_with("#[bench]"))
}

/// The text of a crate's root source and of the modules that it declares, and true if that is all of the crate. Two
/// crates of a package may have their modules in one directory.
pub fn crate_text(source: &Utf8Path) -> (String, bool) {
    /// The most bytes that are read: no one writes longer benchmarks, but a version may have any files.
    const MOST: u64 = 4 << 20;
    // A link may lead anywhere, and one of a directory back to one above.
    let is_file = |path: &Utf8Path| {
        path.symlink_metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() <= MOST)
    };
    if !is_file(source) {
        return (String::new(), false);
    }
    // Its modules are in its own directory, as those of a `mod.rs` are.
    let directory = source.parent().unwrap_or(source);
    let mut sources = vec![(source.to_owned(), directory.to_owned())];
    let (mut seen, mut all, mut is_whole) = (BTreeSet::new(), String::new(), true);
    while let Some((source, directory)) = sources.pop() {
        let Ok(source) = source.canonicalize_utf8() else { continue };
        if !seen.insert(source.clone()) {
            continue;
        }
        if all.len() as u64 > MOST {
            return (all, false);
        }
        let text = fs::read_to_string(source);
        is_whole &= text.is_ok();
        let text = text.unwrap_or_default();
        is_whole &= !["include!", "path = \""].iter().any(|part| text.contains(part));
        for line in text.lines() {
            let code = line.split("//").next().unwrap_or_default().trim();
            let Some((before, name)) = code.split_once("mod ") else { continue };
            // `#[cfg(test)]` may stand on the same line.
            let declares =
                before.is_empty() || before.starts_with("pub") || before.starts_with('#');
            let Some(name) = name.strip_suffix(';').filter(|_| declares) else {
                // One with its own text may have others in a directory of its name, and `mod` may be part of a text.
                is_whole &= !code.contains(';');
                continue;
            };
            let module = directory.join(name.trim());
            let places =
                [(module.join("mod.rs"), module.clone()), (module.with_extension("rs"), module)];
            let found = places.into_iter().find(|(source, _)| is_file(source));
            is_whole &= found.is_some();
            sources.extend(found);
        }
        all.push_str(&text);
    }
    (all, is_whole)
}

/// True if cargo selects the package in the directory of the workspace. Cargo before 1.71 does not say it.
pub fn is_default_member(metadata: &Metadata, package: &Package) -> bool {
    if metadata.workspace_default_members.is_available() {
        return metadata.workspace_default_members.contains(&package.id);
    }
    let root = metadata.root_package();
    root.is_none_or(|root| root.id == package.id)
}

fn needed(features: &[String]) -> String {
    if features.is_empty() {
        String::new()
    } else {
        format!(" (needs --features {})", features.join(","))
    }
}

/// The full specification of a package. Its name, even with its version, may also match a dependency: a crate may
/// depend on a published version of itself.
fn specification(package: &Package) -> String {
    let Package { id, name, version, .. } = package;
    // Before Rust 1.77, ids were `name 1.0.0 (path+file:///directory)`.
    if let Some((_, source)) = id.repr.split_once(" (") {
        let url = source.trim_end_matches(')').trim_start_matches("path+");
        return format!("{url}#{name}:{version}");
    }
    let url = id.repr.split_once('#').map_or(id.repr.as_str(), |(url, _)| url);
    format!("{url}#{name}@{version}")
}

/// Fails unless each wanted program belongs to exactly one package.
fn only_one_of_each(
    chosen: &[Discovered],
    all: &[Discovered],
    filter: &TargetFilter,
    version: &str,
) -> Result<()> {
    for name in &filter.programs {
        let is_named = |found: &&Discovered| found.target.target == *name;
        let of: Vec<&str> =
            chosen.iter().filter(is_named).map(|one| &*one.target.package).collect();
        let error = match of[..] {
            [_] => continue,
            [] => {
                let what = format!("no package of {version} has a program `{name}`");
                let known: Vec<String> =
                    all.iter().map(|found| format!("`{}`", found.target.target)).collect();
                let error = Error::new(Exit::Usage, what);
                let error = match &known[..] {
                    [] => error.cause("it has no program at all"),
                    known => error.cause(format!("it has {}", known.join(", "))),
                };
                error.hint(
                    "--command runs a program of the workspace; a [[command]] in bench.toml can run any other",
                )
            }
            _ => Error::new(Exit::Usage, format!("several packages have a program `{name}`"))
                .cause(format!("they are {}", of.join(", ")))
                .hint("choose one with -p"),
        };
        return Err(error);
    }
    Ok(())
}

fn package_targets(metadata: &Metadata, package: &Package, kind: &TargetKind) -> Vec<Discovered> {
    let attributes = |target: &Target| {
        let mut source = SourceAttributes::read(&target.src_path);
        source.is_unstable |= need_nightly(metadata, package, &target.required_features);
        source
    };
    let root = package.manifest_path.parent().map(PathBuf::from).unwrap_or_default();
    package
        .targets
        .iter()
        // An example can be a library, too.
        .filter(|target| target.kind.contains(kind))
        .filter(|target| !target.is_example() || target.crate_types.contains(&CrateType::Bin))
        .map(|target| Discovered {
            target: BenchTarget { package: package.name.to_string(), target: target.name.clone() },
            package_id: package.id.repr.clone(),
            package_spec: specification(package),
            package_root: root.clone(),
            source_path: target.src_path.clone().into(),
            required_features: target.required_features.clone(),
            source: attributes(target),
            is_example: target.is_example(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_a_crate_has_its_modules_and_says_if_it_lacks_some() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| Utf8PathBuf::from_path_buf(directory.path().join(name)).unwrap();
        let text = |source: &str| {
            fs::write(at("main.rs"), source).unwrap();
            crate_text(&at("main.rs"))
        };
        fs::write(at("ids.rs"), "const ID: &str = \"rising\";").unwrap();
        for whole in
            ["mod ids;", "mod ids; // names", "#[cfg(test)] mod ids;", "pub mod ids;\nmod own {}\n"]
        {
            let (all, is_whole) = text(whole);
            assert!(all.contains("rising") && is_whole, "{whole}");
        }
        for part in ["use a::b; mod ids;", "mod absent;", "#[path = \"x.rs\"]\nmod ids;"] {
            assert!(!text(part).1, "{part}");
        }
        assert!(!text("include!(\"ids.rs\");").1);
        std::os::unix::fs::symlink("/dev/zero", at("zero.rs")).unwrap();
        assert_eq!(crate_text(&at("zero.rs")), (String::new(), false));
    }
}
