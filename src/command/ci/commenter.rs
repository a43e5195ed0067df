//! Keeps one comment up to date. An error is only a warning, once: the verdicts are also in the reports and the
//! summary.

use crate::{
    ci::{Comment, Links, Provider, marker},
    console::Console,
    forge::{Comments, FoundComment, Host, HttpError, Request, Token},
};

pub struct Commenter<'c> {
    comments: Option<Comments>,
    request: Request,
    name: String,
    links: Links,
    provider: Provider,
    known: Known,
    console: &'c Console,
}

enum Known {
    /// Not searched yet.
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
