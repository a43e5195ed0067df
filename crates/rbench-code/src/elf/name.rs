//! Names that identify functions across versions, without the parts that vary between compilations.

use std::borrow::Cow;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The name of a function or of data, the same in every version that has it.
///
/// Rust names are demangled, without the hash of the legacy mangling or the crate disambiguators of v0: both depend on
/// the package's path and version. The parts that [`stable_symbol`] removes are absent too. Everything else stays:
/// suffixes such as `.cold` and `.part.0` name separate functions, and C, C++ and assembler names are unchanged.
///
/// The name is not unique: generic instances often share one.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Name(Box<str>);

impl Name {
    /// The name of the function or data with this symbol.
    ///
    /// ```
    /// use rbench_code::elf::Name;
    ///
    /// let name = Name::demangle("_ZN10json_tools5parse17h0123456789abcdefE.llvm.42");
    /// assert_eq!(name.as_str(), "json_tools::parse");
    /// ```
    pub fn demangle(symbol: &str) -> Self {
        let symbol = stable_symbol(symbol);
        // On ELF, Rust symbols have only these two prefixes; a C function may be named `R3foo`.
        if symbol.starts_with("_R") || symbol.starts_with("_ZN") {
            Self(format!("{:#}", rustc_demangle::demangle(&symbol)).into())
        } else {
            Self(symbol.into())
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// A symbol without the numbers with which LLVM distinguishes functions that link-time optimisation combines:
/// `.llvm.<number>`, which makes a local symbol global in thin LTO, and `.<number>` right after the name, which
/// separates local namesakes in fat LTO.
///
/// ```
/// use rbench_code::elf::stable_symbol;
///
/// assert_eq!(stable_symbol("parse.1430.llvm.42.cold"), "parse.cold");
/// ```
pub fn stable_symbol(symbol: &str) -> Cow<'_, str> {
    let (base, suffix) = symbol.split_at(end_of_name(symbol));
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let mut parts = suffix.split('.').skip(1).peekable();
    let mut stable = Cow::Borrowed(base);
    let mut at_name = true;
    while let Some(part) = parts.next() {
        let promotion = part == "llvm" && parts.next_if(|number| is_number(number)).is_some();
        if promotion || (at_name && is_number(part)) {
            continue;
        }
        at_name = false;
        stable.to_mut().push('.');
        stable.to_mut().push_str(part);
    }
    stable
}

/// The end of the mangled name, where suffixes begin: a legacy Rust name contains dots itself, and ends with its hash.
fn end_of_name(symbol: &str) -> usize {
    const HASH: &str = "17h";
    const HASH_DIGITS: usize = 16;
    let is_hash = |&(start, _): &(usize, &str)| {
        let behind = symbol.as_bytes().get(start + HASH.len()..).unwrap_or_default();
        match behind.split_at_checked(HASH_DIGITS) {
            Some((digits, [b'E'] | [b'E', b'.', ..])) => digits.iter().all(u8::is_ascii_hexdigit),
            _ => false,
        }
    };
    match symbol.rmatch_indices(HASH).find(is_hash) {
        Some((start, _)) => start + HASH.len() + HASH_DIGITS + 1,
        None => symbol.find('.').unwrap_or(symbol.len()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn assert_name(symbol: &str, name: &str) {
        assert_eq!(Name::demangle(symbol).as_str(), name, "{symbol}");
    }

    #[test]
    fn legacy_name_loses_its_hash() {
        assert_name("_ZN1a4show17h81d043d6bb8267acE", "a::show");
        assert_name(
            "_ZN52_$LT$a..S$LT$T$GT$$u20$as$u20$core..fmt..Display$GT$3fmt17h01cbf4a1a07ad9bbE",
            "<a::S<T> as core::fmt::Display>::fmt",
        );
        assert_name(
            "_ZN1a4show28_$u7b$$u7b$closure$u7d$$u7d$17h81d043d6bb8267acE",
            "a::show::{{closure}}",
        );
    }

    #[test]
    fn v0_name_loses_its_crate_disambiguators() {
        assert_name("_RNvCs4Q2Qx8jI5j6_1a4show", "a::show");
        assert_name("_RNvCsAAAAAAAAAA_1a4show", "a::show");
        assert_name(
            "_RNvXCs4Q2Qx8jI5j6_1aINtB2_1SmENtNtCsgEmfK2I1SDS_4core3fmt7Display3fmtB2_",
            "<a::S<u32> as core::fmt::Display>::fmt",
        );
    }

    #[test]
    fn crate_hash_changes_no_v0_name_with_back_references() {
        let long = "_RNvXCs4Q2Qx8jI5j6_1aINtB2_1SmENtNtCsgEmfK2I1SDS_4core3fmt7Display3fmtB2_";
        let short = "_RNvXCs4_1aINtB2_1SmENtNtCs5_4core3fmt7Display3fmtB2_";
        assert_eq!(Name::demangle(long), Name::demangle(short));
    }

    #[test]
    fn v0_name_keeps_type_arguments_and_closure_numbers() {
        assert_name("_RNCNvCs4Q2Qx8jI5j6_1a5show20B3_", "a::show2::{closure#0}");
        assert_name("_RNCNvCs4Q2Qx8jI5j6_1a5show2s_0B3_", "a::show2::{closure#1}");
        assert_ne!(Name::demangle("_RINvCs4_1a1fmE"), Name::demangle("_RINvCs4_1a1fyE"));
    }

    #[test]
    fn stable_symbol_drops_thin_lto_promotion() {
        assert_name("_ZN1a4show17h81d043d6bb8267acE.llvm.1234567890", "a::show");
        assert_name("_RNvCs4Q2Qx8jI5j6_1a4show.llvm.1234567890", "a::show");
        assert_name("helper.llvm.99", "helper");
        assert_name("helper.llvm.99.cold", "helper.cold");
        assert_name("helper.llvm.", "helper.llvm.");
        assert_name("helper.llvm.x9", "helper.llvm.x9");
    }

    #[test]
    fn stable_symbol_drops_fat_lto_numbers() {
        assert_name("_ZN22_$LT$a..S$LT$T$GT$$GT$4show17h81d043d6bb8267acE.1430", "<a::S<T>>::show");
        assert_name("_RNvCs4Q2Qx8jI5j6_1a4show.7", "a::show");
        assert_name("_RNvCs4Q2Qx8jI5j6_1a4show.7.llvm.12", "a::show");
        assert_name("_RNvCs4Q2Qx8jI5j6_1a4show.llvm.12.7", "a::show");
        assert_name("counter.7", "counter");
        assert_name("_ZN1a4show17h81d043d6bb8267acE.7.cold.1", "a::show.cold.1");
    }

    #[test]
    fn stable_symbol_keeps_suffixes_of_separate_functions() {
        assert_name("_ZN1a4show17h81d043d6bb8267acE.cold", "a::show.cold");
        assert_name("_ZN1a4show17h81d043d6bb8267acE.llvm.12.cold", "a::show.cold");
        assert_name("_RNvCs4Q2Qx8jI5j6_1a4show.part.0", "a::show.part.0");
        assert_name("parse.part.0", "parse.part.0");
        assert_name("parse.constprop.0.isra.0", "parse.constprop.0.isra.0");
    }

    #[test]
    fn names_of_other_languages_are_unchanged() {
        for symbol in [
            "memcpy",
            "_start",
            "R3foo",
            "ZN3foo3barE",
            "_ZN3foo3barEv",
            "_Z3fooi",
            ".Lloop",
            "1:",
            "",
        ] {
            assert_name(symbol, symbol);
        }
    }

    proptest! {
        #[test]
        fn name_is_independent_of_numbers(symbol in r"(_ZN|_R|)\PC{0,60}", n: u64) {
            prop_assume!(!symbol.contains('.'));
            let name = Name::demangle(&symbol);
            prop_assert_eq!(&Name::demangle(&format!("{symbol}.llvm.{n}")), &name);
            prop_assert_eq!(&Name::demangle(&format!("{symbol}.{n}")), &name);
        }

        #[test]
        fn stable_symbol_accepts_any_text(symbol in r"(_ZN|)[17h0-9a-fE.llvm]{0,60}") {
            let stable = stable_symbol(&symbol);
            prop_assert_eq!(stable_symbol(&stable), stable.clone());
        }
    }
}
