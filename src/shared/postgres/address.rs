//! The address of a database: how to connect, and whether to encrypt.

use std::{fmt, fs, os::unix::fs::MetadataExt as _, time::Duration};

use ::postgres::{
    Config,
    config::{Host, SslMode},
};

use crate::error::{Error, Exit, Result};

/// The longest wait for an answer to a new connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The longest wait for the acknowledgment of sent bytes, after which the connection is lost.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);

/// The silence on a connection after which its other end is asked for a sign of life.
const SILENCE: Duration = Duration::from_secs(20);

/// Where Debian's packages and libpq look for the socket of a server.
const SOCKETS: &str = "/var/run/postgresql";

/// An address: the server, the database, the user, perhaps a password, and whether to encrypt.
#[derive(Clone)]
pub struct Address {
    pub(in crate::shared) config: Config,
}

impl Address {
    /// Parses `postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=MODE`; without a host, the socket of this machine.
    ///
    /// A connection to another machine is encrypted, and the server's name verified, unless `sslmode=disable` is there.
    pub fn parse(text: &str) -> Result<Self> {
        // No cause: the text may have a password.
        let error = || {
            Error::new(Exit::Usage, "cannot read the address of the shared results")
                .hint("write postgres://USER@HOST/DATABASE, with special characters as %XX")
        };
        let (base, options) = text.split_once('?').unwrap_or((text, ""));
        let (modes, options): (Vec<&str>, Vec<&str>) = options
            .split('&')
            .filter(|option| !option.is_empty())
            .partition(|option| option.starts_with("sslmode="));
        let mut config: Config =
            format!("{base}?{}", options.join("&")).parse().map_err(|_| error())?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            config.host(SOCKETS);
        }
        config.ssl_mode(match modes[..] {
            [] if is_local(&config) => SslMode::Disable,
            ["sslmode=disable"] => SslMode::Disable,
            [] | ["sslmode=require" | "sslmode=verify-full"] => SslMode::Require,
            _ => {
                return Err(error().cause("its sslmode may leave the connection unencrypted").hint(
                    "use sslmode=require, which also verifies the name of the server, or disable",
                ));
            }
        });
        // Whoever listens on the port, while the server is away also another user of this machine, may ask for the
        // password in clear.
        let is_tcp = |host: &Host| matches!(host, Host::Tcp(_));
        if config.get_password().is_some()
            && config.get_ssl_mode() == SslMode::Disable
            && (config.get_hosts().iter().any(is_tcp) || !config.get_hostaddrs().is_empty())
        {
            let what = "cannot use the address of the shared results";
            return Err(Error::new(Exit::Usage, what)
                .cause("its password would not be encrypted")
                .hint("use sslmode=require, or a socket: postgres:///DATABASE?host=/DIRECTORY"));
        }
        if config.get_application_name().is_none() {
            config.application_name("cargo-rbench");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        config.tcp_user_timeout(SEND_TIMEOUT);
        // Otherwise an answer that never comes is waited for two hours.
        config.keepalives_idle(SILENCE).keepalives_interval(SILENCE / 4);
        Ok(Self { config })
    }
}

impl Address {
    /// Refuses to send a password to a socket that any user of this machine may put in the place of the server's.
    pub(in crate::shared) fn refuse_open_sockets(&self) -> Result<()> {
        let directory = |host: &Host| match host {
            Host::Unix(path) => Some(path.clone()),
            Host::Tcp(_) => None,
        };
        let hosts = self.config.get_hosts().iter();
        for path in hosts.filter_map(directory).filter(|_| self.config.get_password().is_some()) {
            // Where there is none, there is no socket either.
            let Ok(found) = fs::metadata(&path) else { continue };
            if found.mode() & 0o002 != 0 {
                return Err(Error::new(Exit::Usage, format!("cannot use the {self}"))
                    .cause(format!(
                        "any user may make a socket in {}, and would be sent the password",
                        path.display()
                    ))
                    .hint("let the server make its socket in a directory of its own"));
            }
        }
        Ok(())
    }
}

/// True if nothing leaves this machine.
fn is_local(config: &Config) -> bool {
    let is_local = |host: &Host| match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            name == "localhost"
                || name.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
        }
    };
    config.get_hosts().iter().all(is_local)
        && config.get_hostaddrs().iter().all(std::net::IpAddr::is_loopback)
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.config.get_dbname().or(self.config.get_user()).unwrap_or_default();
        let hosts = self.config.get_hosts().iter().map(|host| match host {
            Host::Tcp(name) => name.clone(),
            Host::Unix(path) => path.display().to_string(),
        });
        let hosts: Vec<String> = hosts.collect();
        write!(f, "database `{name}` of {}", hosts.join(", "))
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(text: &str) -> SslMode {
        Address::parse(text).unwrap().config.get_ssl_mode()
    }

    #[test]
    fn encryption_is_required_beyond_this_machine() {
        for remote in [
            "postgres://db.example/x",
            "postgresql://me@db.example:6432/x?connect_timeout=3",
            "postgres://localhost/x?hostaddr=192.0.2.1",
            "postgres://localhost,db.example/x",
            "postgres://db.example/x?sslmode=verify-full",
            "postgres://127.0.0.1/x?sslmode=require",
        ] {
            assert_eq!(mode(remote), SslMode::Require, "{remote}");
        }
        for open in [
            "postgres://db.example/x?sslmode=disable",
            "postgres://localhost/x",
            "postgres://[::1]/x",
            "postgres:///x",
            "postgres:///x?host=/tmp",
        ] {
            assert_eq!(mode(open), SslMode::Disable, "{open}");
        }
        for half in ["prefer", "verify-ca", "disable&sslmode=require"] {
            assert!(Address::parse(&format!("postgres://db.example/x?sslmode={half}")).is_err());
        }
    }

    #[test]
    fn password_needs_encryption_or_a_socket() {
        for open in [
            "postgres://me:s3cret@localhost/x",
            "postgres://me:s3cret@127.0.0.1:6432/x",
            "postgres://me:s3cret@db.example/x?sslmode=disable",
            "postgres://me@[::1]/x?password=s3cret",
            "postgres://me:s3cret@%2Frun,localhost/x",
            "postgres://me:s3cret@/x?host=/run&hostaddr=127.0.0.1",
        ] {
            let error = Address::parse(open).unwrap_err().to_string();
            assert!(error.contains("would not be encrypted"), "{open}: {error}");
        }
        for closed in [
            "postgres://me:s3cret@localhost/x?sslmode=require",
            "postgres://me:s3cret@db.example/x",
            "postgres://me:s3cret@/x",
            "postgres://me:s3cret@/x?host=/run/postgresql&port=6432",
            "postgres://me@localhost/x",
        ] {
            Address::parse(closed).unwrap();
        }
    }

    #[test]
    fn no_text_has_the_password() {
        for text in [
            "postgres://me:s3cret@db.example/x",
            "postgres://me:s3cret@db.example:port/x",
            "postgres://me:s3cret@db.example/x?unknown=s3cret",
            "postgres://me@db.example/x?password=s3cret",
        ] {
            let shown = format!("{:?}", Address::parse(text));
            assert!(!shown.contains("s3cret"), "{shown}");
        }
        let address = Address::parse("postgres://me:s3cret@db.example/x").unwrap();
        assert_eq!(address.to_string(), "database `x` of db.example");
    }
}
