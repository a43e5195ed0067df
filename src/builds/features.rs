//! The features of packages that are on, and those that a bench target's source asks for.

use std::{collections::BTreeSet, fs};

use cargo_metadata::{Dependency, FeatureName, Metadata, Node, Package, camino::Utf8Path};

/// Those of these features of a package that are off; none if cargo did not resolve them.
pub fn features_off(metadata: &Metadata, package_id: &str, features: &[String]) -> Vec<String> {
    let nodes = metadata.resolve.as_ref().map_or(&[][..], |resolve| &resolve.nodes);
    let node = nodes.iter().find(|node| node.id.repr == package_id);
    let has = |node: &Node, name: &str| node.features.iter().any(|one| one.as_str() == name);
    let of_dependency = |node: &Node, dependency: &str, name: &str| {
        let name_in_code = dependency.replace('-', "_");
        let dependency = node.deps.iter().find(|one| one.name == name_in_code);
        let node = dependency.and_then(|one| nodes.iter().find(|node| node.id == one.pkg));
        node.is_some_and(|node| has(node, name))
    };
    let on = |feature: &String| {
        node.is_none_or(|node| match feature.split_once('/') {
            Some((dependency, name)) => of_dependency(node, dependency, name),
            None => has(node, feature),
        })
    };
    features.iter().filter(|name| !on(name)).cloned().collect()
}

/// True if one of these features of a package, or one that they turn on in it or in its dependencies, turns on an unstable
/// feature of the language in a library: `#![cfg_attr(feature = "X", feature(…))]`.
pub fn need_nightly(metadata: &Metadata, package: &Package, features: &[String]) -> bool {
    let package_of = |package: &Package, dependency: &str| {
        let is_it = |one: &&Dependency| *one.rename.as_ref().unwrap_or(&one.name) == dependency;
        let wanted = package.dependencies.iter().find(is_it)?;
        let is_wanted =
            |one: &&Package| *one.name == wanted.name && wanted.req.matches(&one.version);
        metadata.packages.iter().find(is_wanted)
    };
    let mut seen = BTreeSet::new();
    let mut open: Vec<(&Package, &str)> = features.iter().map(|one| (package, &**one)).collect();
    while let Some((package, feature)) = open.pop() {
        if !seen.insert((&package.id, feature)) {
            continue;
        }
        if let Some((dependency, feature)) = feature.split_once('/') {
            let dependency = package_of(package, dependency.trim_end_matches('?'));
            open.extend(dependency.map(|dependency| (dependency, feature)));
            continue;
        }
        let library = package.targets.iter().find(|target| target.is_lib());
        let source = library.and_then(|target| fs::read_to_string(&target.src_path).ok());
        if source.is_some_and(|source| turns_on_unstable(&source, feature)) {
            return true;
        }
        let implied = package.features.get(feature).map_or(&[][..], Vec::as_slice);
        open.extend(implied.iter().map(|one| (package, &**one)));
    }
    false
}

/// True if a source has `#![cfg_attr(feature = "X", feature(…))]` for this feature. Attributes with further conditions, such
/// as `docsrs`, do not count.
fn turns_on_unstable(source: &str, feature: &str) -> bool {
    let lines = source.lines().filter(|line| !line.trim_start().starts_with("//"));
    let source: String = lines.flat_map(str::chars).filter(|c| !c.is_whitespace()).collect();
    let condition = format!("#![cfg_attr(feature=\"{feature}\",");
    let mut attributes = source.split(&*condition).skip(1);
    attributes.any(|rest| {
        let attributes = rest.split(")]").next().unwrap_or_default();
        attributes.starts_with("feature(") || attributes.contains(",feature(")
    })
}

/// The attributes of a bench target's source that decide whether it can be compiled and has a benchmark.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceAttributes {
    /// The features of `#![cfg(feature = "…")]`, without which the source is empty.
    pub features: Vec<String>,
    /// True if it has `#![feature(…)]`, which stable compilers refuse, or requires a feature of a package that has it.
    pub is_unstable: bool,
}

impl SourceAttributes {
    /// Reads a source file; none of both if it cannot be read.
    pub fn read(path: &Utf8Path) -> Self {
        Self::parse(&fs::read_to_string(path).unwrap_or_default())
    }

    pub fn parse(source: &str) -> Self {
        // Inner modules have such attributes too, which are indented.
        let is_unstable = source.lines().any(|line| line.starts_with("#![feature("));
        Self { features: source_features(source), is_unstable }
    }
}

/// Takes the features of packages from lines `PACKAGE|FEATURES` of `cargo tree`.
pub fn set_features(metadata: &mut Metadata, lines: &str) {
    let packages = &metadata.packages;
    let Some(resolve) = &mut metadata.resolve else { return };
    for (package, features) in lines.lines().filter_map(|line| line.split_once('|')) {
        let is_it = |one: &&Package| {
            let name = format!("{} v{} ", one.name, one.version);
            let directory = one.manifest_path.parent().map(|path| format!("({path})"));
            package.starts_with(&name) && directory.is_some_and(|path| package.contains(&path))
        };
        let id = packages.iter().find(is_it).map(|package| &package.id);
        if let Some(node) = resolve.nodes.iter_mut().find(|node| Some(&node.id) == id) {
            let names = features.split(',').filter(|name| !name.is_empty());
            node.features = names.map(|name| FeatureName::new(name.to_owned())).collect();
        }
    }
}

/// The features of `#![cfg(feature = "…")]` or `#![cfg(all(…))]`, without which the whole source is left out.
fn source_features(source: &str) -> Vec<String> {
    let conditions = source.lines().filter_map(|line| line.strip_prefix("#![cfg("));
    let simple =
        conditions.filter(|condition| !["any(", "not("].iter().any(|one| condition.contains(one)));
    let is_feature = |before: &str| {
        before.trim_end().strip_suffix('=').is_some_and(|key| key.trim_end().ends_with("feature"))
    };
    let features = |condition: &str| -> Vec<String> {
        let parts: Vec<&str> = condition.split('"').collect();
        let quoted = parts.chunks_exact(2).filter(|pair| is_feature(pair[0]));
        quoted.map(|pair| pair[1].to_owned()).collect()
    };
    simple.flat_map(features).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_of_a_conditional_source_are_found() {
        let found = |line: &str| {
            SourceAttributes::parse(&format!("//! Docs\n{line}\nfn main() {{}}\n")).features
        };
        assert_eq!(found("#![cfg(feature = \"rand\")]"), ["rand"]);
        assert_eq!(found("#![cfg(all(feature=\"a\", feature = \"b\"))]"), ["a", "b"]);
        for other in
            ["#![cfg(any(feature = \"a\", test))]", "#![cfg(test)]", "#[cfg(feature = \"a\")]"]
        {
            assert!(found(other).is_empty(), "{other}");
        }
    }

    #[test]
    fn feature_that_turns_on_an_unstable_one_is_found() {
        let turns_on = |source: &str| turns_on_unstable(source, "simd");
        assert!(turns_on("//! Docs\n#![cfg_attr(feature = \"simd\", feature(portable_simd))]\n"));
        assert!(turns_on(
            "#![cfg_attr(\n  feature = \"simd\",\n  allow(x),\n  feature(a, b),\n)]\n"
        ));
        for other in [
            "#![cfg_attr(feature = \"other\", feature(test))]",
            "#![cfg_attr(feature = \"simd\", allow(x))]\n#![cfg_attr(docsrs, feature(doc_cfg))]",
            "#![cfg_attr(all(feature = \"simd\", docsrs), feature(doc_cfg))]",
            "//! #![cfg_attr(feature = \"simd\", feature(portable_simd))]\n",
        ] {
            assert!(!turns_on(other), "{other}");
        }
    }

    #[test]
    fn unstable_source_has_the_attribute_itself() {
        let is_unstable = |source: &str| SourceAttributes::parse(source).is_unstable;
        assert!(is_unstable("//! Docs\n#![feature(test)]\nextern crate test;\n"));
        for other in [
            "#![cfg_attr(nightly, feature(test))]",
            "// #![feature(test)]",
            "#![cfg(feature = \"a\")]",
        ] {
            assert!(!is_unstable(other), "{other}");
        }
    }
}
