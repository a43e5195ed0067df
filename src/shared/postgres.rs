//! A connection to PostgreSQL, and the documents there: the only module with its protocol. Statements have no names, so that they work behind
//! poolers which give each transaction another connection. Everything can be repeated, and is while the server is away.

mod address;

use std::{
    collections::HashSet,
    error::{self, Error as _},
    io, iter,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use ::postgres::{
    Client, Error as DatabaseError, NoTls, Row,
    config::SslMode,
    error::SqlState,
    types::{ToSql, Type},
};
use data_encoding::HEXLOWER;
use rustls::{ClientConfig, crypto::ring::default_provider};
use tokio_postgres_rustls::MakeRustlsConnect;

pub use self::address::Address;
use super::documents::{Documents, Listed, Summary, Wanted};
use crate::{
    error::{Context as _, Error, Exit, Result},
    model::nanoseconds,
    shell::cargo,
};

/// Several statements in one message are one transaction.
const SCHEMA: &str = include_str!("schema.sql");

/// Those who have a role of rbench.
const MEMBERS: &str = "SELECT DISTINCT pg_get_userbyid(member)::text FROM pg_auth_members
    WHERE roleid IN ('rbench_push'::regrole, 'rbench_read'::regrole) ORDER BY 1";

/// The version of the schema; raised with every change that an older rbench would not understand.
const VERSION: i32 = 1;

/// The time for which a server that has answered before may be away.
const PATIENCE: Duration = Duration::from_secs(60);

/// The time for which a server may be away at the beginning: most often its address is wrong.
const FIRST_PATIENCE: Duration = Duration::from_secs(5);

/// The first and the longest pause between two attempts.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(2)];

pub struct Database<'n> {
    address: Address,
    /// The project whose experiments are listed.
    project: String,
    client: Option<Client>,
    /// The time for which the server may be away.
    patience: Duration,
    /// True if it was away for longer at the last question.
    is_away: bool,
    /// Gets a sentence when the server is away.
    notice: Box<dyn Fn(&str) + 'n>,
}

impl<'n> Database<'n> {
    /// Connects for a project. Fails if the database has no tables of this version of rbench.
    pub fn open(address: &Address, project: String, notice: impl Fn(&str) + 'n) -> Result<Self> {
        let mut database = Self::new(address, project, notice);
        let rows = database.query("read", "SELECT version FROM rbench.meta", &[])?;
        match rows.first().and_then(|row| row.try_get(0).ok()) {
            Some(VERSION) => Ok(database),
            other => {
                let other = other.map_or("no".to_owned(), |version: i32| version.to_string());
                Err(Error::new(Exit::Usage, format!("cannot use the {address}")).cause(format!(
                    "its tables have schema {other}, and this rbench uses schema {VERSION}"
                )))
            }
        }
    }

    /// Makes the tables and roles that are missing, and replaces functions and views. Returns who has the roles: they
    /// are those of the whole server, and somebody may have made them before.
    pub fn set_up(address: &Address, notice: impl Fn(&str) + 'n) -> Result<Vec<String>> {
        let mut database = Self::new(address, String::new(), notice);
        database.ask("set up", |client| client.batch_execute(SCHEMA))?;
        let rows = database.query("read", MEMBERS, &[])?;
        Ok(rows.iter().filter_map(|row| row.try_get(0).ok()).collect())
    }

    fn new(address: &Address, project: String, notice: impl Fn(&str) + 'n) -> Self {
        Self {
            address: address.clone(),
            project,
            client: None,
            patience: FIRST_PATIENCE,
            is_away: false,
            notice: Box::new(notice),
        }
    }

    /// Asks a question with one statement. `what` is the operation.
    fn query(
        &mut self,
        what: &str,
        query: &str,
        parameters: &[(&(dyn ToSql + Sync), Type)],
    ) -> Result<Vec<Row>> {
        self.ask(what, |client| client.query_typed(query, parameters))
    }

    /// Asks a question, again and again while the server is away. `what` is the operation.
    fn ask<T>(
        &mut self,
        what: &str,
        mut question: impl FnMut(&mut Client) -> Result<T, DatabaseError>,
    ) -> Result<T> {
        let (begin, mut pause) = (Instant::now(), PAUSES[0]);
        loop {
            let error = match self.client() {
                Ok(client) => match question(client) {
                    Ok(answer) => {
                        (self.patience, self.is_away) = (PATIENCE, false);
                        return Ok(answer);
                    }
                    Err(error) => error,
                },
                Err(Failure::Database(error)) => error,
                Err(Failure::Refused(error)) => return Err(error),
            };
            let is_passing = is_passing(&error);
            if is_passing {
                self.client = None;
            }
            if !is_passing || self.is_away || begin.elapsed() >= self.patience {
                self.is_away = is_passing;
                return Err(self.failure(what, &error));
            }
            if pause == PAUSES[0] {
                (self.notice)(&format!("waiting for the {}: {}", self.address, causes(&error)));
            }
            thread::sleep(pause);
            pause = (pause * 2).min(PAUSES[1]);
        }
    }

    /// The connection, which is made if there is none.
    fn client(&mut self) -> Result<&mut Client, Failure> {
        if self.client.is_none() {
            self.address.refuse_open_sockets().map_err(Failure::Refused)?;
        }
        let client = match self.client.take().filter(|client| !client.is_closed()) {
            Some(client) => client,
            None if self.address.config.get_ssl_mode() == SslMode::Disable => {
                self.address.config.connect(NoTls)?
            }
            None => {
                let tls = verifying_tls().map_err(Failure::Refused)?;
                self.address.config.connect(tls)?
            }
        };
        Ok(self.client.insert(client))
    }

    fn failure(&self, what: &str, error: &DatabaseError) -> Error {
        let address = &self.address;
        let failure =
            Error::new(Exit::Usage, format!("cannot {what} the {address}")).cause(causes(error));
        match error.code() {
            Some(&SqlState::UNDEFINED_TABLE | &SqlState::UNDEFINED_FUNCTION) => failure.hint(
                format!("let its owner make the tables with: {} rbench init --shared", cargo()),
            ),
            Some(&SqlState::UNTRANSLATABLE_CHARACTER) => failure.hint(
                "use a database in UTF-8: createdb --encoding=UTF8 --template=template0 NAME",
            ),
            Some(&SqlState::INSUFFICIENT_PRIVILEGE) if what != "set up" => failure.hint(
                "let its owner grant a role: rbench_push to send results, rbench_read to read them; and \
                 permit projects and classes in the table rbench.allowed",
            ),
            _ => failure,
        }
    }
}

/// The reason why there is no connection.
enum Failure {
    Database(DatabaseError),
    Refused(Error),
}

impl From<DatabaseError> for Failure {
    fn from(error: DatabaseError) -> Self {
        Self::Database(error)
    }
}

/// Encryption with the certificates that this machine trusts.
fn verifying_tls() -> Result<MakeRustlsConnect> {
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(rustls_platform_verifier::BuilderVerifierExt::with_platform_verifier)
        .context(Exit::Usage, || "cannot read the certificates that this machine trusts")?;
    Ok(MakeRustlsConnect::new(config.with_no_client_auth()))
}

/// True if the server may answer later: it restarts, fails over, has too many connections, or chose this transaction to
/// end a deadlock.
fn is_passing(error: &DatabaseError) -> bool {
    if let Some(code) = error.code() {
        let class = code.code().get(..2).unwrap_or_default();
        return matches!(class, "08" | "40" | "53" | "57") && *code != SqlState::QUERY_CANCELED;
    }
    let io = sources(error).find_map(|source| source.downcast_ref::<io::Error>());
    // Any other kind may be a network that is away: a name that cannot be resolved then has none of its own.
    let is_lasting = |kind| {
        use io::ErrorKind as K;
        matches!(kind, K::PermissionDenied | K::InvalidInput | K::InvalidData | K::Unsupported)
    };
    error.is_closed() || io.is_some_and(|io| !is_lasting(io.kind()))
}

fn sources<'e>(error: &'e DatabaseError) -> impl Iterator<Item = &'e (dyn error::Error + 'static)> {
    iter::successors(error.source(), |source| (**source).source())
}

fn causes(error: &DatabaseError) -> String {
    let causes: Vec<String> = sources(error).map(ToString::to_string).collect();
    if causes.is_empty() { error.to_string() } else { causes.join(": ") }
}

/// The bytes of identities.
fn bytes(identity: &str) -> Result<Vec<u8>> {
    HEXLOWER
        .decode(identity.to_ascii_lowercase().as_bytes())
        .map_err(|_| Error::new(Exit::Usage, format!("`{identity}` identifies no experiment")))
}

/// The identities in the first column.
fn identities(rows: &[Row]) -> Vec<String> {
    let identity = |row: &Row| row.try_get(0).ok().map(|bytes: &[u8]| HEXLOWER.encode(bytes));
    rows.iter().filter_map(identity).collect()
}

impl Documents for Database<'_> {
    fn is_lost(&self) -> bool {
        self.is_away
    }

    fn missing(&mut self, all: &[String]) -> Result<HashSet<String>> {
        let all: Vec<Vec<u8>> = all.iter().map(|one| bytes(one)).collect::<Result<_>>()?;
        let rows = self.query("read", "SELECT rbench.missing($1)", &[(&all, Type::BYTEA_ARRAY)])?;
        Ok(identities(&rows).into_iter().collect())
    }

    fn add(
        &mut self,
        _: &str,
        document: &[u8],
        summary: &dyn Fn(&str) -> Result<Summary>,
    ) -> Result<bool> {
        let Summary { about, report } = summary(&self.project)?;
        let query = "SELECT rbench.push($1::jsonb, $2, $3::jsonb)";
        let rows = self.query(
            "write to",
            query,
            &[(&about, Type::TEXT), (&document, Type::BYTEA), (&report, Type::TEXT)],
        )?;
        Ok(rows.first().is_some_and(|row| row.try_get(0).unwrap_or(false)))
    }

    fn list(&mut self, wanted: &Wanted<'_>) -> Result<Vec<Listed>> {
        let project = self.project.clone();
        let since = wanted.since.map_or(0, nanoseconds::from_time);
        let senders = Some(wanted.senders).filter(|senders| !senders.is_empty());
        let query = "SELECT identity, left(pushed_by, 100) FROM rbench.documents($1, $2, $3)";
        let rows = self.query(
            "read",
            query,
            &[(&project, Type::TEXT), (&since, Type::INT8), (&senders, Type::TEXT_ARRAY)],
        )?;
        let identities = identities(&rows).into_iter();
        let senders = rows.iter().map(|row| row.try_get(1).ok());
        Ok(identities.zip(senders).map(|(identity, sender)| Listed { identity, sender }).collect())
    }

    fn document(&mut self, identity: &str) -> Result<Vec<u8>> {
        let query = "SELECT rbench.document($1)";
        let rows = self.query("read", query, &[(&bytes(identity)?, Type::BYTEA)])?;
        let document = rows.first().and_then(|row| row.try_get(0).ok());
        document.ok_or_else(|| {
            let what = format!("cannot read experiment {identity} of the {}", self.address);
            Error::new(Exit::Usage, what).cause("its document was deleted meanwhile")
        })
    }
}

#[cfg(test)]
mod tests {
    use ::postgres::Config;

    use super::*;

    #[test]
    fn network_that_is_away_may_come_back() {
        let error = |address: &str| {
            let config: Config = address.parse().unwrap();
            config.connect(NoTls).err().unwrap()
        };
        // Names end so only where they are never to be found.
        assert!(is_passing(&error("postgres://nobody@name.invalid/x")));
        assert!(is_passing(&error("postgres://nobody@127.0.0.1:1/x")));
        // One host with two ports is a mistake for ever.
        assert!(!is_passing(&error("host=127.0.0.1 port=1,2 user=nobody")));
    }
}
