//! `cargo rbench ci comment`: writes the comment for a comparison of another job. That job may have run a stranger's
//! code, so its files are not trusted and never run: the comparison must be about the commit of the event, whose
//! request comes from the API, and its text is escaped.

use std::{fs::File, io::Read as _, path::Path};

use super::{
    commenter::{Commenter, host},
    job::{environment, stop_commands},
};
use crate::{
    ci::{CiEnvironment, Comment, Comparisons, LARGEST},
    cli::CiCommentArgs,
    console::Console,
    error::{Context as _, Error, Exit, Result},
    forge::{Comments, Host, Request, Token},
    verdict::ExitPolicy,
};

/// Reads a comparison and writes its comment.
pub fn comment(args: &CiCommentArgs) -> Result<Exit> {
    let console = Console::attach();
    let (environment, token) = environment(None, args.site.as_deref())?;
    stop_commands(environment.provider)?;
    let file = args.from.as_deref().filter(|path| path.exists());
    let comparison = file.map(|path| Comparisons::parse(&read(path)?)).transpose()?;
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
