//! Tests of this module with repositories that git itself created.

mod ancestry;
mod checkouts;
mod fixture;
mod orders;
mod own_directories;
mod paths;
mod programs;
mod releases;
mod repositories;
mod revisions;
mod special_files;
mod submodules;
mod uncommitted;
mod untouched;
