//! End-to-end tests: the real program, the real cargo, real repositories.

mod distinct;
mod honoured;
mod identical;
mod matched;
mod support;
