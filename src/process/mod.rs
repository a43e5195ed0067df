//! Runs child processes: alone or interleaved with a partner, and optionally counted or traced. It knows nothing of
//! benchmarks, harnesses or the terminal.

mod changes;
mod child;
pub mod counting;
mod filter;
pub mod interleaving;
mod interrupt;
mod invocation;
mod launcher;
mod load;
mod output;
mod preload;
mod readable;
mod reaper;
mod refused;
mod run;
pub mod sandbox;
mod scratch;
mod setup;
mod stand_still;
#[cfg(test)]
pub mod testing;
pub mod trace;

pub use self::{
    changes::Changes,
    child::{
        Ending, MEMORY_ERROR, Tool, await_end_of, cpu_time_of_children, end_all_children,
        end_with_this_process, in_own_session, is_from_child,
    },
    interrupt::{Interrupt, SavedHandler},
    invocation::{Invocation, PADDING_VARIABLE, inherited_by_executions, padding_length},
    launcher::{launcher_beside, run_as_launcher},
    load::{CONTROL_ARGUMENT, Load, run_as_control},
    output::Output,
    readable::first_readable,
    refused::{
        Permission, advice as advice_on_refused, explained as explained_by_refused, may_be_refused,
    },
    run::{Ended, Limits, check_cpu, cpus, run, tight_limits},
    scratch::{Scratch, remove_abandoned},
    setup::{
        KEEPER, SetupCommand, end_setups, run_as_keeper, run_setup_command, set_up_once,
        share_lock_with_setups,
    },
};
