//! End-to-end tests: the real program, the real cargo, real repositories.

mod bad_input;
mod diff;
mod distinct;
mod honoured;
mod identical;
mod matched;
mod reproducibility;
mod right_code;
mod support;
