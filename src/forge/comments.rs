//! Comments on a pull request or a merge request: finds, creates and updates the one of rbench.

use std::time::Duration;

use serde_json::{Value, json};
use ureq::http::Method;

use super::{HttpError, Token, http::Http};

/// Entries requested for each page of a list.
const PAGE: usize = 100;

/// Most pages that are read.
const MOST_PAGES: usize = 50;

/// The account of the token that GitHub gives to each workflow.
const WORKFLOW_ACCOUNT: &str = "github-actions[bot]";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    /// GitHub or GitHub Enterprise Server.
    Github,
    Gitlab,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub host: Host,
    /// OWNER/NAME on GitHub, the project's number on GitLab.
    pub project: String,
    pub number: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundComment {
    pub id: u64,
    pub body: String,
}

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
        let mut own = None;
        for page in 1..=MOST_PAGES {
            let entries = self.page(&path, page)?;
            for entry in &entries {
                let body = entry["body"].as_str().unwrap_or_default();
                let id = entry["id"].as_u64().filter(|_| body.starts_with(marker.trim_end()));
                let Some(id) = id else { continue };
                let own = match &own {
                    Some(own) => own,
                    None => own.insert(self.own_name()?),
                };
                let authors = [&entry["user"], &entry["author"]];
                if authors.iter().any(|author| account(author).as_ref() == Some(own)) {
                    return Ok(Some(FoundComment { id, body: body.to_owned() }));
                }
            }
            if entries.len() < PAGE {
                break;
            }
        }
        // Beyond the last page that is read, there is none: others cannot prevent a new one with many comments.
        Ok(None)
    }

    pub fn create(&self, request: &Request, body: &str) -> Result<FoundComment, HttpError> {
        let answer =
            self.http.send(&Method::POST, &list(request), Some(&json!({ "body": body })))?;
        found(&answer, body)
    }

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

    /// The name of the token's account.
    fn own_name(&self) -> Result<String, HttpError> {
        let nameless = || HttpError::Answer("the account of the token has no name".to_owned());
        match self.http.send(&Method::GET, "/user", None) {
            Ok(user) => account(&user).ok_or_else(nameless),
            // The token of an app has no user; GraphQL knows the account as which it writes.
            Err(HttpError::Status { status: 401 | 403 | 404, .. }) if self.host == Host::Github => {
                let query = json!({ "query": "{ viewer { login } }" });
                let address = address_of_graphql(self.http.address());
                let answer = self.http.send_to(address, &Method::POST, "/graphql", Some(&query));
                let viewer = answer.ok().and_then(|answer| account(&answer["data"]["viewer"]));
                Ok(viewer.unwrap_or_else(|| WORKFLOW_ACCOUNT.to_owned()))
            }
            Err(error) => Err(error),
        }
    }

    fn page(&self, path: &str, page: usize) -> Result<Vec<Value>, HttpError> {
        let joint = if path.contains('?') { '&' } else { '?' };
        let path = format!("{path}{joint}per_page={PAGE}&page={page}");
        match self.http.send(&Method::GET, &path, None)? {
            Value::Array(entries) => Ok(entries),
            _ => Err(HttpError::Answer("it is no list".to_owned())),
        }
    }

    /// Reads a list page by page.
    fn pages(&self, path: &str, mut each: impl FnMut(&Value)) -> Result<(), HttpError> {
        for page in 1..=MOST_PAGES {
            let entries = self.page(path, page)?;
            entries.iter().for_each(&mut each);
            if entries.len() < PAGE {
                return Ok(());
            }
        }
        Err(HttpError::Answer(format!("there are more than {} entries", MOST_PAGES * PAGE)))
    }
}

/// What stands before `/graphql` on the server whose REST API has this address. GitHub Enterprise Server has
/// `/api/v3` and `/api/graphql`; others have GraphQL in the REST API's directory.
fn address_of_graphql(rest: &str) -> &str {
    rest.strip_suffix("/v3").filter(|above| above.ends_with("/api")).unwrap_or(rest)
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
