//! Layouts: linker options that place functions according to a seed.

mod fillers;
mod plan;
mod position;
mod slots;

pub use self::plan::{Plan, plan, plan_together};
use self::position::Filler;
use super::linker::{Arrangement, Family, LinkerOption};
use crate::model::{Layout, LayoutSeed};

/// The arrangement of one build for a linker that can make the layout.
pub fn arrange(
    family: Family,
    layout: Layout,
    seed: LayoutSeed,
    plan: &Plan,
) -> Result<Arrangement, object::write::Error> {
    let flag = |text: String| LinkerOption::Flag(text);
    match layout {
        Layout::Default | Layout::Rehashed => Ok(Arrangement::default()),
        Layout::Padded => Ok(Arrangement {
            options: vec![flag(format!("--randomize-section-padding={seed}"))],
            files: Vec::new(),
        }),
        Layout::Shuffled if family == Family::Mold => Ok(Arrangement {
            options: vec![flag(format!("--shuffle-sections={seed}"))],
            files: Vec::new(),
        }),
        Layout::Shuffled => Ok(Arrangement {
            options: [".text*", ".rodata*", ".data*", ".bss*"]
                .iter()
                .map(|sections| flag(format!("--shuffle-sections={sections}={seed}")))
                .chain([flag("--no-call-graph-profile-sort".to_owned())])
                .collect(),
            files: Vec::new(),
        }),
        Layout::SameAddress | Layout::SameOrder => {
            arrange_by_name(plan, &position::in_order(&plan.slots, seed))
        }
        Layout::Aligned => {
            let mut order = position::in_order(&plan.slots, seed);
            for (_, phase) in &mut order {
                *phase = 0;
            }
            arrange_by_name(plan, &order)
        }
    }
}

/// Places every function, in the given order, directly behind a filler that brings it to its address.
fn arrange_by_name(
    plan: &Plan,
    order: &[(&slots::Slot, u64)],
) -> Result<Arrangement, object::write::Error> {
    let mut sizes = Vec::with_capacity(order.len() + 1);
    let mut symbols = String::with_capacity(order.len() * 100);
    for Filler { size, before } in position::fillers(order) {
        let behind = before.into_iter().map(|own| own.symbol.clone());
        for symbol in std::iter::once(fillers::symbol(sizes.len())).chain(behind) {
            symbols.push_str(&symbol);
            symbols.push('\n');
        }
        sizes.push(size);
    }
    let order_file = "order.txt".to_owned();
    let mut arrangement = Arrangement {
        options: vec![
            LinkerOption::WithFile("--symbol-ordering-file=".to_owned(), order_file.clone()),
            // It is normal that this link drops some of the listed symbols.
            LinkerOption::Flag("--no-warn-symbol-ordering".to_owned()),
        ],
        files: vec![(order_file, symbols.into_bytes())],
    };
    for (section, address) in &plan.frame.starts {
        let start = format!("--section-start={section}={address:#x}");
        arrangement.options.push(LinkerOption::Flag(start));
    }
    let mut objects = fillers::among_code(&sizes, plan.architecture)?;
    if !plan.frame.fillers.is_empty() {
        objects.push(fillers::among_data(&plan.frame.fillers, plan.architecture)?);
    }
    for (index, object) in objects.into_iter().enumerate() {
        let name = format!("fillers-{index}.o");
        arrangement.options.push(LinkerOption::Input(name.clone()));
        arrangement.files.push((name, object));
    }
    Ok(arrangement)
}

#[cfg(test)]
mod testing {
    use crate::builds::placeable::PlaceableFunction;
    use crate::{
        elf::{Name, stable_symbol},
        model::LayoutSeed,
    };

    /// A function of 16 bytes.
    pub fn function(symbol: &str, name: &str) -> PlaceableFunction {
        PlaceableFunction {
            symbol: symbol.to_owned(),
            name: Name::demangle(name),
            instance: stable_symbol(symbol).into_owned(),
            code: None,
            size: 16,
            alignment: 16,
        }
    }

    pub fn seed(number: u32) -> LayoutSeed {
        LayoutSeed::new(number).unwrap()
    }
}
