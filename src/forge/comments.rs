//! Comments on a pull request or a merge request: finds, creates and updates the one of rbench.

use std::time::Duration;

use serde_json::{Value, json};
use ureq::http::Method;

use super::{HttpError, Token, http::Http};

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
        self.pages(&path, |entry| {
            let body = entry["body"].as_str().unwrap_or_default();
            if body.starts_with(marker.trim_end())
                && let Some(id) = entry["id"].as_u64()
            {
                let found = FoundComment { id, body: body.to_owned() };
                candidates.push((found, [entry["user"].clone(), entry["author"].clone()]));
            }
        })?;
        if candidates.is_empty() {
            return Ok(None);
        }
        let own = self.own_name()?;
        let is_own = |author: &Value| match &own {
            Some(own) => account(author).as_ref() == Some(own),
            // A workflow's token cannot query its account name; it writes as a bot.
            None => author["type"] == "Bot",
        };
        let found = candidates.into_iter().find(|(_, authors)| authors.iter().any(is_own));
        Ok(found.map(|(found, _)| found))
    }

    /// Writes a new comment.
    pub fn create(&self, request: &Request, body: &str) -> Result<FoundComment, HttpError> {
        let answer =
            self.http.send(&Method::POST, &list(request), Some(&json!({ "body": body })))?;
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
            Host::Github => (&Method::PATCH, format!("/repos/{project}/issues/comments/{id}")),
            Host::Gitlab => {
                (&Method::PUT, format!("/projects/{project}/merge_requests/{number}/notes/{id}"))
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
        let answer = self.http.send(&Method::GET, &path, None)?;
        let commit = answer.pointer(place).and_then(Value::as_str);
        commit.map(str::to_owned).ok_or_else(|| HttpError::Answer("it has no commit".to_owned()))
    }

    /// The account that set a label which the request has now; `None` if it does not have it.
    pub fn who_labeled(
        &self,
        Request { host, project, number }: &Request,
        label: &str,
    ) -> Result<Option<String>, HttpError> {
        let (path, kind, [added, removed], account_of) = match host {
            Host::Github => {
                let path = format!("/repos/{project}/issues/{number}/events");
                (path, "event", ["labeled", "unlabeled"], "actor")
            }
            Host::Gitlab => {
                let path =
                    format!("/projects/{project}/merge_requests/{number}/resource_label_events");
                (path, "action", ["add", "remove"], "user")
            }
        };
        let mut who = None;
        self.pages(&path, |event| {
            if event["label"]["name"] == label && event[kind] == added {
                who =
                    Some(account(&event[account_of]).unwrap_or_else(|| "a deleted account".into()));
            } else if event["label"]["name"] == label && event[kind] == removed {
                who = None;
            }
        })?;
        Ok(who)
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
        self.pages(&path, |request| {
            if request["head"]["sha"] == commit {
                numbers.extend(request["number"].as_u64());
            }
        })?;
        Ok(numbers)
    }

    /// Name of the token's account; none for a token without an account.
    fn own_name(&self) -> Result<Option<String>, HttpError> {
        match self.http.send(&Method::GET, "/user", None) {
            Ok(user) => Ok(account(&user)),
            Err(HttpError::Status { status: 401 | 403 | 404, .. }) if self.host == Host::Github => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Reads a list page by page.
    fn pages(&self, path: &str, mut each: impl FnMut(&Value)) -> Result<(), HttpError> {
        let joint = if path.contains('?') { '&' } else { '?' };
        for page in 1..=MOST_PAGES {
            let path = format!("{path}{joint}per_page={PAGE}&page={page}");
            let answer = self.http.send(&Method::GET, &path, None)?;
            let entries = answer.as_array();
            let entries = entries.ok_or_else(|| HttpError::Answer("it is no list".to_owned()))?;
            entries.iter().for_each(&mut each);
            if entries.len() < PAGE {
                return Ok(());
            }
        }
        Err(HttpError::Answer(format!("there are more than {} entries", MOST_PAGES * PAGE)))
    }
}

/// The name of an account: `login` on GitHub, `username` on GitLab.
fn account(user: &Value) -> Option<String> {
    user["login"].as_str().or(user["username"].as_str()).map(str::to_owned)
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
