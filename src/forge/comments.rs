//! Comments on a pull request or a merge request: finds, creates and updates the one of rbench.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    HttpError, Token,
    http::{Http, Method},
};

/// Entries requested for each page of a list.
const PAGE: usize = 100;

/// Most pages that are read.
const MOST_PAGES: usize = 50;

/// A service that hosts repositories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    /// GitHub or GitHub Enterprise Server.
    Github,
    /// GitLab.
    Gitlab,
}

/// A request to merge a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The service.
    pub host: Host,
    /// OWNER/NAME on GitHub, the project's number on GitLab.
    pub project: String,
    /// Number of the request.
    pub number: u64,
}

/// A comment on a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundComment {
    /// Id of the comment.
    pub id: u64,
    /// Text of the comment.
    pub body: String,
}

/// The comments API of a host.
pub struct Comments {
    http: Http,
    host: Host,
}

#[derive(Deserialize)]
struct Entry {
    id: u64,
    body: Option<String>,
    user: Option<Author>,
    author: Option<Author>,
}

#[derive(Clone, Deserialize)]
struct Author {
    login: Option<String>,
    username: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
}

#[derive(Deserialize)]
struct PullRequest {
    number: u64,
    head: Tip,
}

#[derive(Deserialize)]
struct Tip {
    sha: String,
}

impl Author {
    fn name(&self) -> Option<&str> {
        self.login.as_deref().or(self.username.as_deref())
    }
}

impl Comments {
    /// Connects to the API at this address; `pause` waits.
    pub fn new(
        host: Host,
        address: &str,
        token: &Token,
        pause: impl Fn(Duration) + 'static,
    ) -> Result<Self, HttpError> {
        let pause = Box::new(pause);
        let http = match host {
            Host::Github => Http::new(address, ("authorization", "Bearer "), token, pause)?
                .with_header("accept", "application/vnd.github+json")
                .with_header("x-github-api-version", "2022-11-28"),
            Host::Gitlab => Http::new(address, ("private-token", ""), token, pause)?,
        };
        Ok(Self { http, host })
    }

    /// Finds the token owner's comment that starts with this line. Others may write the line too; their comments are
    /// ignored, so that they are never changed.
    pub fn find(&self, request: &Request, marker: &str) -> Result<Option<FoundComment>, HttpError> {
        let path = list(request);
        let mut candidates = Vec::new();
        self.pages(&path, |entry: Entry| {
            let body = entry.body.unwrap_or_default();
            if body.starts_with(marker.trim_end()) {
                candidates.push((FoundComment { id: entry.id, body }, entry.user.or(entry.author)));
            }
        })?;
        if candidates.is_empty() {
            return Ok(None);
        }
        let own = self.own_name()?;
        let is_own = |author: &Author| match &own {
            Some(own) => author.name() == Some(own),
            // A workflow's token cannot query its account name; it writes as a bot.
            None => author.kind.as_deref() == Some("Bot"),
        };
        let found = candidates.into_iter().find(|(_, author)| author.as_ref().is_some_and(is_own));
        Ok(found.map(|(found, _)| found))
    }

    /// Writes a new comment.
    pub fn create(&self, request: &Request, body: &str) -> Result<FoundComment, HttpError> {
        let answer =
            self.http.send(Method::Post, &list(request), Some(&json!({ "body": body })))?;
        found(&answer, body)
    }

    /// Replaces the text of a comment.
    pub fn update(
        &self,
        request: &Request,
        id: u64,
        body: &str,
    ) -> Result<FoundComment, HttpError> {
        let Request { project, number, .. } = request;
        let (method, path) = match self.host {
            Host::Github => (Method::Patch, format!("/repos/{project}/issues/comments/{id}")),
            Host::Gitlab => {
                (Method::Put, format!("/projects/{project}/merge_requests/{number}/notes/{id}"))
            }
        };
        let answer = self.http.send(method, &path, Some(&json!({ "body": body })))?;
        found(&answer, body)
    }

    /// The newest commit of a request, in hex.
    pub fn newest_commit(
        &self,
        Request { host, project, number }: &Request,
    ) -> Result<String, HttpError> {
        let (path, place) = match host {
            Host::Github => (format!("/repos/{project}/pulls/{number}"), "/head/sha"),
            Host::Gitlab => (format!("/projects/{project}/merge_requests/{number}"), "/sha"),
        };
        let answer = self.http.send(Method::Get, &path, None)?;
        let commit = answer.pointer(place).and_then(Value::as_str);
        commit.map(str::to_owned).ok_or_else(|| HttpError::Answer("it has no commit".to_owned()))
    }

    /// Numbers of the open GitHub pull requests whose newest commit is this one. `branch` is their source, with its
    /// owner. One branch may have pull requests to several others.
    pub fn requests_of_commit(
        &self,
        project: &str,
        commit: &str,
        branch: Option<(&str, &str)>,
    ) -> Result<Vec<u64>, HttpError> {
        let branch = branch.map(|(owner, branch)| {
            format!("&head={}:{}", percent_encoded(owner), percent_encoded(branch))
        });
        let path = format!("/repos/{project}/pulls?state=open{}", branch.unwrap_or_default());
        let mut numbers = Vec::new();
        self.pages(&path, |request: PullRequest| {
            if request.head.sha == commit {
                numbers.push(request.number);
            }
        })?;
        Ok(numbers)
    }

    /// Name of the token's account; none for a token without an account.
    fn own_name(&self) -> Result<Option<String>, HttpError> {
        match self.http.send(Method::Get, "/user", None) {
            Ok(user) => {
                let name = user["login"].as_str().or(user["username"].as_str());
                Ok(name.map(str::to_owned))
            }
            Err(HttpError::Status { status: 401 | 403 | 404, .. }) if self.host == Host::Github => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Reads a list page by page.
    fn pages<T: for<'de> Deserialize<'de>>(
        &self,
        path: &str,
        mut each: impl FnMut(T),
    ) -> Result<(), HttpError> {
        let joint = if path.contains('?') { '&' } else { '?' };
        for page in 1..=MOST_PAGES {
            let path = format!("{path}{joint}per_page={PAGE}&page={page}");
            let answer = self.http.send(Method::Get, &path, None)?;
            let entries: Vec<T> = serde_json::from_value(answer)
                .map_err(|error| HttpError::Answer(error.to_string()))?;
            let is_last = entries.len() < PAGE;
            entries.into_iter().for_each(&mut each);
            if is_last {
                return Ok(());
            }
        }
        Err(HttpError::Answer(format!("there are more than {} entries", MOST_PAGES * PAGE)))
    }
}

/// Path of the request's comments in the API.
fn list(Request { host, project, number }: &Request) -> String {
    match host {
        Host::Github => format!("/repos/{project}/issues/{number}/comments"),
        Host::Gitlab => format!("/projects/{project}/merge_requests/{number}/notes"),
    }
}

fn found(answer: &Value, body: &str) -> Result<FoundComment, HttpError> {
    let id = answer["id"].as_u64().ok_or_else(|| HttpError::Answer("it has no id".to_owned()))?;
    Ok(FoundComment { id, body: body.to_owned() })
}

fn percent_encoded(text: &str) -> String {
    let encoded = text.bytes().map(|byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
            char::from(byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    });
    encoded.collect()
}
