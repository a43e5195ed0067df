//! The settings of the compiler.

use serde::{Deserialize, Serialize};

/// The options of a compilation that rbench passes on to cargo as they are.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CompileSettings {
    /// The cargo profile.
    pub profile: String,
    /// Features to turn on.
    pub features: Vec<String>,
    /// Turn all features on.
    pub all_features: bool,
    /// Turn the default feature off.
    pub no_default_features: bool,
    /// Refuse to change Cargo.lock.
    pub locked: bool,
    /// Do not use the network.
    pub offline: bool,
    /// More arguments for the cargo that compiles, as they are.
    pub cargo_args: Vec<String>,
    /// How many jobs cargo and the linking may run at a time; `None`: one per core.
    pub jobs: Option<u32>,
}

impl Default for CompileSettings {
    fn default() -> Self {
        Self {
            profile: "bench".to_owned(),
            features: Vec::new(),
            all_features: false,
            no_default_features: false,
            locked: false,
            offline: false,
            cargo_args: Vec::new(),
            jobs: None,
        }
    }
}
