//! Keeps one comment up to date. That it cannot be written is one warning: the verdicts are told elsewhere too.

use crate::{
    ci::{Comment, Links, Provider, marker},
    console::Console,
    forge::{Comments, FoundComment, HttpError, Request, Token},
};

/// The comment of one name on one request.
pub struct Commenter<'c> {
    comments: Option<Comments>,
    request: Request,
    name: String,
    links: Links,
    provider: Provider,
    known: Known,
    console: &'c Console,
}

/// What is known of the comment.
enum Known {
    /// It was not looked for.
    Nothing,
    /// There is none.
    Absent,
    /// There is one.
    There(FoundComment),
}

impl<'c> Commenter<'c> {
    /// For the API at this address.
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
            Err(trouble) => commenter.give_up(&trouble),
        }
        commenter
    }

    /// Says that what an earlier run wrote is about an older commit than this one. Where it cannot, the comment itself
    /// may still be written later, unless it is not permitted.
    pub fn mark_stale(&mut self, commit: &str) {
        let result = self.found().and_then(|found| {
            let (Some(found), Some(comments)) = (found, &self.comments) else { return Ok(()) };
            let stale = Comment::stale(&found.body, commit, &self.links);
            match comments.update(&self.request, found.id, &stale) {
                // Somebody has just removed it.
                Err(HttpError::Status { status: 404, .. }) => self.known = Known::Absent,
                other => drop(other?),
            }
            Ok(())
        });
        match result {
            Err(trouble) if is_final(&trouble) => self.give_up(&trouble),
            _ => {}
        }
    }

    /// Writes the comment about this commit: in the place of the old one, or a new one if it is worth one. If there are
    /// newer commits, their run writes it.
    pub fn write(&mut self, comment: &Comment, commit: Option<&str>) {
        if self.is_outdated(commit) {
            let number = self.request.number;
            self.console.line(&format!(
                "note: request {number} has newer commits: there is no comment about this one"
            ));
            return;
        }
        // Another run may have written one meanwhile.
        self.known = Known::Nothing;
        let result = self.written(comment, &comment.body).or_else(|trouble| match trouble {
            // It was refused as it is, whatever the reason is.
            HttpError::Status { status: 413 | 422, .. } => self.written(comment, &comment.short),
            other => Err(other),
        });
        if let Err(trouble) = result {
            self.give_up(&trouble);
        }
    }

    /// Whether the request is known to have another newest commit.
    fn is_outdated(&self, commit: Option<&str>) -> bool {
        let newest = || self.comments.as_ref()?.newest_commit(&self.request).ok();
        commit.is_some_and(|commit| newest().is_some_and(|newest| newest != commit))
    }

    fn written(&mut self, comment: &Comment, body: &str) -> Result<(), HttpError> {
        let found = self.found()?;
        let Some(comments) = &self.comments else { return Ok(()) };
        if let Some(found) = found {
            match comments.update(&self.request, found.id, body) {
                // Somebody has removed it.
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

    /// Says why there is no comment, and tries no more.
    fn give_up(&mut self, trouble: &HttpError) {
        self.comments = None;
        let number = self.request.number;
        self.console
            .line(&format!("warning: cannot write the comment on request {number}: {trouble}"));
        if is_final(trouble) {
            self.console.line(&format!("hint: {}", self.provider.permission()));
        }
    }
}

/// Whether the API would answer the same later.
const fn is_final(trouble: &HttpError) -> bool {
    matches!(trouble, HttpError::Status { status: 401 | 403 | 404, .. })
}
