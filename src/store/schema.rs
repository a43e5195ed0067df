//! The schema: created in a new file, recognised in an existing one.

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::error::Error;
use crate::failure::{Exit, Failure};

const SCHEMA: &str = concat!(
    include_str!("schema.sql"),
    include_str!("schema_3.sql"),
    include_str!("schema_4.sql"),
    include_str!("schema_5.sql"),
    include_str!("schema_6.sql")
);

/// From schema 2 to schema 3: it only adds a table.
const FROM_2_TO_3: &str = include_str!("schema_3.sql");

/// From schema 3 to schema 4: it only adds columns.
const FROM_3_TO_4: &str = include_str!("schema_4.sql");

/// From schema 4 to schema 5: it only adds a column.
const FROM_4_TO_5: &str = include_str!("schema_5.sql");

/// From schema 5 to schema 6: it only adds an index.
const FROM_5_TO_6: &str = include_str!("schema_6.sql");

/// The version of the schema: raised whenever it changes.
pub(super) const VERSION: i64 = 6;

/// The oldest version that is brought up to date when it is opened, and that can be read where nothing can be
/// written.
const OLDEST: i64 = 2;

/// The first version that knows which benchmarks were not measured.
pub(super) const WITH_UNMEASURED: i64 = 3;

/// The first version that knows looks.
pub(super) const WITH_LOOKS: i64 = 4;

/// The first version that knows the state of the machine.
pub(super) const WITH_MACHINE_STATE: i64 = 5;

/// Marks a file as a store of rbench, in SQLite's own header: `rbch`.
pub(super) const APPLICATION_ID: i32 = i32::from_be_bytes(*b"rbch");

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// An empty database.
    Empty,
    /// A store with a schema of this version.
    Store(i64),
    /// A database of another program.
    Foreign,
}

impl Kind {
    /// Finds out. Only reads, and all of one moment: another process may be making the store.
    pub(super) fn of(connection: &Connection) -> Result<Self, Error> {
        let moment = Transaction::new_unchecked(connection, TransactionBehavior::Deferred)?;
        let application: i32 =
            moment.pragma_query_value(None, "application_id", |row| row.get(0))?;
        let version = version(&moment)?;
        let tables: u32 =
            moment.query_row("SELECT count(*) FROM sqlite_schema", (), |row| row.get(0))?;
        Ok(match (application, version, tables) {
            (APPLICATION_ID, version, _) => Self::Store(version),
            (0, 0, 0) => Self::Empty,
            _ => Self::Foreign,
        })
    }

    /// Why this rbench cannot use such a file, named `shown`; `None` if it can.
    pub(super) fn refusal(self, shown: &str) -> Option<Failure> {
        let failure = Failure::new(Exit::Usage, format!("cannot use {shown} as the store"));
        match self {
            Self::Empty | Self::Store(OLDEST..=VERSION) => None,
            Self::Foreign => Some(
                failure
                    .because("it is an SQLite database of another program")
                    .hint("name another file as `path` in [store] of bench.toml, or move this one"),
            ),
            Self::Store(older) if older < VERSION => Some(
                failure
                    .because(format!(
                        "an older rbench wrote it: its schema is {older}, this rbench uses {VERSION}"
                    ))
                    .hint("with the older rbench: cargo rbench export results.jsonl")
                    .hint(format!("then move {shown} away, and: cargo rbench import results.jsonl")),
            ),
            Self::Store(newer) => Some(
                failure
                    .because(format!(
                        "a newer rbench wrote it: its schema is {newer}, this rbench knows up to \
                         {VERSION}"
                    ))
                    .hint("update rbench from its repository: git pull && cargo install --path ."),
            ),
        }
    }
}

/// The version of the schema of a store.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Brings the schema of an older rbench up to date, unless another process has done so since.
pub(super) fn upgrade(connection: &Connection) -> Result<(), Error> {
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    let found = version(&transaction)?;
    if (OLDEST..VERSION).contains(&found) {
        for (from, step) in (OLDEST..).zip([FROM_2_TO_3, FROM_3_TO_4, FROM_4_TO_5, FROM_5_TO_6]) {
            if found <= from {
                transaction.execute_batch(step)?;
            }
        }
        transaction.pragma_update(None, "user_version", VERSION)?;
    }
    Ok(transaction.commit()?)
}

/// Makes the schema, unless another process has made it since.
pub(super) fn create(connection: &Connection) -> Result<(), Error> {
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    if version(&transaction)? == 0 {
        transaction.execute_batch(SCHEMA)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
    }
    Ok(transaction.commit()?)
}
