//! Comments with a simulated API.

use std::{
    cell::RefCell,
    rc::Rc,
    time::{Duration, SystemTime},
};

use super::{
    Comments, Host, HttpError, Request, Token,
    api::{Api, Fault},
};

const MARKER: &str = "<!-- marker -->\n";

fn request(host: Host) -> Request {
    let project = match host {
        Host::Github => "owner/name",
        Host::Gitlab => "12",
    };
    Request { host, project: project.to_owned(), number: 7 }
}

/// A client of the API, and the recorded waits.
fn comments(api: &Api, host: Host) -> (Comments, Rc<RefCell<Vec<Duration>>>) {
    let waited = Rc::new(RefCell::new(Vec::new()));
    let noted = Rc::clone(&waited);
    let token = Token::new("s3cret").unwrap();
    let pause = move |time| noted.borrow_mut().push(time);
    (Comments::new(host, &api.address, &token, pause).unwrap(), waited)
}

fn fault(method: &'static str, status: u16, headers: &[(&'static str, &str)]) -> Fault {
    let headers = headers.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    Fault { method, path: "", status, headers, message: "slow down" }
}

#[test]
fn comment_is_created_found_and_updated_on_each_host() {
    for (host, changes) in [
        (
            Host::Github,
            [
                "POST /repos/owner/name/issues/7/comments",
                "PATCH /repos/owner/name/issues/comments/2",
            ],
        ),
        (
            Host::Gitlab,
            [
                "POST /projects/12/merge_requests/7/notes",
                "PUT /projects/12/merge_requests/7/notes/2",
            ],
        ),
    ] {
        let api = Api::start();
        if host == Host::Gitlab {
            api.token_of("bench-bot");
        }
        api.add("somebody", false, "hello");
        let (comments, _) = comments(&api, host);
        let request = request(host);
        assert_eq!(comments.find(&request, MARKER).unwrap(), None);
        let made = comments.create(&request, &format!("{MARKER}one")).unwrap();
        let found = comments.find(&request, MARKER).unwrap().unwrap();
        assert_eq!((found.id, found.body.as_str()), (made.id, "<!-- marker -->\none"));
        comments.update(&request, found.id, &format!("{MARKER}two")).unwrap();
        assert_eq!(api.comments()[1].body, "<!-- marker -->\ntwo");
        assert_eq!(api.changes(), changes);
        let tokens: Vec<String> = api.asked().into_iter().map(|asked| asked.token).collect();
        let expected = if host == Host::Github { "Bearer s3cret" } else { "s3cret" };
        assert!(tokens.iter().all(|token| token == expected), "{tokens:?}");
    }
}

#[test]
fn label_is_that_of_the_account_which_set_it_last() {
    for (host, path) in [
        (Host::Github, "/repos/owner/name/issues/7/events?"),
        (Host::Gitlab, "/projects/12/merge_requests/7/resource_label_events?"),
    ] {
        let api = Api::start();
        let (comments, _) = comments(&api, host);
        let who = |label| comments.who_labeled(&request(host), label).unwrap();
        assert_eq!(who("slow"), None);
        api.label("slow", "ada", true);
        api.label("other", "bob", true);
        assert_eq!(who("slow").as_deref(), Some("ada"));
        api.label("slow", "bob", false);
        assert_eq!(who("slow"), None);
        api.label("slow", "eve", true);
        assert_eq!(who("slow").as_deref(), Some("eve"));
        assert!(api.asked().iter().all(|asked| asked.path.starts_with(path)));
    }
}

#[test]
fn find_reads_several_pages() {
    let api = Api::start();
    for number in 0..230 {
        api.add("somebody", false, &format!("comment {number}"));
    }
    let id = api.add("github-actions[bot]", true, MARKER);
    let (comments, _) = comments(&api, Host::Github);
    assert_eq!(comments.find(&request(Host::Github), MARKER).unwrap().unwrap().id, id);
    let pages = api.asked().iter().filter(|asked| asked.path.contains("/comments?")).count();
    assert_eq!(pages, 3);
}

#[test]
fn many_comments_of_others_do_not_prevent_a_comment() {
    let api = Api::start();
    for _ in 0..5_100 {
        api.add("mallory", false, "");
    }
    let (comments, _) = comments(&api, Host::Github);
    assert_eq!(comments.find(&request(Host::Github), MARKER).unwrap(), None);
    assert!(comments.create(&request(Host::Github), MARKER).is_ok());
}

#[test]
fn find_ignores_comments_of_others() {
    let api = Api::start();
    api.add("mallory", false, MARKER);
    api.add("mallory-app[bot]", true, MARKER);
    let (workflow, _) = comments(&api, Host::Github);
    assert_eq!(workflow.find(&request(Host::Github), MARKER).unwrap(), None);
    let own = api.add("github-actions[bot]", true, MARKER);
    assert_eq!(workflow.find(&request(Host::Github), MARKER).unwrap().unwrap().id, own);
    // An app finds its own comment, and not that of the workflow.
    api.token_of_app("other-app[bot]");
    assert_eq!(workflow.find(&request(Host::Github), MARKER).unwrap(), None);
    // The token of a person finds that person's comment, and no bot's.
    api.token_of("mallory");
    assert_eq!(workflow.find(&request(Host::Github), MARKER).unwrap().unwrap().id, 1);
    // A comment that only quotes the marker does not belong to rbench.
    api.token_of("quoting");
    api.add("quoting", false, &format!("> {MARKER}"));
    assert_eq!(workflow.find(&request(Host::Github), MARKER).unwrap(), None);
}

#[test]
fn app_of_an_enterprise_server_asks_the_graphql_api_beside_the_other() {
    let api = Api::start();
    let (_, noted) = comments(&api, Host::Github);
    let pause = move |time| noted.borrow_mut().push(time);
    let address = format!("{}/api/v3", api.address);
    let token = Token::new("s3cret").unwrap();
    let comments = Comments::new(Host::Github, &address, &token, pause).unwrap();
    api.token_of_app("own-app[bot]");
    let own = api.add("own-app[bot]", true, MARKER);
    assert_eq!(comments.find(&request(Host::Github), MARKER).unwrap().unwrap().id, own);
    let paths: Vec<String> = api.asked().into_iter().map(|asked| asked.path).collect();
    let list = "/api/v3/repos/owner/name/issues/7/comments?per_page=100&page=1";
    assert_eq!(paths, [list, "/api/v3/user", "/api/graphql"]);
}

#[test]
fn refusal_has_the_message_of_the_api() {
    let api = Api::start();
    let (comments, waited) = comments(&api, Host::Github);
    for status in [401, 403, 404, 410, 422, 301] {
        api.fails("POST", "", status);
        let error = comments.create(&request(Host::Github), "x").unwrap_err();
        assert_eq!(error, HttpError::Status { status, message: "refused".to_owned() });
    }
    assert!(waited.borrow().is_empty());
    let long = "ä".repeat(65_537);
    let error = comments.create(&request(Host::Github), &long).unwrap_err();
    assert!(error.to_string().contains("422: Body is too long"), "{error}");
}

#[test]
fn rate_limit_waits_as_long_as_the_api_asks() {
    let api = Api::start();
    let (comments, waited) = comments(&api, Host::Github);
    api.faults(fault("POST", 429, &[("retry-after", "3")]));
    api.faults(fault("POST", 403, &[("retry-after", "7")]));
    comments.create(&request(Host::Github), "x").unwrap();
    assert_eq!(*waited.borrow(), [3, 7].map(Duration::from_secs));
    assert_eq!(api.comments().len(), 1);
    waited.borrow_mut().clear();
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let soon = (now + 20).to_string();
    let headers = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", soon.as_str())];
    api.faults(fault("POST", 403, &headers));
    comments.create(&request(Host::Github), "x").unwrap();
    assert!((10..=20).contains(&waited.borrow()[0].as_secs()), "{waited:?}");
}

#[test]
fn rate_limit_without_a_time_waits_a_minute() {
    let api = Api::start();
    let (comments, waited) = comments(&api, Host::Github);
    api.faults(fault("POST", 429, &[]));
    let message = "You have exceeded a secondary rate limit. Please wait a few minutes.";
    api.faults(Fault { message, ..fault("POST", 403, &[("x-ratelimit-remaining", "99")]) });
    comments.create(&request(Host::Github), "x").unwrap();
    assert_eq!(*waited.borrow(), [60, 60].map(Duration::from_secs));
}

#[test]
fn rate_limit_waits_are_bounded() {
    let api = Api::start();
    let (comments, waited) = comments(&api, Host::Github);
    api.faults(fault("POST", 429, &[("retry-after", "3600")]));
    assert_eq!(comments.create(&request(Host::Github), "x").unwrap_err(), HttpError::Limited);
    assert!(waited.borrow().is_empty());
    for _ in 0..5 {
        api.faults(fault("POST", 429, &[("retry-after", "1")]));
    }
    assert_eq!(comments.create(&request(Host::Github), "x").unwrap_err(), HttpError::Limited);
    assert_eq!(waited.borrow().len(), 2);
}

#[test]
fn post_is_not_repeated_after_a_server_error() {
    let api = Api::start();
    let (comments, _) = comments(&api, Host::Github);
    api.fails("POST", "", 502);
    assert!(comments.create(&request(Host::Github), "x").is_err());
    assert_eq!(api.changes().len(), 1);
    api.fails("GET", "", 502);
    assert_eq!(comments.find(&request(Host::Github), MARKER).unwrap(), None);
}

#[test]
fn requests_of_commit_match_the_newest_commit() {
    let api = Api::start();
    for number in 1..=150 {
        api.add_pull(number, &format!("commit {number}"));
    }
    let (comments, _) = comments(&api, Host::Github);
    let branch = Some(("some one", "topic/a&b"));
    let numbers = |commit: &str| comments.requests_of_commit("o/n", commit, branch).unwrap();
    assert_eq!(numbers("commit 120"), [120]);
    assert_eq!(numbers("commit 151"), [0; 0]);
    api.add_pull(151, "commit 3");
    assert_eq!(numbers("commit 3"), [3, 151]);
    let path = &api.asked()[0].path;
    let expected = "/repos/o/n/pulls?state=open&head=some%20one:topic%2Fa%26b&per_page=100&page=1";
    assert_eq!(path, expected);
}

#[test]
fn token_is_hidden_and_sent_only_to_safe_addresses() {
    let token = Token::new("s3cret").unwrap();
    assert_eq!(format!("{token:?}"), "Token");
    assert!(Token::new("two words").is_none() && Token::new(" \n").is_none());
    for address in [
        "http://example.com",
        "http://127.0.0.1.example.com/api",
        "http://localhost@example.com",
        "https://user:word@example.com",
        "ftp://example.com",
        "",
    ] {
        let refused = Comments::new(Host::Github, address, &token, |_| ());
        assert!(matches!(refused, Err(HttpError::Address(_))), "{address}");
    }
    assert!(Comments::new(Host::Github, "https://example.com/api/v3/", &token, |_| ()).is_ok());
}

#[test]
fn redirect_is_not_followed() {
    let (api, other) = (Api::start(), Api::start());
    let (comments, _) = comments(&api, Host::Github);
    let elsewhere = other.address.clone();
    api.faults(fault("GET", 307, &[("location", &elsewhere)]));
    let error = comments.find(&request(Host::Github), MARKER).unwrap_err();
    assert!(matches!(error, HttpError::Status { status: 307, .. }), "{error}");
    assert!(other.asked().is_empty());
}

#[test]
fn unreachable_api_is_an_error() {
    let token = Token::new("s3cret").unwrap();
    // Nothing listens on the discard port.
    let comments = Comments::new(Host::Github, "http://127.0.0.1:9", &token, |_| ()).unwrap();
    let error = comments.find(&request(Host::Github), MARKER).unwrap_err();
    assert!(error.to_string().starts_with("the API cannot be reached"), "{error}");
}
