//! Layouts: linker options that place functions according to a seed.

mod distinct;
mod pads;
mod position;

pub use distinct::distinguish;
use object::Architecture;
pub use position::Movable;

use super::{linker::Family, movable::Movables};
use crate::model::{Layout, LayoutSeed};

/// What one link needs beside its recipe.
#[derive(Debug, Default)]
pub struct Arrangement {
    /// Options for the linker itself, not for the driver in front of it.
    pub options: Vec<LinkerOption>,
    /// Files to write before the link: name and contents.
    pub files: Vec<(String, Vec<u8>)>,
}

/// One more argument of the link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkerOption {
    /// A flag that stands alone.
    Flag(String),
    /// A flag that takes one of the files, joined to it.
    WithFile(String, String),
    /// One of the files as an input.
    Input(String),
}

/// The arrangement of one build by a linker that can make the layout.
pub fn arrange(
    family: Family,
    layout: Layout,
    seed: LayoutSeed,
    movables: &Movables,
) -> Result<Arrangement, object::write::Error> {
    let Movables { functions, architecture } = movables;
    let flag = |text: String| LinkerOption::Flag(text);
    match layout {
        Layout::Natural | Layout::Salted => Ok(Arrangement::default()),
        Layout::Pad => Ok(Arrangement {
            options: vec![flag(format!("--randomize-section-padding={seed}"))],
            files: Vec::new(),
        }),
        Layout::Shuffle if family == Family::Mold => Ok(Arrangement {
            options: vec![flag(format!("--shuffle-sections={seed}"))],
            files: Vec::new(),
        }),
        Layout::Shuffle => Ok(Arrangement {
            options: [".text*", ".rodata*", ".data*", ".bss*"]
                .iter()
                .map(|sections| flag(format!("--shuffle-sections={sections}={seed}")))
                .chain([flag("--no-call-graph-profile-sort".to_owned())])
                .collect(),
            files: Vec::new(),
        }),
        Layout::Matched => by_name(&position::in_order(functions, seed), *architecture),
        Layout::Pin => {
            let mut order = position::in_order(functions, seed);
            for (_, phase) in &mut order {
                *phase = 0;
            }
            by_name(&order, *architecture)
        }
    }
}

/// Every function right behind a filler that gives it its phase, in the order given.
fn by_name(
    order: &[(&Movable, u8)],
    architecture: Architecture,
) -> Result<Arrangement, object::write::Error> {
    let phases: Vec<u8> = order.iter().map(|(_, phase)| *phase).collect();
    let mut symbols = String::with_capacity(order.len() * 100);
    for (index, (function, _)) in order.iter().enumerate() {
        symbols.push_str(&pads::symbol(index));
        symbols.push('\n');
        symbols.push_str(&function.symbol);
        symbols.push('\n');
    }
    let order_file = "order.txt".to_owned();
    let mut arrangement = Arrangement {
        options: vec![
            LinkerOption::WithFile("--symbol-ordering-file=".to_owned(), order_file.clone()),
            // Symbols in the list that this link drops are no news.
            LinkerOption::Flag("--no-warn-symbol-ordering".to_owned()),
        ],
        files: vec![(order_file, symbols.into_bytes())],
    };
    for (index, object) in pads::objects(&phases, architecture)?.into_iter().enumerate() {
        let name = format!("pads-{index}.o");
        arrangement.options.push(LinkerOption::Input(name.clone()));
        arrangement.files.push((name, object));
    }
    Ok(arrangement)
}
