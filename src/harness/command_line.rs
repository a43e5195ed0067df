//! The functions by which a harness reads its command line. Before the first reading of the clock they make no input of a
//! benchmark, and in ordinary commits they differ only because code moved between codegen units.

use std::{collections::BTreeSet, path::Path};

use cargo_metadata::{DependencyKind, NodeDep, Package, PackageId, TargetKind};

use super::detect::{HARNESS_CRATES, TargetFacts, linked};
use crate::model::{CommandLineReader, HarnessKind};

/// The packages that criterion and divan read the command line with.
const PARSERS: [&str; 3] = ["clap", "clap_builder", "clap_lex"];

impl TargetFacts<'_> {
    /// The functions that only the harness executes, to read its command line, each with cargo's id of its package.
    ///
    /// Names are no evidence by themselves: each belongs to a package outside of the `checkout`, which no commit
    /// changes, and which alone has this name among all that is linked; and only the harness uses a parser. Where the
    /// benchmark can use it too, it may be what makes the input, or what is measured.
    pub fn command_line_readers(
        &self,
        harness: HarnessKind,
        checkout: &Path,
    ) -> Vec<(CommandLineReader, String)> {
        let linked = self.linked_packages();
        let package = |id: &&PackageId| self.metadata.packages.iter().find(|one| one.id == **id);
        let packages: Vec<&Package> = linked.iter().filter_map(package).collect();
        let is_fixed = |package: &Package| {
            // The files of a packed version's registry are not here.
            let manifest = package.manifest_path.canonicalize_utf8();
            let manifest = manifest.unwrap_or_else(|_| package.manifest_path.clone());
            package.source.is_some() && !manifest.starts_with(checkout)
        };
        let is_only = |package: &Package| {
            let name = crate_of(package);
            let is_namesake = |other: &&&Package| crate_of(other) == name;
            name != self.target.name.replace('-', "_")
                && packages.iter().filter(is_namesake).count() == 1
        };
        let is_harness = |package: &&Package| {
            let known = HARNESS_CRATES.iter().find(|known| package.name == known.package);
            known.is_some_and(|known| known.kind == harness)
        };
        let is_parser = |package: &&Package| PARSERS.contains(&package.name.as_str());
        let meant = packages.iter().copied().filter(|one| is_harness(one) || is_parser(one));
        let fixed: Vec<&Package> = meant.filter(|one| is_fixed(one) && is_only(one)).collect();
        let mut own: BTreeSet<&PackageId> =
            fixed.iter().copied().filter(is_harness).map(|package| &package.id).collect();
        let uses = |user: &PackageId, package: &Package| {
            self.uses_of(user).any(|dependency| dependency.pkg == package.id)
        };
        let only_own = |package: &Package, own: &BTreeSet<&PackageId>| {
            linked.iter().filter(|user| uses(user, package)).all(|user| own.contains(user))
        };
        while let Some(new) = fixed.iter().find(|one| !own.contains(&one.id) && only_own(one, &own))
        {
            own.insert(&new.id);
        }
        let reader = |package: &Package| {
            let name = crate_of(package);
            let reader = match (is_harness(&package), harness) {
                (false, _) => CommandLineReader { start: format!("{name}::"), part: "" },
                // It is generic, so that it is compiled with the benchmarks.
                (true, HarnessKind::Criterion) => CommandLineReader {
                    start: format!("{name}::Criterion<"),
                    part: "::configure_from_args",
                },
                (true, _) => return None,
            };
            Some((reader, package.id.repr.clone()))
        };
        fixed.into_iter().filter(|one| own.contains(&one.id)).filter_map(reader).collect()
    }

    /// All packages that are linked into the target, its own among them.
    fn linked_packages(&self) -> BTreeSet<&PackageId> {
        let mut found = BTreeSet::new();
        let mut left = vec![&self.package.id];
        while let Some(id) = left.pop() {
            if found.insert(id) {
                left.extend(self.uses_of(id).map(|dependency| &dependency.pkg));
            }
        }
        found
    }

    /// The dependencies that a package links; its dev-dependencies only for its own benches.
    fn uses_of(&self, id: &PackageId) -> impl Iterator<Item = &NodeDep> {
        let is_own = *id == self.package.id;
        let is_linked = move |dependency: &&NodeDep| {
            let kinds = &dependency.dep_kinds;
            is_own
                || kinds.is_empty()
                || kinds.iter().any(|kind| kind.kind == DependencyKind::Normal)
        };
        self.node(id).into_iter().flat_map(linked).filter(is_linked)
    }
}

/// The name of a package's library in code.
fn crate_of(package: &Package) -> String {
    let is_library = |kind: &TargetKind| {
        use TargetKind::{Bench, Bin, CustomBuild, Example, Test};
        !matches!(kind, Bench | Bin | CustomBuild | Example | Test)
    };
    let library = package.targets.iter().find(|target| target.kind.iter().any(is_library));
    library.map_or(package.name.as_str(), |library| library.name.as_str()).replace('-', "_")
}

#[cfg(test)]
mod tests {
    use cargo_metadata::{Metadata, MetadataCommand};
    use serde_json::{Value, json};

    use super::*;

    /// Metadata of the package `p` with a bench target `b`. A package is (name, source, directory, its dependencies).
    fn metadata(packages: &[(&str, Option<&str>, &str, &[&str])]) -> Metadata {
        let target = |name: &str, kind: &str| {
            json!({
                "name": name, "kind": [kind], "crate_types": [kind], "src_path": "/x.rs",
                "required_features": [], "edition": "2021", "doctest": false, "test": false,
            })
        };
        let package = |(name, source, directory, _): &(&str, Option<&str>, &str, &[&str])| {
            let crate_ = name.split('@').next().unwrap();
            let own = if *name == "p" { target("b", "bench") } else { target(crate_, "lib") };
            json!({
                "name": crate_, "version": "1.0.0", "id": name, "source": source,
                "dependencies": [], "targets": [own], "features": {},
                "manifest_path": format!("{directory}/{name}/Cargo.toml"),
            })
        };
        let node = |(name, _, _, uses): &(&str, Option<&str>, &str, &[&str])| {
            let dependency = |used: &&str| {
                let kind = if *name == "p" { json!("dev") } else { Value::Null };
                json!({"name": used, "pkg": used, "dep_kinds": [{"kind": kind, "target": null}]})
            };
            let deps: Vec<Value> = uses.iter().map(dependency).collect();
            json!({"id": name, "deps": deps, "dependencies": [], "features": []})
        };
        let metadata = json!({
            "packages": packages.iter().map(package).collect::<Vec<_>>(),
            "workspace_members": ["p"], "version": 1, "workspace_root": "/work",
            "target_directory": "/work/target",
            "resolve": {"nodes": packages.iter().map(node).collect::<Vec<_>>(), "root": "p"},
        });
        MetadataCommand::parse(metadata.to_string()).unwrap()
    }

    const REGISTRY: Option<&str> = Some("registry+https://example.invalid");

    /// The starts of the paths of what only the harness uses, if `p` uses these packages and there are more of them.
    fn starts(
        uses: &[&str],
        more: &[(&str, Option<&str>, &str, &[&str])],
        harness: HarnessKind,
    ) -> Vec<String> {
        let mut packages = vec![
            ("p", None, "/work", uses),
            ("criterion", REGISTRY, "/home", &["clap", "serde"]),
            ("clap", REGISTRY, "/home", &["clap_builder"]),
            ("clap_builder", REGISTRY, "/home", &[]),
            ("serde", REGISTRY, "/home", &[]),
        ];
        packages.retain(|one| more.iter().all(|other| other.0 != one.0));
        packages.extend(more);
        let metadata = metadata(&packages);
        let package = metadata.packages.iter().find(|one| one.name == "p").unwrap();
        let target = &package.targets[0];
        let facts = TargetFacts { metadata: &metadata, package, target, manifest: "", source: "" };
        let readers = facts.command_line_readers(harness, Path::new("/work"));
        readers.into_iter().map(|(reader, _)| reader.start).collect()
    }

    #[test]
    fn command_line_readers_are_used_by_the_harness_only() {
        let all = ["clap::", "clap_builder::", "criterion::Criterion<"];
        let starts = |uses: &[&str], more: &[(&str, Option<&str>, &str, &[&str])]| {
            starts(uses, more, HarnessKind::Criterion)
        };
        assert_eq!(starts(&["criterion"], &[]), all);
        // Another member of the workspace may use it, if the benchmark does not.
        assert_eq!(starts(&["criterion"], &[("tool", None, "/work", &["clap"])]), all);
        let of_harness = &all[2..];
        assert_eq!(starts(&["criterion", "clap"], &[]), of_harness);
        let args = ("args", REGISTRY, "/home", &["clap"][..]);
        assert_eq!(starts(&["criterion", "args"], &[args]), of_harness);
    }

    #[test]
    fn command_line_readers_are_not_local_and_alone_in_name() {
        let starts = |uses: &[&str], more: &[(&str, Option<&str>, &str, &[&str])]| {
            starts(uses, more, HarnessKind::Criterion)
        };
        let of_harness = ["criterion::Criterion<"];
        // A patched, a vendored, and another one of that name.
        assert_eq!(
            starts(&["criterion"], &[("clap", None, "/other", &["clap_builder"])]),
            of_harness
        );
        let vendored = ("clap", REGISTRY, "/work/vendor", &["clap_builder"][..]);
        assert_eq!(starts(&["criterion"], &[vendored]), of_harness);
        let other = ("clap@3", REGISTRY, "/home", &[][..]);
        assert_eq!(starts(&["criterion", "clap@3"], &[other]), of_harness);
        let own = ("criterion", None, "/work", &["clap"][..]);
        assert_eq!(starts(&["criterion"], &[own]), [""; 0]);
    }

    #[test]
    fn command_line_readers_are_those_of_the_detected_harness() {
        for harness in [HarnessKind::Libtest, HarnessKind::Native, HarnessKind::Divan] {
            assert_eq!(starts(&["criterion"], &[], harness), [""; 0], "{harness}");
        }
    }
}
