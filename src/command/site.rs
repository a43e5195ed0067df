//! `cargo rbench site`: static web pages of all stored results. It reads stored results and measures nothing.

use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
    fs::{self, Permissions},
    io::{ErrorKind, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    rc::Rc,
    sync::Arc,
};

use super::{history, stored_project};
use crate::{
    cli::{HistoryArgs, SiteArgs},
    compare::{Archive, archive, compare_experiment},
    config::{CriteriaOptions, VerdictSettings},
    console::Console,
    error::{Context as _, Error, Exit, Result},
    harness::Filter,
    model::{Benchmark, Machine, Version},
    report::{
        Report as _,
        compare::ComparisonReport,
        file_name,
        history::BenchmarkHistory,
        site::{ChangedComparison, ConfirmedChange, PackageHistory, SiteReport, narrowest},
    },
    store::StoredExperiment,
    verdict::{ExitPolicy, Results},
};

/// The maximum number of comparisons with a page, and of benchmarks whose histories are in memory at once.
const MOST_COMPARISONS: usize = 200;
const MOST_TOGETHER: usize = 300;

/// The file that marks a directory as one that this command wrote.
const MARKER: &str = ".rbench-site";

const HISTORY: &str = "history";
const COMPARE: &str = "compare";

pub fn run(args: &SiteArgs) -> Result<Exit> {
    let console = Console::attach();
    let project = stored_project(&args.project)?;
    project.check_tables(&["HEAD"], &console)?;
    let verdicts = VerdictSettings::resolve(&project.file, &CriteriaOptions::default())?;
    let archive = Archive::open(&project, &console, Rc::new(args.given.clone()))?;
    // Fails if nothing is stored, before there is a directory.
    let benchmarks = archive::chosen(&archive.store, &Filter::default(), &args.given)?;
    let mut directory = Directory::open(&args.directory)?;
    let site = Site { args, verdicts, archive };
    let name = project.repository.root().file_name().unwrap_or_default();
    let report = SiteReport {
        project: name.to_string_lossy().into_owned(),
        comparisons: site.comparisons(&mut directory)?,
        histories: site.histories(&benchmarks, &mut directory)?,
    };
    directory.write("changes.json", &report.json()?)?;
    directory.write("feed.xml", &report.feed()?)?;
    directory.write("badge.json", &report.badge()?)?;
    // Last, so that it links only to pages that are there.
    directory.write("index.html", &report.html()?)?;
    directory.finish()?;
    console.line(&format!("open {}", args.directory.join("index.html").display()));
    Ok(Exit::Success)
}

struct Site<'a> {
    args: &'a SiteArgs,
    verdicts: VerdictSettings,
    archive: Archive<'a>,
}

impl Site<'_> {
    /// Writes a page for each comparison in which something changed, the newest first.
    fn comparisons(&self, to: &mut Directory) -> Result<Vec<ChangedComparison>> {
        let Archive { store, acceptances, command_line } = &self.archive;
        let fresh = store.with_fresh_builds()?;
        // Times change only with fresh builds, which few of many experiments have.
        let may_have_changes = |stored: &StoredExperiment| {
            stored.finished.is_some()
                && !stored.plan.is_of_implementations()
                && (!self.verdicts.criteria.confirm
                    || stored.plan.is_counting()
                    || fresh.contains(&stored.id))
        };
        let (mut all, mut outcomes) = (Vec::new(), Vec::new());
        let stored = self.since(store.experiments()?)?;
        for stored in stored.iter().rev().filter(|stored| may_have_changes(stored)) {
            if all.len() == MOST_COMPARISONS {
                break;
            }
            let outcome = compare_experiment(stored.id, &self.verdicts, &self.archive)?;
            let Some(mut outcome) = outcome else { continue };
            let changes = ConfirmedChange::all(&outcome);
            if changes.is_empty() {
                continue;
            }
            let [base, head] = [outcome.base.clone(), outcome.head.clone()];
            outcome.changes = acceptances.repository.changes(&base, &head)?;
            let commits = outcome.changes.clone();
            let (identity, measured) = (stored.identity.clone(), stored.begun);
            let machine = label(&stored.plan.machine);
            outcomes.push((identity.clone(), outcome));
            all.push(ChangedComparison {
                identity,
                measured,
                machine,
                base,
                head,
                commits,
                page: String::new(),
                changes,
            });
        }
        let repository = acceptances.repository;
        let is_before = |one: &Version, other: &Version| match &one.commit {
            Some(commit) if !one.dirty => repository.has_in_history(other, commit),
            // Nothing but itself follows an uncommitted tree.
            _ => Ok(one.tree == other.tree),
        };
        let mut kept = narrowest(&all, is_before)?;
        for one in &mut kept {
            let found = outcomes.iter().position(|(identity, _)| *identity == one.identity);
            let Some((_, outcome)) = found.map(|at| outcomes.swap_remove(at)) else { continue };
            let report =
                ComparisonReport::new(outcome, ExitPolicy::default(), command_line.clone());
            one.page = to.page(COMPARE, &one.identity, &report.html()?)?;
        }
        Ok(kept)
    }

    /// Writes a page for each benchmark on each machine, or class of machines.
    fn histories(
        &self,
        benchmarks: &[Benchmark],
        to: &mut Directory,
    ) -> Result<Vec<PackageHistory>> {
        let Archive { store, acceptances, .. } = &self.archive;
        let given = &self.args.given;
        let finished =
            archive::finished(store, self.verdicts.counts_only(), benchmarks, given)?.experiments;
        let args = HistoryArgs {
            given: given.clone(),
            since: self.args.since.clone(),
            last: Some(u32::MAX),
            ..HistoryArgs::default()
        };
        let mut packages: Vec<(&str, Vec<Benchmark>)> = Vec::new();
        for benchmark in benchmarks {
            match packages.iter_mut().find(|(package, _)| *package == benchmark.package) {
                Some((_, all)) => all.push(benchmark.clone()),
                None => packages.push((&benchmark.package, vec![benchmark.clone()])),
            }
        }
        let mut pages = Vec::new();
        for (machine, experiments) in by_class(self.since(finished)?) {
            let machine = label(&machine);
            let results = Results::new(store, experiments);
            for (package, benchmarks) in &packages {
                for benchmarks in benchmarks.chunks(MOST_TOGETHER) {
                    let report =
                        history::report(&args, &results, benchmarks, &self.verdicts, acceptances)?;
                    if report.benchmarks.is_empty() {
                        continue;
                    }
                    let to = RefCell::new(&mut *to);
                    let page = |history: &BenchmarkHistory| {
                        let Benchmark { target, name, .. } = &history.benchmark;
                        let file = format!("{machine}-{package}-{target}-{}", name.id);
                        let page = report.of_one(history, &machine);
                        to.borrow_mut().page(HISTORY, &file, &page.html()?)
                    };
                    pages.push(PackageHistory::new([&machine, package], &report, page)?);
                }
            }
        }
        Ok(pages)
    }

    /// The experiments on a version since the revision of `--since`; all without it.
    fn since(&self, mut all: Vec<StoredExperiment>) -> Result<Vec<StoredExperiment>> {
        let Some(revision) = &self.args.since else { return Ok(all) };
        let commit_of = |stored: &StoredExperiment| {
            let versions = stored.plan.versions.iter();
            versions.filter_map(|planned| planned.version.commit.clone()).collect::<Vec<_>>()
        };
        let commits: Vec<String> = all.iter().flat_map(commit_of).collect();
        let repository = self.archive.acceptances.repository;
        let since = repository.since(revision, commits.iter().map(String::as_str))?;
        all.retain(|stored| commit_of(stored).iter().any(|commit| since.contains(commit)));
        Ok(all)
    }
}

/// The experiments of each machine or class of machines, the class of the newest experiment first.
fn by_class(all: Vec<StoredExperiment>) -> Vec<(Arc<Machine>, Vec<StoredExperiment>)> {
    let mut classes: Vec<(Arc<Machine>, Vec<StoredExperiment>)> = Vec::new();
    for stored in all.into_iter().rev() {
        let machine = &stored.plan.machine;
        match classes.iter_mut().find(|(known, _)| known.shares_history(machine)) {
            Some((_, experiments)) => experiments.push(stored),
            None => classes.push((machine.clone(), vec![stored])),
        }
    }
    for (_, experiments) in &mut classes {
        experiments.reverse();
    }
    classes
}

/// The class of a machine, or a description of it.
fn label(machine: &Machine) -> String {
    if machine.class.is_empty() { machine.to_string() } else { machine.class.clone() }
}

struct Directory {
    path: PathBuf,
    /// The files written, relative to the directory.
    written: HashSet<String>,
    /// The number of pages that wanted each name.
    names: HashMap<String, usize>,
}

impl Directory {
    /// Opens a new or empty directory, or one that this command wrote before. Fails if it has other files.
    fn open(path: &Path) -> Result<Self> {
        let what = || format!("cannot write a site to {}", path.display());
        let is_marked = path.join(MARKER).symlink_metadata().is_ok_and(|found| found.is_file());
        let is_empty = match fs::read_dir(path) {
            Ok(mut entries) => entries.next().is_none(),
            Err(error) if error.kind() == ErrorKind::NotFound => true,
            Err(error) => return Err(error).context(Exit::Usage, what),
        };
        if !is_marked && !is_empty {
            return Err(Error::new(Exit::Usage, what())
                .cause("it has files that are not of a site")
                .hint("name a new or an empty directory"));
        }
        for directory in [HISTORY, COMPARE] {
            fs::create_dir_all(path.join(directory)).context(Exit::Usage, what)?;
        }
        let mut directory =
            Self { path: path.to_owned(), written: HashSet::new(), names: HashMap::new() };
        directory.write(MARKER, "cargo rbench site replaces the pages of this directory.\n")?;
        Ok(directory)
    }

    /// Writes a page under a safe name, which no other page has, and returns its path relative to the front page.
    fn page(&mut self, directory: &str, name: &str, html: &str) -> Result<String> {
        let name = file_name(name);
        // Names may differ only in case where files may not.
        let same = self.names.entry(format!("{directory}/{}", name.to_lowercase())).or_default();
        *same += 1;
        // `file_name` keeps no underscore, so that no other name is `x_2`.
        let number = if *same == 1 { String::new() } else { format!("_{same}") };
        let file = format!("{directory}/{name}{number}.html");
        self.write(&file, html)?;
        Ok(file)
    }

    /// Writes a file at once: readers see it complete or not at all.
    fn write(&mut self, file: &str, text: &str) -> Result<()> {
        let path = self.path.join(file);
        let what = || format!("cannot write {}", path.display());
        let directory = path.parent().unwrap_or(&self.path);
        // Other users, such as that of a web server, may read it if the umask allows it.
        let permissions = Permissions::from_mode(0o666);
        let mut unfinished = tempfile::Builder::new()
            .permissions(permissions)
            .tempfile_in(directory)
            .context(Exit::Usage, what)?;
        unfinished.write_all(text.as_bytes()).context(Exit::Usage, what)?;
        unfinished.persist(&path).context(Exit::Usage, what)?;
        self.written.insert(file.to_owned());
        Ok(())
    }

    /// Removes the pages of earlier runs that were not written again.
    fn finish(self) -> Result<()> {
        for directory in [HISTORY, COMPARE] {
            let path = self.path.join(directory);
            let what = || format!("cannot remove old pages from {}", path.display());
            for entry in fs::read_dir(&path).context(Exit::Usage, what)? {
                let entry = entry.context(Exit::Usage, what)?;
                let name = entry.file_name();
                let name = name.to_string_lossy();
                let is_old = name.ends_with(".html")
                    && !self.written.contains(&format!("{directory}/{name}"));
                if is_old && entry.file_type().is_ok_and(|found| found.is_file()) {
                    fs::remove_file(entry.path()).context(Exit::Usage, what)?;
                }
            }
        }
        Ok(())
    }
}
