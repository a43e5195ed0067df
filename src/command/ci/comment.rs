//! `cargo rbench ci comment`: the comment for a comparison that another job made. That job may have run what a stranger
//! wrote, so nothing that it left behind is believed or run: the comparison has to be about the commit of the event,
//! whose request the API knows, and its text is shown as text.

use std::{fs::File, io::Read as _, path::Path};

use super::{
    Commenter, host,
    job::{environment, stop_commands},
};
use crate::{
    ci::{CiEnvironment, Comment, Comparison, LARGEST},
    cli::CiCommentArgs,
    console::Console,
    error::{Context as _, Error, Exit, Result},
    forge::{Comments, Host, Request, Token},
    verdict::ExitPolicy,
};

/// Writes the comment.
pub fn comment(args: &CiCommentArgs) -> Result<Exit> {
    let console = Console::attach();
    let (environment, token) = environment(None)?;
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
        return Err(Error::new(Exit::Usage, "the comparison is about another commit")
            .cause(format!("this job is about {commit}")));
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
            let failure = Error::new(Exit::Usage, "the job that compares has not compared")
                .cause(format!("it left no {}", path.display()))
                .hint("see the log of that job");
            commenter.write(&Comment::compose_failure(&failure, name, links), Some(commit));
        }
        (Some(_), Some(comparison)) => {
            let exit = comparison.exit(&ExitPolicy::default());
            commenter.write(&Comment::compose(&comparison, exit, name, links), Some(commit));
        }
    }
    Ok(Exit::Success)
}

/// The text of a comparison, if it can be one.
pub fn read(path: &Path) -> Result<String> {
    let what = || format!("cannot read {}", path.display());
    let file = File::open(path).context(Exit::Usage, what)?;
    let mut text = String::new();
    // One byte more than a comparison may have is enough to tell that it is none.
    file.take(LARGEST as u64 + 1).read_to_string(&mut text).context(Exit::Usage, what)?;
    Ok(text)
}

/// The numbers of the pull requests that the run before this one was about.
fn requests(
    environment: &CiEnvironment,
    (host, api, token): (Host, &str, &Token),
    project: &str,
    commit: &str,
) -> Result<Vec<u64>> {
    let failure = |trouble: &dyn std::fmt::Display| {
        Error::new(Exit::Usage, "cannot find the pull request").cause(trouble.to_string())
    };
    if host != Host::Github {
        return Err(failure(
            &"only jobs of GitHub follow others; here, the job needs a merge request",
        ));
    }
    let comments =
        Comments::new(host, api, token, std::thread::sleep).map_err(|trouble| failure(&trouble))?;
    comments
        .requests_of_commit(project, commit, environment.branch())
        .map_err(|trouble| failure(&trouble))
}
