//! Requests to one API: sends the token to no other address, and waits and retries within limits.

use std::{
    fmt,
    time::{Duration, SystemTime},
};

use serde_json::Value;
use tracing::debug;
use ureq::{
    Agent, Proxy,
    http::{HeaderMap, Method, Request},
    tls::{RootCerts, TlsConfig},
};

use crate::{model::secret::has_password, secrets};

const LONGEST: Duration = Duration::from_secs(30);

const TRIES: u32 = 3;

/// Longest wait before the next attempt that the API may ask for.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Wait after a server error.
const WAIT: Duration = Duration::from_secs(2);

/// Wait after a rate limit without a time: GitHub's recommendation.
const LIMIT_WAIT: Duration = LONGEST_WAIT;

/// Largest answer, in bytes.
const LARGEST: u64 = 32 << 20;

/// Longest message of an API that is shown, in characters.
const LONGEST_MESSAGE: usize = 200;

/// A secret for an API. Its `Debug` output does not show it.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// Wraps a token; none if it is invalid in a header.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        is_plain.then(|| Self(text.to_owned()))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// The reason why a request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HttpError {
    /// A token must not be sent to this address.
    Address(String),
    Unreachable(String),
    /// The API asks for a longer wait than allowed, or for too many.
    Limited,
    /// The API returned an error status.
    Status {
        status: u16,
        message: String,
    },
    Answer(String),
}

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => {
                write!(f, "no token is sent to {address}: it has to be an https address")
            }
            Self::Unreachable(error) => write!(f, "the API cannot be reached: {error}"),
            Self::Limited => f.write_str("the API allows no more requests now"),
            Self::Status { status, message } if message.is_empty() => {
                write!(f, "the API answered {status}")
            }
            Self::Status { status, message } => write!(f, "the API answered {status}: {message}"),
            Self::Answer(error) => write!(f, "the answer of the API cannot be read: {error}"),
        }
    }
}

/// The proxy of the environment, if it has a password: that variable is withheld from all that reads the environment.
fn proxy_with_password() -> Option<Proxy> {
    const NAMES: [&str; 6] =
        ["ALL_PROXY", "all_proxy", "HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"];
    // The agent finds others itself, and the hosts that need none.
    let found = NAMES.into_iter().find_map(|name| secrets::variable(name)?.into_string().ok())?;
    Some(found).filter(|proxy| has_password(proxy)).and_then(|proxy| Proxy::new(&proxy).ok())
}

pub(super) struct Http {
    agent: Agent,
    address: String,
    headers: Vec<(&'static str, String)>,
    /// Waits; tests only record the duration.
    pause: Box<dyn Fn(Duration)>,
}

impl Http {
    /// Connects to the API at this address, with a header that contains the token. Redirects are not followed, so the
    /// token is sent nowhere else.
    pub fn new(
        address: &str,
        (name, scheme): (&'static str, &str),
        Token(token): &Token,
        pause: Box<dyn Fn(Duration)>,
    ) -> Result<Self, HttpError> {
        let address = address.trim_end_matches('/');
        let is_loopback = is_loopback(address);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "/:._-[]".contains(c);
        if !(address.starts_with("https://") || is_loopback) || !address.chars().all(is_plain) {
            return Err(HttpError::Address(address.to_owned()));
        }
        let roots = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .https_only(!is_loopback)
            .timeout_global(Some(LONGEST))
            .user_agent(concat!("cargo-rbench/", env!("CARGO_PKG_VERSION")))
            .tls_config(roots);
        if is_loopback {
            config = config.proxy(None);
        } else if let Some(proxy) = proxy_with_password() {
            config = config.proxy(Some(proxy));
        }
        let headers = vec![(name, format!("{scheme}{token}"))];
        Ok(Self { agent: config.build().into(), address: address.to_owned(), headers, pause })
    }

    /// Adds another header to every request.
    pub fn with_header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    /// Sends a request, with retries if the API asks for them and if a repetition is safe.
    pub fn send(
        &self,
        method: &Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, HttpError> {
        self.send_to(&self.address, method, path, body)
    }

    /// The same, to another API at this address of the same server.
    pub fn send_to(
        &self,
        address: &str,
        method: &Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, HttpError> {
        let mut error = HttpError::Limited;
        for attempt in 1..=TRIES {
            let answer = self.once(&format!("{address}{path}"), method, body);
            // Only the path: no headers, queries or bodies, which may contain secrets.
            let what = (method.as_str(), path.split('?').next().unwrap_or_default());
            match &answer {
                Ok(Response { status, wait, .. }) => debug!(status, ?wait, "{} {}", what.0, what.1),
                Err(error) => debug!("{} {}: {error}", what.0, what.1),
            }
            let answer = answer?;
            let wait = match answer.status {
                200..300 => {
                    return serde_json::from_str(&answer.body)
                        .map_err(|error| HttpError::Answer(error.to_string()));
                }
                429 => answer.wait.unwrap_or(LIMIT_WAIT),
                403 if answer.wait.is_some() || answer.is_rate_limit() => {
                    answer.wait.unwrap_or(LIMIT_WAIT)
                }
                // A posted comment may exist in spite of the error.
                500..600 if *method != Method::POST => {
                    error = answer.error();
                    WAIT
                }
                _ => return Err(answer.error()),
            };
            if attempt == TRIES || wait > LONGEST_WAIT {
                break;
            }
            (self.pause)(wait);
        }
        Err(error)
    }

    fn once(
        &self,
        address: &str,
        method: &Method,
        body: Option<&Value>,
    ) -> Result<Response, HttpError> {
        let unreachable = |error: &dyn fmt::Display| HttpError::Unreachable(error.to_string());
        let mut request = Request::builder().method(method).uri(address);
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        let sent = match body {
            None => {
                let request = request.body(()).map_err(|error| unreachable(&error))?;
                self.agent.run(request)
            }
            Some(body) => {
                let request = request.header("content-type", "application/json");
                let request =
                    request.body(body.to_string()).map_err(|error| unreachable(&error))?;
                self.agent.run(request)
            }
        };
        let (head, mut body) = sent.map_err(|error| unreachable(&error))?.into_parts();
        let body = body.with_config().limit(LARGEST).read_to_string();
        let body = body.map_err(|error| HttpError::Answer(error.to_string()))?;
        let (status, wait) = (head.status.as_u16(), wait(&head.headers));
        Ok(Response { status, wait, body })
    }
}

struct Response {
    status: u16,
    /// Wait that the API asks for, if any.
    wait: Option<Duration>,
    body: String,
}

impl Response {
    /// True if a rate limit caused this answer, by its text: GitHub's secondary limits need not give their end.
    fn is_rate_limit(&self) -> bool {
        let text = self.body.to_lowercase();
        text.contains("rate limit") || text.contains("abuse detection")
    }

    fn error(&self) -> HttpError {
        let body: Value = serde_json::from_str(&self.body).unwrap_or_default();
        let message = match &body["message"] {
            Value::Null => String::new(),
            Value::String(message) => message.clone(),
            other => other.to_string(),
        };
        let message = message.chars().take(LONGEST_MESSAGE).collect();
        HttpError::Status { status: self.status, message }
    }
}

fn wait(headers: &HeaderMap) -> Option<Duration> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<u64>().ok();
    if let Some(seconds) = number("retry-after") {
        return Some(Duration::from_secs(seconds));
    }
    if number("x-ratelimit-remaining")? > 0 {
        return None;
    }
    let reset = SystemTime::UNIX_EPOCH + Duration::from_secs(number("x-ratelimit-reset")?);
    Some(reset.duration_since(SystemTime::now()).unwrap_or(WAIT))
}

/// True if an address without TLS is on this machine.
fn is_loopback(address: &str) -> bool {
    let Some(rest) = address.strip_prefix("http://") else { return false };
    let host = rest.split('/').next().unwrap_or_default();
    let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
    matches!(host, "127.0.0.1" | "localhost" | "[::1]")
}
