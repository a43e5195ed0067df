//! The reports of `queue`: who lives, what runs, what waits; and one job.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Report,
    document::{Block, Document, Medium, Text, Verbatim},
    json,
    quantity::count,
    style::Role,
    table::{Cell, Column, Table},
};
use crate::{
    error::Result,
    model::{Job, JobState, Worker},
    shell,
};

/// The workers and the jobs of a project.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct QueueReport {
    /// By class and name.
    pub workers: Vec<Worker>,
    /// Running ones, then queued ones in the order in which they are taken, up to 1,000, then ended ones, the newest first.
    pub jobs: Vec<Job>,
    /// The number of all queued ones.
    pub waiting: i64,
    /// The newest format of jobs that this rbench writes.
    pub format: i32,
}

/// One job.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct JobReport {
    #[serde(flatten)]
    pub job: Job,
    /// The comparison as `compare --format json` prints it, once the job is done.
    pub comparison: Option<serde_json::Value>,
}

impl QueueReport {
    /// The reasons why queued jobs wait although nobody works: no worker of the class, or only older ones.
    fn notes(&self) -> Vec<Text> {
        let mut waiting: Vec<(&str, i32)> = self
            .jobs
            .iter()
            .filter(|job| job.state == JobState::Queued)
            .map(|job| (job.class.as_str(), job.format))
            .collect();
        waiting.sort_unstable();
        waiting.dedup();
        let note = |(class, format)| {
            let alive = || self.workers.iter().filter(|one| one.is_alive && one.class == class);
            if alive().next().is_none() {
                return Some(Text::note(
                    Text::new().then("class ").name(class).then(" has no live worker"),
                ));
            }
            alive().all(|one| one.format < format).then(|| {
                let text = Text::new().then("the workers of class ").name(class);
                Text::warning(text.then(" are too old for some jobs: install a newer rbench there"))
            })
        };
        waiting.into_iter().filter_map(note).collect()
    }
}

/// An age in the largest unit of which there are two.
fn age(seconds: f64) -> String {
    let units = [(86_400., "d"), (3_600., "h"), (60., "min")];
    let large = units.into_iter().find(|(size, _)| seconds >= 2. * size);
    let (size, unit) = large.unwrap_or((1., "s"));
    format!("{:.0} {unit}", (seconds / size).floor().max(0.))
}

fn state(job: &Job) -> Cell {
    let role = match job.state {
        JobState::Queued | JobState::Cancelled => Role::Quiet,
        JobState::Running => Role::Plain,
        JobState::Done if job.exit == Some(0) => Role::Good,
        JobState::Done => Role::Doubtful,
        JobState::Failed => Role::Bad,
    };
    Cell::styled(role, job.state.to_string())
}

/// What there is to say about a job in a few words.
fn remark(job: &Job) -> String {
    let failure = job.failure.as_deref().and_then(|failure| failure.lines().next());
    match (job.state, failure) {
        (JobState::Running, _) => job.progress.clone().unwrap_or_default(),
        (JobState::Done, _) => match job.exit {
            Some(0) => String::new(),
            Some(1) => "regressed".to_owned(),
            exit => format!("exit code {}", exit.unwrap_or_default()),
        },
        (_, failure) => failure.unwrap_or_default().to_owned(),
    }
}

impl Report for QueueReport {
    fn document(&self, _medium: Medium) -> Document {
        let mut document = Document::new("queue");
        let mut workers = Table::new([
            Column::left("worker").names(),
            Column::left("class").shortened(),
            Column::left("job"),
            Column::right("seen"),
            Column::left("machine").shortened().optional(1),
            Column::left("rbench").optional(0),
        ]);
        for one in &self.workers {
            let job = one.job.map_or_else(|| "idle".to_owned(), |job| job.to_string());
            workers.row([
                Cell::name(&one.name),
                Cell::name(&one.class),
                if one.is_alive { job.into() } else { Cell::styled(Role::Doubtful, "lost") },
                format!("{} ago", age(one.seen_s)).into(),
                Cell::from(&one.machine),
                Cell::from(&one.rbench),
            ]);
        }
        let mut jobs = Table::new([
            Column::right("job"),
            Column::left("state"),
            Column::left("versions"),
            Column::left("class").shortened(),
            Column::left("priority"),
            Column::left("worker").names().optional(2),
            Column::right("waits").optional(1),
            Column::right("took").optional(1),
            Column::left("").shortened(),
        ]);
        for job in &self.jobs {
            let waits = (job.state == JobState::Queued).then(|| age(job.queued_s));
            jobs.row([
                Cell::from(job.id.to_string()),
                state(job),
                Cell::name(job.versions()),
                Cell::name(&job.class),
                job.priority.to_string().into(),
                Cell::name(job.worker.clone().unwrap_or_default()),
                waits.unwrap_or_default().into(),
                job.run_s.map(age).unwrap_or_default().into(),
                Cell::from(remark(job)),
            ]);
        }
        let running = self.jobs.iter().filter(|job| job.state == JobState::Running).count();
        let alive = self.workers.iter().filter(|one| one.is_alive).count();
        let lives = if alive == 1 { "lives" } else { "live" };
        let summary = format!(
            "{} {lives}, {running} running, {} waiting",
            count(alive, "worker"),
            self.waiting
        );
        document.add(Block::paragraph([summary]));
        document.add(Block::table(workers));
        document.add(Block::table(jobs));
        document.add(Block::paragraph(self.notes()));
        document
    }

    fn json(&self) -> Result<String> {
        json::document(self)
    }
}

impl Report for JobReport {
    fn document(&self, _medium: Medium) -> Document {
        let job = &self.job;
        let mut document = Document::new("queue show").titled(format!("job {}", job.id));
        let words = ["compare", &job.base, &job.head].into_iter();
        let words = words.chain(job.options.iter().map(String::as_str)).map(shell::quoted);
        let words: Vec<String> = words.collect();
        let mut texts = vec![
            Text::new().command(words.join(" ")),
            Text::from(format!(
                "{}, {}, queued {} ago by ",
                job.state,
                job.priority,
                age(job.queued_s)
            ))
            .name(&job.queued_by)
            .then(" for class ")
            .name(&job.class),
        ];
        if !job.request.is_empty() {
            texts.push(Text::from("for ").name(&job.request));
        }
        if let Some(worker) = &job.worker {
            let took = job.run_s.map(|time| format!(", {} since its first start", age(time)));
            let attempt = format!("attempt {}", job.attempt);
            texts
                .push(Text::from(attempt).then(" on ").name(worker).then(took.unwrap_or_default()));
        }
        texts.extend(
            job.progress.as_ref().map(|progress| Text::from(format!("progress: {progress}"))),
        );
        document.add(Block::paragraph(texts));
        document.add(
            job.failure.as_ref().map(|failure| {
                Block::Verbatim(Verbatim { language: "text", text: failure.clone() })
            }),
        );
        document
    }

    fn json(&self) -> Result<String> {
        json::document(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        model::Priority,
        report::{
            PLAIN_COLUMNS, style,
            testing::{HOSTILE, assert_harmless, assert_keeps},
        },
    };

    fn job(id: i64, state: JobState) -> Job {
        Job {
            id,
            class: "ax42".to_owned(),
            priority: Priority::BackFill,
            state,
            base: "a".repeat(40),
            head: "b".repeat(40),
            options: vec!["--quick".to_owned()],
            request: String::new(),
            format: 1,
            worker: None,
            attempt: 0,
            progress: None,
            queued_s: 61.,
            queued_by: "ci".to_owned(),
            run_s: None,
            failure: None,
            exit: None,
        }
    }

    fn worker(name: &str, is_alive: bool) -> Worker {
        Worker {
            name: name.to_owned(),
            class: "ax42".to_owned(),
            machine: "CPU".to_owned(),
            rbench: "0.1.0".to_owned(),
            format: 1,
            job: is_alive.then_some(2),
            seen_s: 3.,
            is_alive,
        }
    }

    fn report(text: &str) -> QueueReport {
        let running = Job {
            worker: Some("host-1".to_owned()),
            progress: Some(text.to_owned()),
            run_s: Some(12.),
            attempt: 1,
            ..job(2, JobState::Running)
        };
        let done = Job { exit: Some(1), run_s: Some(60.), ..job(1, JobState::Done) };
        let failed = Job { failure: Some(format!("{text}\nmore")), ..job(4, JobState::Failed) };
        QueueReport {
            workers: vec![worker("host-1", true), worker("host-2", false)],
            jobs: vec![running, job(3, JobState::Queued), done, failed],
            waiting: 1,
            format: 1,
        }
    }

    #[test]
    fn list_tells_who_lives_what_runs_and_what_waits() {
        insta::assert_snapshot!(style::plain(&report("3 of 10 builds").text(PLAIN_COLUMNS)));
    }

    #[test]
    fn job_without_a_worker_is_explained() {
        let mut report = report("");
        report.workers[0].format = 0;
        assert!(report.text(100).contains("are too old for some jobs"));
        report.workers.remove(0);
        assert!(report.text(100).contains("class ax42 has no live worker"));
        report.jobs.retain(|job| job.state != JobState::Queued);
        assert!(!report.text(100).contains("class ax42"));
    }

    #[test]
    fn one_job_is_shown_with_its_failure() {
        let [.., failed] = &report("it does not compile").jobs[..] else { panic!("no job") };
        let report = JobReport { job: failed.clone(), comparison: None };
        insta::assert_snapshot!(style::plain(&report.text(PLAIN_COLUMNS)));
        assert_keeps("queue-show", &report);
    }

    #[test]
    fn texts_of_workers_and_commits_are_harmless() {
        assert_keeps("queue", &report(HOSTILE));
        assert_harmless(&report(HOSTILE));
        let [running, .., failed] = &report(HOSTILE).jobs[..] else { panic!("no jobs") };
        for job in [running, failed] {
            assert_harmless(&JobReport { job: job.clone(), comparison: None });
        }
    }
}
