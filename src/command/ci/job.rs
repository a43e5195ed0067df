//! A CI job: its environment variables, its token, and the files and streams for publishing a comparison.

use std::{
    fs::{self, File, OpenOptions},
    hash::{BuildHasher as _, RandomState},
    io::{self, ErrorKind, Read as _, Write as _},
    path::Path,
};

use super::{
    super::{compare::policy_of_flag, output::OutputFiles},
    commenter::{Commenter, host},
};
use crate::{
    ci::{
        Annotation, CiEnvironment, Comment, Comparisons, Event, Provider, SUMMARY_ROOM,
        annotations, junit, outputs, page, resume, stop,
    },
    cli::{CiPlaceArgs, CiProvider, FailOn, OutputFile},
    console::Console,
    error::{Context as _, Error, Exit, Result},
    escape::escape_untrusted,
    forge::{Request, Token},
    log,
    report::{Report, render::fenced},
    secrets,
    verdict::ExitPolicy,
};

/// The files of the report, in all formats that have one.
pub const REPORT: &str = "report.md";
const REPORTS: [&str; 3] = [REPORT, "report.txt", "report.html"];

/// The machine-readable files.
const COMPARISON: &str = "compare.json";
const JUNIT: &str = "junit.xml";
/// The log. It is uploaded together with the reports, since the job's machine may be gone soon.
const LOG: &str = "rbench.log";
const FILES: [&str; 3] = [COMPARISON, JUNIT, LOG];

pub struct Job<'c> {
    pub environment: CiEnvironment,
    pub has_token: bool,
    console: &'c Console,
    place: &'c CiPlaceArgs,
    commenter: Option<Commenter<'c>>,
    /// The command that ends the suspension of runner commands.
    silence: Option<String>,
}

/// Reads the variables of a service, and its token.
pub fn environment(
    provider: Option<CiProvider>,
    site: Option<&str>,
) -> Result<(CiEnvironment, Option<Token>)> {
    let variable = |name: &str| secrets::variable(name)?.into_string().ok();
    let provider = match provider {
        None => Provider::detect(variable),
        Some(CiProvider::Github) => Provider::Github,
        Some(CiProvider::Gitlab) => Provider::Gitlab,
        Some(CiProvider::None) => Provider::None,
    };
    let mut tokens = provider.token_variables().iter().filter_map(|name| variable(name));
    let token = tokens.find_map(|token| Token::new(&token));
    let event = match variable("GITHUB_EVENT_PATH") {
        Some(path) if provider == Provider::Github => {
            let text = read_event(Path::new(&path));
            Some(Event::parse(
                &text.context(Exit::Usage, || format!("cannot read the event {path}"))?,
            )?)
        }
        _ => None,
    };
    let mut environment = CiEnvironment::read(provider, variable, event)?;
    environment.links = environment.links.with_site(site);
    Ok((environment, token))
}

/// Reads a file of limited size: a pipe could block, and some devices have no end.
fn read_event(path: &Path) -> io::Result<String> {
    /// More than twice what GitHub sends, in bytes.
    const MOST: u64 = 64 << 20;
    let refused = |reason| io::Error::new(ErrorKind::InvalidData, reason);
    if !fs::metadata(path)?.is_file() {
        return Err(refused("it is not a regular file"));
    }
    let mut text = String::new();
    if File::open(path)?.take(MOST).read_to_string(&mut text)? as u64 == MOST {
        return Err(refused("it is larger than 64 MiB"));
    }
    Ok(text)
}

/// Makes the runner ignore commands in the output, if the service has such commands. Returns the command that ends
/// this.
pub fn stop_commands(provider: Provider) -> Result<Option<String>> {
    if provider != Provider::Github {
        return Ok(None);
    }
    let random = || RandomState::new().hash_one(0);
    let token = format!("rbench-{:016x}{:016x}", random(), random());
    // On the stream of the report: the runner reads the other stream independently, so the order would be lost.
    Console::result(&(stop(&token) + "\n"))?;
    Ok(Some(token))
}

impl<'c> Job<'c> {
    /// Reads the environment, and checks that the reports can be written.
    pub fn new(place: &'c CiPlaceArgs, console: &'c Console) -> Result<Self> {
        let (environment, token) = environment(place.provider, place.site.as_deref())?;
        let directory = &place.output_dir;
        fs::create_dir_all(directory)
            .context(Exit::Usage, || format!("cannot create {}", directory.display()))?;
        let has_token = token.is_some();
        let mut job =
            Self { environment, has_token, console, place, commenter: None, silence: None };
        if !place.no_comment {
            job.commenter = token.as_ref().and_then(|token| job.commenter(token));
            if token.is_none() && job.environment.request.is_some() {
                let variables = job.environment.provider.token_variables().join(" or ");
                console.line(&format!("note: there is no comment, since {variables} is not set"));
            }
        }
        Ok(job)
    }

    fn commenter(&self, token: &Token) -> Option<Commenter<'c>> {
        let CiEnvironment { provider, project, request, api, links, .. } = &self.environment;
        let (host, project, number) = (host(*provider)?, project.clone()?, (*request)?);
        let request = Request { host, project, number };
        let name = &self.place.comment_name;
        let api = api.as_deref()?;
        Some(Commenter::new(request, api, token, (name, links.clone(), *provider), self.console))
    }

    /// True if the label of `--advisory-label` makes the job advisory. Then its pages name the account that set it.
    pub fn is_advisory(&mut self) -> bool {
        let Some(label) = &self.place.advisory_label else { return false };
        let Some(commenter) = &mut self.commenter else {
            self.console.line(&format!(
                "note: the label {label} has no effect: it is read with the token for comments"
            ));
            return false;
        };
        let Some(account) = commenter.who_labeled(label) else { return false };
        let (label, account) = (escape_untrusted(label), escape_untrusted(&account));
        self.console.line(&format!("advisory: {account} set the label {label}"));
        self.environment.links = self.environment.links.clone().with_advisory(&label, &account);
        true
    }

    /// Makes the runner ignore commands from now on. Ids and output of benchmarks may contain them, so this is needed
    /// for safety.
    pub fn stop_commands(&mut self) -> Result<()> {
        self.silence = stop_commands(self.environment.provider)?;
        Ok(())
    }

    /// Prints commands for the runner. After an error, commands stay suspended: the rest of the failed output is still
    /// to be printed, and it may contain commands.
    fn command(&mut self, annotations: &[Annotation]) -> Result<()> {
        if let Some(token) = self.silence.take() {
            Console::result(&(resume(&token) + "\n"))?;
        }
        let lines = annotations.iter().map(|annotation| format!("{annotation}\n"));
        Console::result(&lines.collect::<String>())
    }

    /// Removes the reports of an earlier run: if this run fails, stale reports must not be mistaken for its own.
    pub fn clear(&self) -> Result<()> {
        for name in REPORTS.iter().chain(&FILES) {
            let path = self.place.output_dir.join(name);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    let what = format!("cannot remove {}", path.display());
                    return Err(Error::new(Exit::Usage, what).cause(error.to_string()));
                }
                _ => {}
            }
        }
        Ok(())
    }

    pub fn mark_stale(&mut self) {
        let commit = self.environment.head.clone().unwrap_or_default();
        if let Some(commenter) = &mut self.commenter {
            commenter.mark_stale(&commit);
        }
    }

    /// Writes the formats that need the full report, which a stored document does not have.
    pub fn write_report(&self, report: &dyn Report) -> Result<()> {
        let path = |name: &&str| self.place.output_dir.join(name);
        let files = REPORTS.iter().map(path);
        let files: Vec<OutputFile> =
            files.filter_map(|path| OutputFile::parse(&path.to_string_lossy()).ok()).collect();
        OutputFiles::check(&files)?.write(report)
    }

    /// Publishes a comparison: reports, summary, outputs, annotations and comment.
    pub fn publish(
        &mut self,
        comparison: &Comparisons,
        exit: Exit,
        advisory: bool,
        sources: &[(String, String)],
    ) -> Result<()> {
        self.write(COMPARISON, &comparison.to_json()?)?;
        self.write(JUNIT, &junit(comparison)?)?;
        if self.environment.provider == Provider::Github {
            self.command(&annotations(comparison, advisory, sources))?;
        }
        let links = self.environment.links.clone().with_exit(exit);
        self.summarize(|room| page(comparison, &links, room))?;
        self.write_outputs(Ok(comparison), exit)?;
        if let Some(commenter) = &mut self.commenter {
            let comment = Comment::compose(comparison, exit, &self.place.comment_name, &links);
            commenter.write(&comment, self.environment.head_sha());
        }
        Ok(())
    }

    /// Publishes a comparison that another job or machine made, and decides the exit code.
    pub fn publish_finished(&mut self, comparison: &Comparisons, fail_on: FailOn) -> Result<Exit> {
        let fail_on = if self.is_advisory() { FailOn::Never } else { fail_on };
        let nothing_compared = fail_on.fails_without_comparison();
        let policy = ExitPolicy { nothing_compared, ..policy_of_flag(fail_on) };
        let exit = comparison.exit(&policy);
        let links = self.environment.links.clone().with_exit(exit);
        let page = page(comparison, &links, SUMMARY_ROOM);
        Console::result(&page)?;
        self.write(REPORT, &page)?;
        self.publish(comparison, exit, policy.ignores_regressions, &[])?;
        Ok(exit)
    }

    pub fn publish_failure(&mut self, error: &Error) -> Result<()> {
        let links = self.environment.links.clone();
        let path = log::path().map(|_| self.place.output_dir.join(LOG));
        let log = path.map_or_else(String::new, |path| format!("log: {}\n", path.display()));
        let text = format!("### Benchmarks: not compared\n{}", fenced(&format!("{error}\n{log}")));
        self.summarize(|room| if text.len() <= room { text.clone() } else { String::new() })?;
        self.write_outputs(Err(error), error.exit())?;
        if let Some(commenter) = &mut self.commenter {
            let comment = Comment::compose_failure(error, &self.place.comment_name, &links);
            commenter.write(&comment, self.environment.head_sha());
        }
        Ok(())
    }

    pub fn keep_log(&self) {
        if let Some(path) = log::path() {
            // An error is ignored: the original log still exists.
            let _ = fs::copy(path, self.place.output_dir.join(LOG));
        }
    }

    /// Writes a file into the directory of reports.
    pub fn write(&self, name: &str, text: &str) -> Result<()> {
        let path = self.place.output_dir.join(name);
        let text = secrets::text(text.as_bytes());
        fs::write(&path, text).context(Exit::Usage, || format!("cannot write {}", path.display()))
    }

    /// Appends to the job summary; `text` gets the number of bytes that are left.
    fn summarize(&self, text: impl Fn(usize) -> String) -> Result<()> {
        let Some(path) = &self.environment.summary else { return Ok(()) };
        let taken = fs::metadata(path).map_or(0, |metadata| metadata.len());
        let taken = usize::try_from(taken).unwrap_or(SUMMARY_ROOM);
        append(path, &text(SUMMARY_ROOM.saturating_sub(taken)))
    }

    fn write_outputs(&self, result: Result<&Comparisons, &Error>, exit: Exit) -> Result<()> {
        let Some(path) = &self.environment.outputs else { return Ok(()) };
        append(path, &outputs(result, exit, &self.place.output_dir))
    }
}

fn append(path: &Path, text: &str) -> Result<()> {
    let file = OpenOptions::new().append(true).create(true).open(path);
    let text = secrets::text(text.as_bytes());
    file.and_then(|mut file| file.write_all(text.as_bytes()))
        .context(Exit::Usage, || format!("cannot write {}", path.display()))
}
