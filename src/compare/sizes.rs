//! The sizes of executables: of their sections, crates and functions.

use std::{collections::BTreeMap, fs};

use rbench_code::elf::{LinkedFunction, SectionSizes, crate_of};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    builds::{BuildEnv, Compilation, CompiledTarget},
    error::{Context, Error, Exit, Result},
    model::BenchTarget,
};

/// The sizes of the executable of a bench target in base and head, in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TargetSizes {
    /// The bench target.
    #[serde(flatten)]
    pub target: BenchTarget,
    /// The sections in the base.
    pub base: SectionSizes,
    /// The sections in the head.
    pub head: SectionSizes,
    /// The machine code of each crate; that of other languages has an empty name. The largest change first.
    pub crates: Vec<NamedSizes>,
    /// The functions whose size differs, the largest change first.
    pub functions: Vec<NamedSizes>,
}

/// The bytes of machine code of a crate or a function; 0 where it does not exist.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NamedSizes {
    /// Its name.
    pub name: String,
    /// The bytes in the base.
    pub base: u64,
    /// The bytes in the head.
    pub head: u64,
}

impl NamedSizes {
    /// The bytes that the head has more.
    pub fn difference(&self) -> i128 {
        i128::from(self.head) - i128::from(self.base)
    }
}

impl TargetSizes {
    pub(super) fn new(target: &BenchTarget, [base, head]: [&Sizes; 2]) -> Self {
        let named = |sums: fn(&Sizes) -> BTreeMap<String, u64>| {
            let (in_base, mut in_head) = (sums(base), sums(head));
            let mut all: Vec<NamedSizes> = Vec::new();
            for (name, base) in in_base {
                let head = in_head.remove(&name).unwrap_or_default();
                all.push(NamedSizes { name, base, head });
            }
            all.extend(in_head.into_iter().map(|(name, head)| NamedSizes { name, base: 0, head }));
            all.sort_by_key(|one| std::cmp::Reverse(one.difference().abs()));
            all
        };
        let mut functions = named(Sizes::by_function);
        functions.retain(|function| function.difference() != 0);
        Self {
            target: target.clone(),
            base: base.sections,
            head: head.sections,
            crates: named(Sizes::by_crate),
            functions,
        }
    }
}

pub(super) struct Sizes {
    pub(super) target: BenchTarget,
    sections: SectionSizes,
    functions: Vec<LinkedFunction>,
}

impl Sizes {
    pub(super) fn read(
        build_env: &BuildEnv<'_>,
        compilation: &Compilation,
        of: &CompiledTarget,
    ) -> Result<Self> {
        let linked = build_env.listed_executable(compilation, &of.target)?;
        let what = || format!("cannot read the executable of {}", of.target);
        let bytes = fs::read(&of.executable).context(Exit::Build, what)?;
        let sections = SectionSizes::read(&bytes)
            .map_err(|unreadable| Error::new(Exit::Build, what()).cause(unreadable.to_string()))?;
        Ok(Self { target: of.target.clone(), sections, functions: linked.functions })
    }

    /// Functions of one name count together.
    fn by_function(&self) -> BTreeMap<String, u64> {
        self.summed(|function| function.name.as_str().to_owned())
    }

    fn by_crate(&self) -> BTreeMap<String, u64> {
        self.summed(|function| crate_of(&function.name).unwrap_or_default().to_owned())
    }

    fn summed(&self, name: impl Fn(&LinkedFunction) -> String) -> BTreeMap<String, u64> {
        let mut sums = BTreeMap::new();
        for function in &self.functions {
            let sum: &mut u64 = sums.entry(name(function)).or_default();
            *sum = sum.saturating_add(function.size);
        }
        sums
    }
}
