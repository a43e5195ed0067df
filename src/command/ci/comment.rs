//! `cargo rbench ci comment`: the comment for a comparison that another job made. That job may have run what a stranger
//! wrote, so nothing that it left behind is believed or run: the comparison has to be about the commit of the event,
//! whose request the API knows, and its text is shown as text.

use std::{fs::File, io::Read as _, path::Path};

use super::{
    Commenter, host,
    job::{stop_commands, surroundings},
};
use crate::{
    ci::{Comment, Comparison, LARGEST, Surroundings},
    cli::CiCommentArgs,
    console::Console,
    failure::{Exit, Failure, OrFail as _, Result},
    forge::{Comments, Host, Request, Token},
    judge::ExitPolicy,
};

/// Writes the comment.
pub fn comment(args: &CiCommentArgs) -> Result<Exit> {
    let console = Console::attach();
    let (surroundings, token) = surroundings(None)?;
    stop_commands(surroundings.provider)?;
    let file = args.from.as_deref().filter(|path| path.exists());
    let comparison = file.map(|path| Comparison::parse(&read(path)?)).transpose()?;
    let Surroundings { provider, project, api, links, .. } = &surroundings;
    let missing = |what: &str| {
        Failure::new(Exit::Usage, "cannot write the comment")
            .because(format!("this job has {what}"))
            .hint("docs/ci.md has the workflow")
    };
    let host = host(*provider).ok_or_else(|| missing("no variables of GitHub or GitLab"))?;
    let token = token.ok_or_else(|| missing("no token"))?;
    let api = api.as_deref().ok_or_else(|| missing("no address of the API"))?;
    let project = project.clone().ok_or_else(|| missing("no repository"))?;
    let commit = surroundings.judged().ok_or_else(|| missing("no commit"))?;
    if comparison.as_ref().is_some_and(|comparison| comparison.head_commit() != Some(commit)) {
        return Err(Failure::new(Exit::Usage, "the comparison is about another commit")
            .because(format!("this job is about {commit}")));
    }
    let numbers = match surroundings.request {
        Some(number) => vec![number],
        None => requests(&surroundings, (host, api, &token), &project, commit)?,
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
            let failure = Failure::new(Exit::Usage, "the job that compares has not compared")
                .because(format!("it left no {}", path.display()))
                .hint("see the log of that job");
            commenter.write(&Comment::of_failure(&failure, name, links), Some(commit));
        }
        (Some(_), Some(comparison)) => {
            let exit = comparison.exit(&ExitPolicy::default());
            commenter.write(&Comment::of(&comparison, exit, name, links), Some(commit));
        }
    }
    Ok(Exit::Success)
}

/// The text of a comparison, if it can be one.
pub fn read(path: &Path) -> Result<String> {
    let what = || format!("cannot read {}", path.display());
    let file = File::open(path).or_fail(Exit::Usage, what)?;
    let mut text = String::new();
    // One byte more than a comparison may have is enough to tell that it is none.
    file.take(LARGEST as u64 + 1).read_to_string(&mut text).or_fail(Exit::Usage, what)?;
    Ok(text)
}

/// The numbers of the pull requests that the run before this one was about.
fn requests(
    surroundings: &Surroundings,
    (host, api, token): (Host, &str, &Token),
    project: &str,
    commit: &str,
) -> Result<Vec<u64>> {
    let failure = |trouble: &dyn std::fmt::Display| {
        Failure::new(Exit::Usage, "cannot find the pull request").because(trouble.to_string())
    };
    if host != Host::Github {
        return Err(failure(
            &"only jobs of GitHub follow others; here, the job needs a merge request",
        ));
    }
    let comments =
        Comments::new(host, api, token, std::thread::sleep).map_err(|trouble| failure(&trouble))?;
    comments
        .requests_of_commit(project, commit, surroundings.branch())
        .map_err(|trouble| failure(&trouble))
}
