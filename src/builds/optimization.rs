//! Whether each bench target is optimized together with all its dependencies when it is linked, which can take minutes.

use std::path::Path;

use toml::{Table, Value};

use super::environment::Environment;

/// The profile from which others inherit.
const RELEASE: &str = "release";

/// The value of `lto` with which a profile optimizes each executable as a whole: `true`, `"fat"` or `"thin"`; `None` if
/// it does not. `manifest` is the text of the workspace's Cargo.toml. Cargo's other config files may say otherwise; the
/// answer decides only what is compiled first.
pub fn whole_program(
    manifest: &str,
    profile: &str,
    environment: &Environment,
) -> Option<&'static str> {
    let manifest: Table = manifest.parse().unwrap_or_default();
    let profiles = manifest.get("profile").and_then(Value::as_table);
    let of = |profile: &str, key: &str| {
        let variable = format!("CARGO_PROFILE_{profile}_{key}").to_uppercase().replace('-', "_");
        let set = environment.get(&variable).and_then(|value| value.to_str());
        set.map(|value| Value::String(value.to_owned()))
            .or_else(|| profiles.and_then(|all| all.get(profile)?.as_table()?.get(key).cloned()))
    };
    let mut name = profile.to_owned();
    // A circle is cargo's to report.
    for _ in 0..8 {
        match of(&name, "lto") {
            None if name == RELEASE => return None,
            None => {
                let parent = of(&name, "inherits").and_then(|one| one.as_str().map(str::to_owned));
                name = parent.unwrap_or_else(|| RELEASE.to_owned());
            }
            Some(Value::Boolean(true)) => return Some("true"),
            Some(Value::String(lto)) => {
                return ["true", "fat", "thin"].into_iter().find(|one| *one == lto);
            }
            Some(_) => return None,
        }
    }
    None
}

/// The same for the workspace in this directory.
pub fn of_workspace(
    directory: &Path,
    profile: &str,
    environment: &Environment,
) -> Option<&'static str> {
    let manifest = std::fs::read_to_string(directory.join("Cargo.toml")).ok()?;
    whole_program(&manifest, profile, environment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_time_optimization_is_inherited_and_set_by_variables() {
        let manifest = "[profile.release]\nlto = true\n[profile.fast]\ninherits = 'dev'\n\
                        [profile.other]\ninherits = 'bench'\n[profile.small]\nlto = 'thin'\n";
        let none = Environment::default();
        let lto = |profile: &str| whole_program(manifest, profile, &none);
        assert_eq!(lto("bench"), Some("true"));
        assert_eq!(lto("other"), Some("true"));
        assert_eq!(lto("small"), Some("thin"));
        assert_eq!(whole_program("", "bench", &none), None);
        assert_eq!(whole_program("[profile.bench]\nlto = 'off'", "bench", &none), None);
        assert_eq!(whole_program("[profile.bench]\nlto = false", "bench", &none), None);
        let mut set = Environment::default();
        set.set("CARGO_PROFILE_BENCH_LTO", "fat");
        assert_eq!(whole_program("", "bench", &set), Some("fat"));
        set.set("CARGO_PROFILE_BENCH_LTO", "off");
        assert_eq!(whole_program(manifest, "bench", &set), None);
    }
}
