//! A made-up API of GitHub and GitLab on the loopback interface: comments on one request, and
//! faults on demand.

#![allow(dead_code, reason = "unit tests and end-to-end tests each need a part of it")]

use std::{
    collections::VecDeque,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex, MutexGuard},
};

use serde_json::{Value, json};

/// A request to the API.
#[derive(Clone, Debug)]
pub struct Asked {
    pub method: String,
    pub path: String,
    /// The header that has the token.
    pub token: String,
    pub body: String,
}

/// An existing comment.
#[derive(Clone, Debug)]
pub struct Comment {
    pub id: u64,
    pub body: String,
    pub author: String,
    pub is_bot: bool,
}

/// An error that the API returns once, to the next request with this method and with `path` in its
/// path.
pub struct Fault {
    pub method: &'static str,
    pub path: &'static str,
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub message: &'static str,
}

#[derive(Default)]
struct State {
    asked: Vec<Asked>,
    comments: Vec<Comment>,
    faults: VecDeque<Fault>,
    pulls: Vec<Value>,
    /// The events of labels, in the fields of both hosts.
    labels: Vec<Value>,
    /// The newest commit of the request, if known.
    newest: Option<String>,
    /// The account as which the token of an app writes, if the API says it.
    app: Option<String>,
    /// The account of the token; none for the token of a workflow.
    user: Option<String>,
}

/// An API that runs until the end of the test.
pub struct Api {
    pub address: String,
    state: Arc<Mutex<State>>,
}

/// The largest accepted comment, in characters.
const LONGEST: usize = 65_536;

impl Api {
    /// Starts the API with the token of a workflow.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
        let address = format!("http://{}", listener.local_addr().expect("it has an address"));
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                serve(stream, &shared);
            }
        });
        Self { address, state }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no test has failed in between")
    }

    /// Makes the token belong to this account.
    pub fn token_of(&self, user: &str) {
        self.state().user = Some(user.to_owned());
    }

    /// Makes the token belong to an app that writes as this account.
    pub fn token_of_app(&self, account: &str) {
        self.state().app = Some(account.to_owned());
    }

    /// Adds a comment and returns its number.
    pub fn add(&self, author: &str, is_bot: bool, body: &str) -> u64 {
        let mut state = self.state();
        let id = state.comments.len() as u64 + 1;
        let (body, author) = (body.to_owned(), author.to_owned());
        state.comments.push(Comment { id, body, author, is_bot });
        id
    }

    pub fn add_pull(&self, number: u64, commit: &str) {
        self.state().pulls.push(json!({ "number": number, "head": { "sha": commit } }));
    }

    /// Records that an account set or removed a label.
    pub fn label(&self, name: &str, account: &str, is_set: bool) {
        let (event, action) = if is_set { ("labeled", "add") } else { ("unlabeled", "remove") };
        let user = json!({ "login": account, "username": account });
        let label = json!({ "name": name });
        self.state().labels.push(json!({
            "event": event, "action": action, "label": label, "actor": user, "user": user,
        }));
    }

    /// Sets the newest commit of the request.
    pub fn set_newest(&self, commit: &str) {
        self.state().newest = Some(commit.to_owned());
    }

    pub fn remove(&self, id: u64) {
        self.state().comments.retain(|comment| comment.id != id);
    }

    /// Answers the next matching request with this status.
    pub fn fails(&self, method: &'static str, path: &'static str, status: u16) {
        self.faults(Fault { method, path, status, headers: Vec::new(), message: "refused" });
    }

    pub fn faults(&self, fault: Fault) {
        self.state().faults.push_back(fault);
    }

    pub fn comments(&self) -> Vec<Comment> {
        self.state().comments.clone()
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.state().asked.clone()
    }

    /// The requests that change something, such as `POST /repos/…`.
    pub fn changes(&self) -> Vec<String> {
        let is_change = |asked: &Asked| asked.method != "GET" && !asked.path.ends_with("/graphql");
        let changes = self.asked().into_iter().filter(is_change);
        changes.map(|asked| format!("{} {}", asked.method, asked.path)).collect()
    }
}

fn serve(stream: TcpStream, state: &Mutex<State>) {
    let mut reader = BufReader::new(stream);
    let Some(asked) = read(&mut reader) else { return };
    let (status, headers, body) = {
        let Ok(mut state) = state.lock() else { return };
        state.asked.push(asked.clone());
        answer(&mut state, &asked)
    };
    let body = body.to_string();
    let mut text = format!(
        "HTTP/1.1 {status} Whatever\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n",
        body.len()
    );
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    let _ = write!(reader.get_mut(), "{text}\r\n{body}");
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Asked> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let (mut length, mut token) = (0, String::new());
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim().split_once(':') else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().ok()?,
            "authorization" | "private-token" => value.trim().clone_into(&mut token),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Asked { method, path, token, body: String::from_utf8(body).ok()? })
}

type Answer = (u16, Vec<(&'static str, String)>, Value);

fn answer(state: &mut State, asked: &Asked) -> Answer {
    let is_meant = |fault: &Fault| asked.method == fault.method && asked.path.contains(fault.path);
    if let Some(place) = state.faults.iter().position(is_meant)
        && let Some(fault) = state.faults.remove(place)
    {
        return (fault.status, fault.headers, json!({ "message": fault.message }));
    }
    let (status, body) = regular(state, asked);
    (status, Vec::new(), body)
}

fn regular(state: &mut State, asked: &Asked) -> (u16, Value) {
    let (path, query) = asked.path.split_once('?').unwrap_or((&asked.path, ""));
    // GitHub Enterprise Server.
    let path = path.strip_prefix("/api/v3").unwrap_or(path);
    let sent: Value = serde_json::from_str(&asked.body).unwrap_or_default();
    let text = sent["body"].as_str().unwrap_or_default().to_owned();
    let id = path.rsplit('/').next().and_then(|id| id.parse::<u64>().ok());
    match (asked.method.as_str(), path) {
        ("GET", "/user") => match &state.user {
            Some(user) => (200, json!({ "login": user, "username": user })),
            None => (403, json!({ "message": "Resource not accessible by integration" })),
        },
        ("GET", path) if path.ends_with("/pulls") => (200, page(&state.pulls, query)),
        ("GET", path) if path.ends_with("events") => (200, page(&state.labels, query)),
        ("GET", path) if path.contains("/pulls/") || id.is_some() => match &state.newest {
            Some(commit) => (200, json!({ "head": { "sha": commit }, "sha": commit })),
            None => (404, json!({ "message": "Not Found" })),
        },
        ("GET", path) if path.ends_with("/comments") || path.ends_with("/notes") => {
            let all: Vec<Value> = state.comments.iter().map(shown).collect();
            (200, page(&all, query))
        }
        ("POST" | "PATCH" | "PUT", _) if text.chars().count() > LONGEST => {
            (422, json!({ "message": "Body is too long (maximum is 65536 characters)" }))
        }
        ("POST", "/graphql" | "/api/graphql") => match &state.app {
            Some(app) => (200, json!({ "data": { "viewer": { "login": app } } })),
            None => (404, json!({ "message": "Not Found" })),
        },
        ("POST", _) => {
            let id = state.comments.last().map_or(0, |last| last.id) + 1;
            let author = state.user.clone().unwrap_or_else(|| "github-actions[bot]".to_owned());
            let comment = Comment { id, body: text, author, is_bot: state.user.is_none() };
            state.comments.push(comment.clone());
            (201, shown(&comment))
        }
        ("PATCH" | "PUT", _) => {
            match state.comments.iter_mut().find(|comment| Some(comment.id) == id) {
                Some(comment) => {
                    comment.body = text;
                    (200, shown(comment))
                }
                None => (404, json!({ "message": "Not Found" })),
            }
        }
        _ => (404, json!({ "message": "Not Found" })),
    }
}

fn shown(Comment { id, body, author, is_bot }: &Comment) -> Value {
    let kind = if *is_bot { "Bot" } else { "User" };
    let user = json!({ "login": author, "username": author, "type": kind });
    json!({ "id": id, "body": body, "user": user, "author": user })
}

/// The page of a list that the query selects.
fn page(all: &[Value], query: &str) -> Value {
    let number = |name: &str, default: usize| {
        let mut parts = query.split('&').filter_map(|part| part.split_once('='));
        parts.find(|(key, _)| *key == name).map_or(default, |(_, value)| value.parse().unwrap_or(0))
    };
    let (of_page, page) = (number("per_page", 30), number("page", 1));
    Value::Array(all.iter().skip((page - 1) * of_page).take(of_page).cloned().collect())
}
