//! The schema, as the list of all its changes.

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::error::Error;

/// What each version of the schema adds to the one before it. Append only: a store in the world may
/// be at any of them.
const MIGRATIONS: &[&str] = &[include_str!("migrations/1.sql")];

/// Marks a file as a store of rbench, in SQLite's own header: `rbch`.
pub(super) const APPLICATION_ID: i32 = i32::from_be_bytes(*b"rbch");

/// The version of a schema after so many migrations.
fn version_after(migrations: usize) -> i64 {
    i64::try_from(migrations).unwrap_or(i64::MAX)
}

/// The version of the schema that this rbench writes.
pub(super) fn newest() -> i64 {
    version_after(MIGRATIONS.len())
}

/// The version of the schema that a store has.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Brings a store, or an empty file, to the newest schema; each migration happens wholly or not at all.
pub(super) fn migrate(connection: &Connection) -> Result<(), Error> {
    for (index, migration) in MIGRATIONS.iter().enumerate() {
        if version(connection)? > version_after(index) {
            continue;
        }
        let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
        // Another process may have done it since.
        if version(&transaction)? == version_after(index) {
            transaction.execute_batch(migration)?;
            transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
            transaction.pragma_update(None, "user_version", version_after(index + 1))?;
        }
        transaction.commit()?;
    }
    Ok(())
}
