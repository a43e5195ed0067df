//! Stands for the database where rbench is compiled without the feature `postgres`: there is no address, so nothing is
//! ever asked.

use std::{collections::HashSet, fmt};

use super::documents::{Documents, Listed, Summary, Wanted};
use crate::error::{Error, Exit, Result};

#[derive(Clone, Debug)]
pub enum Address {}

impl Address {
    /// Fails, without the text, which may have a password.
    pub fn parse(_: &str) -> Result<Self> {
        Err(Error::new(Exit::Usage, "cannot use a PostgreSQL database")
            .cause("this rbench was compiled without the feature `postgres`")
            .hint("install it with: cargo install --path . --features postgres"))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {}
    }
}

#[derive(Debug)]
pub enum Database {}

impl Database {
    /// Is never called: there is no address.
    pub fn open(address: &Address, _: String, _: impl Fn(&str)) -> Result<Self> {
        match *address {}
    }

    /// Is never called: there is no address.
    pub fn set_up(address: &Address, _: impl Fn(&str)) -> Result<Vec<String>> {
        match *address {}
    }
}

impl Documents for Database {
    fn missing(&mut self, _: &[String]) -> Result<HashSet<String>> {
        match *self {}
    }

    fn add(&mut self, _: &str, _: &[u8], _: &dyn Fn(&str) -> Result<Summary>) -> Result<bool> {
        match *self {}
    }

    fn list(&mut self, _: &Wanted<'_>) -> Result<Vec<Listed>> {
        match *self {}
    }

    fn document(&mut self, _: &str) -> Result<Vec<u8>> {
        match *self {}
    }
}
