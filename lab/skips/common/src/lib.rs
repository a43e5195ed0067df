//! Short functions that the benchmarks of every project execute.

pub mod case;
pub mod own;
pub mod shapes;
pub mod table;
pub mod text;
