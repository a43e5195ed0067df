//! `cargo rbench ci comment`: writes the comment for a comparison of another job. That job may have run a stranger's
//! code, so its files are not trusted and never run: the comparison must be about the commit of the event, whose
//! request comes from the API, and its text is escaped.

use std::{fs::File, io::Read as _, path::Path};

use super::job::{environment, stop_commands};
use crate::{
    ci::{CiEnvironment, Comment, Comparison, LARGEST, Links, Provider, marker},
    cli::CiCommentArgs,
    console::Console,
    error::{Context as _, Error, Exit, Result},
    forge::{Comments, FoundComment, Host, HttpError, Request, Token},
    verdict::ExitPolicy,
};

/// Reads a comparison and writes its comment.
pub fn comment(args: &CiCommentArgs) -> Result<Exit> {
    let console = Console::attach();
    let (environment, token) = environment(None, args.site.as_deref())?;
    stop_commands(environment.provider)?;
    let file = args.from.as_deref().filter(|path| path.exists());
    let comparison = file.map(|path| Comparison::parse(&read(path)?)).transpose()?;
    let CiEnvironment { provider, project, api, links, .. } = &environment;
    let missing = |what: &str| {
        Error::new(Exit::Usage, "cannot write the comment")
            .cause(format!("this job has {what}"))
            .hint("docs/ci.md has the workflow")
    };
    let host = host(*provider).ok_or_else(|| missing("no variables of GitHub or GitLab"))?;
    let token = token.ok_or_else(|| missing("no token"))?;
    let api = api.as_deref().ok_or_else(|| missing("no address of the API"))?;
    let project = project.clone().ok_or_else(|| missing("no repository"))?;
    let commit = environment.head_sha().ok_or_else(|| missing("no commit"))?;
    if comparison.as_ref().is_some_and(|comparison| comparison.head_commit() != Some(commit)) {
        return Err(Error::new(Exit::Usage, "the comparison is of another commit")
            .cause(format!("this job runs for {commit}")));
    }
    let numbers = match environment.request {
        Some(number) => vec![number],
        None => requests(&environment, (host, api, &token), &project, commit)?,
    };
    let [number] = numbers[..] else {
        let count = if numbers.is_empty() { "no" } else { "more than one" };
        let line =
            format!("{count} open pull request has the commit {commit}: there is no comment");
        console.line(&line);
        return Ok(Exit::Success);
    };
    let request = Request { host, project, number };
    let name = args.comment_name.as_str();
    let mut commenter =
        Commenter::new(request, api, &token, (name, links.clone(), *provider), &console);
    match (&args.from, comparison) {
        (None, _) => commenter.mark_stale(commit),
        (Some(path), None) => {
            let error = Error::new(Exit::Usage, "the job that compares has no result")
                .cause(format!("it did not write {}", path.display()))
                .hint("see the log of that job");
            commenter.write(&Comment::compose_failure(&error, name, links), Some(commit));
        }
        (Some(_), Some(comparison)) => {
            let exit = comparison.exit(&ExitPolicy::default());
            commenter.write(&Comment::compose(&comparison, exit, name, links), Some(commit));
        }
    }
    Ok(Exit::Success)
}

/// Reads the text of a comparison, up to the maximum size of one.
pub fn read(path: &Path) -> Result<String> {
    let what = || format!("cannot read {}", path.display());
    let file = File::open(path).context(Exit::Usage, what)?;
    let mut text = String::new();
    // Reading one byte more than the maximum is enough to detect a file that is too large.
    file.take(LARGEST as u64 + 1).read_to_string(&mut text).context(Exit::Usage, what)?;
    Ok(text)
}

/// The numbers of the pull requests of the run that triggered this one.
fn requests(
    environment: &CiEnvironment,
    (host, api, token): (Host, &str, &Token),
    project: &str,
    commit: &str,
) -> Result<Vec<u64>> {
    let error = |cause: &dyn std::fmt::Display| {
        Error::new(Exit::Usage, "cannot find the pull request").cause(cause.to_string())
    };
    if host != Host::Github {
        return Err(error(
            &"only jobs of GitHub follow others; here, the job needs a merge request",
        ));
    }
    let comments =
        Comments::new(host, api, token, std::thread::sleep).map_err(|cause| error(&cause))?;
    comments
        .requests_of_commit(project, commit, environment.branch())
        .map_err(|cause| error(&cause))
}

/// The comment with one name on one request.
pub struct Commenter<'c> {
    comments: Option<Comments>,
    request: Request,
    name: String,
    links: Links,
    provider: Provider,
    known: Known,
    console: &'c Console,
}

/// The state of the comment, as far as it is known.
enum Known {
    Nothing,
    Absent,
    There(FoundComment),
}

impl<'c> Commenter<'c> {
    /// Connects to the API at this address.
    pub fn new(
        request: Request,
        api: &str,
        token: &Token,
        (name, links, provider): (&str, Links, Provider),
        console: &'c Console,
    ) -> Self {
        let name = name.to_owned();
        let mut commenter =
            Self { comments: None, request, name, links, provider, known: Known::Nothing, console };
        match Comments::new(commenter.request.host, api, token, std::thread::sleep) {
            Ok(comments) => commenter.comments = Some(comments),
            Err(error) => commenter.give_up(&error),
        }
        commenter
    }

    /// The account that set a label of the request; `None` if the request does not have it, or if that is not known.
    pub fn who_labeled(&self, label: &str) -> Option<String> {
        let found = self.comments.as_ref()?.who_labeled(&self.request, label);
        found.unwrap_or_else(|error| {
            let number = self.request.number;
            self.console
                .line(&format!("warning: cannot read the labels of request {number}: {error}"));
            None
        })
    }

    /// Marks an existing comment as being about an older commit than this one. After an error other than a missing
    /// permission, the comment itself may still be written later.
    pub fn mark_stale(&mut self, commit: &str) {
        let result = self.found().and_then(|found| {
            let (Some(found), Some(comments)) = (found, &self.comments) else { return Ok(()) };
            let stale = Comment::stale(&found.body, commit, &self.links);
            match comments.update(&self.request, found.id, &stale) {
                // Somebody removed it in the meantime.
                Err(HttpError::Status { status: 404, .. }) => self.known = Known::Absent,
                other => drop(other?),
            }
            Ok(())
        });
        match result {
            Err(error) if is_final(&error) => self.give_up(&error),
            _ => {}
        }
    }

    /// Writes the comment about this commit: updates an existing one, or creates one if there is news. If the request
    /// has newer commits, their run writes it instead.
    pub fn write(&mut self, comment: &Comment, commit: Option<&str>) {
        if self.is_outdated(commit) {
            let number = self.request.number;
            self.console.line(&format!(
                "note: request {number} has newer commits: there is no comment about this one"
            ));
            return;
        }
        // Another run may have written one in the meantime.
        self.known = Known::Nothing;
        let result = self.written(comment, &comment.body).or_else(|error| match error {
            // Too large or not valid: the short form may be accepted.
            HttpError::Status { status: 413 | 422, .. } => self.written(comment, &comment.short),
            other => Err(other),
        });
        if let Err(error) = result {
            self.give_up(&error);
        }
    }

    /// True if the request is known to have another newest commit.
    fn is_outdated(&self, commit: Option<&str>) -> bool {
        let newest = || self.comments.as_ref()?.newest_commit(&self.request).ok();
        commit.is_some_and(|commit| newest().is_some_and(|newest| newest != commit))
    }

    fn written(&mut self, comment: &Comment, body: &str) -> Result<(), HttpError> {
        let found = self.found()?;
        let Some(comments) = &self.comments else { return Ok(()) };
        if let Some(found) = found {
            match comments.update(&self.request, found.id, body) {
                // Somebody removed it.
                Err(HttpError::Status { status: 404, .. }) => {}
                other => return other.map(drop),
            }
        }
        if comment.is_news {
            self.known = Known::There(comments.create(&self.request, body)?);
        }
        Ok(())
    }

    fn found(&mut self) -> Result<Option<FoundComment>, HttpError> {
        if let (Known::Nothing, Some(comments)) = (&self.known, &self.comments) {
            let found = comments.find(&self.request, &marker(&self.name))?;
            self.known = found.map_or(Known::Absent, Known::There);
        }
        Ok(match &self.known {
            Known::There(found) => Some(found.clone()),
            Known::Nothing | Known::Absent => None,
        })
    }

    /// Prints why there is no comment, and stops trying.
    fn give_up(&mut self, error: &HttpError) {
        self.comments = None;
        let number = self.request.number;
        self.console
            .line(&format!("warning: cannot write the comment on request {number}: {error}"));
        if is_final(error) {
            self.console.line(&format!("hint: {}", self.provider.permission()));
        }
    }
}

/// True if trying again cannot help: a missing permission or a missing request.
const fn is_final(error: &HttpError) -> bool {
    matches!(error, HttpError::Status { status: 401 | 403 | 404, .. })
}

/// The host for comments of a service, if it has any.
pub const fn host(provider: Provider) -> Option<Host> {
    match provider {
        Provider::Github => Some(Host::Github),
        Provider::Gitlab => Some(Host::Gitlab),
        Provider::None => None,
    }
}
