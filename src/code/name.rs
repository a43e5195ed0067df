//! What identifies a function across versions: its name without what only a compiler put there.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The name of a function or of data, the same in every version that has it.
///
/// Rust names are demangled, without the hash of the legacy mangling or the crate disambiguators of
/// v0: both depend on the package's path and version. Suffixes `.llvm.<number>`, by which thin LTO
/// makes local names global, go as well. All else stays: suffixes such as `.cold` and `.part.0` name
/// functions of their own, and C, C++ and assembler names stand as they are.
///
/// The name is no key: generic instances often share one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Name(Box<str>);

impl Name {
    /// The name of the function or data with this symbol.
    ///
    /// ```
    /// use cargo_rbench::code::Name;
    ///
    /// let name = Name::of("_ZN10json_tools5parse17h0123456789abcdefE.llvm.42");
    /// assert_eq!(name.as_str(), "json_tools::parse");
    /// ```
    pub fn of(symbol: &str) -> Self {
        let symbol = without_promotion(symbol);
        // On ELF, Rust symbols start in these two ways only; a C function may be named `R3foo`.
        if symbol.starts_with("_R") || symbol.starts_with("_ZN") {
            Self(format!("{:#}", rustc_demangle::demangle(&symbol)).into())
        } else {
            Self(symbol.into())
        }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// The symbol without `.llvm.<digits>`, wherever that stands (`f.llvm.7.cold` is `f.cold`).
pub(super) fn without_promotion(symbol: &str) -> Cow<'_, str> {
    const MARK: &str = ".llvm.";
    let Some(start) = symbol.find(MARK) else { return Cow::Borrowed(symbol) };
    let (head, tail) = (&symbol[..start], &symbol[start + MARK.len()..]);
    let rest = tail.trim_start_matches(|c: char| c.is_ascii_digit());
    match rest {
        _ if rest.len() == tail.len() => Cow::Borrowed(symbol),
        "" => Cow::Borrowed(head),
        _ if rest.starts_with('.') => Cow::Owned(format!("{head}{rest}")),
        _ => Cow::Borrowed(symbol),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn assert_name(symbol: &str, name: &str) {
        assert_eq!(Name::of(symbol).as_str(), name, "{symbol}");
    }

    #[test]
    fn a_legacy_name_loses_its_hash() {
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
    fn a_v0_name_loses_its_crate_disambiguators() {
        assert_name("_RNvCs4Q2Qx8jI5j6_1a4show", "a::show");
        assert_name("_RNvCsAAAAAAAAAA_1a4show", "a::show");
        assert_name(
            "_RNvXCs4Q2Qx8jI5j6_1aINtB2_1SmENtNtCsgEmfK2I1SDS_4core3fmt7Display3fmtB2_",
            "<a::S<u32> as core::fmt::Display>::fmt",
        );
    }

    #[test]
    fn the_hash_of_a_crate_does_not_matter_even_where_it_moves_back_references() {
        let long = "_RNvXCs4Q2Qx8jI5j6_1aINtB2_1SmENtNtCsgEmfK2I1SDS_4core3fmt7Display3fmtB2_";
        let short = "_RNvXCs4_1aINtB2_1SmENtNtCs5_4core3fmt7Display3fmtB2_";
        assert_eq!(Name::of(long), Name::of(short));
    }

    #[test]
    fn a_v0_name_keeps_type_arguments_and_the_number_of_a_closure() {
        assert_name("_RNCNvCs4Q2Qx8jI5j6_1a5show20B3_", "a::show2::{closure#0}");
        assert_name("_RNCNvCs4Q2Qx8jI5j6_1a5show2s_0B3_", "a::show2::{closure#1}");
        assert_ne!(Name::of("_RINvCs4_1a1fmE"), Name::of("_RINvCs4_1a1fyE"));
    }

    #[test]
    fn thin_lto_promotion_leaves_no_trace() {
        assert_name("_ZN1a4show17h81d043d6bb8267acE.llvm.1234567890", "a::show");
        assert_name("_RNvCs4Q2Qx8jI5j6_1a4show.llvm.1234567890", "a::show");
        assert_name("helper.llvm.99", "helper");
        assert_name("helper.llvm.99.cold", "helper.cold");
        assert_name("helper.llvm.", "helper.llvm.");
        assert_name("helper.llvm.x9", "helper.llvm.x9");
    }

    #[test]
    fn suffixes_that_name_a_function_of_its_own_stay() {
        assert_name("_ZN1a4show17h81d043d6bb8267acE.cold", "a::show.cold");
        assert_name("_ZN1a4show17h81d043d6bb8267acE.llvm.12.cold", "a::show.cold");
        assert_name("_RNvCs4Q2Qx8jI5j6_1a4show.part.0", "a::show.part.0");
        assert_name("parse.part.0", "parse.part.0");
        assert_name("parse.constprop.0.isra.0", "parse.constprop.0.isra.0");
    }

    #[test]
    fn names_of_other_languages_stand_as_they_are() {
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
        fn any_text_has_a_name_and_no_name_grows_a_promotion(symbol in r"(_ZN|_R|)\PC{0,60}", n: u64) {
            let name = Name::of(&symbol);
            if !symbol.contains(".llvm") && !symbol.ends_with('.') {
                prop_assert_eq!(Name::of(&format!("{symbol}.llvm.{n}")), name);
            }
        }
    }
}
