//! The report as people and programs see it.
