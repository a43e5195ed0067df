//! The queue in PostgreSQL: each question is one function of queue.sql.

use std::io::{Read, Write};

use ::postgres::types::{ToSql, Type};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::postgres::Database;
use crate::{
    error::{Context as _, Error, Exit, Result},
    model::{Job, Priority, Worker},
};

/// The format of jobs; raised with every change that an older worker would not understand.
pub const JOB_FORMAT: i32 = 1;

/// The largest piece of a pack in bytes.
const PIECE: u64 = 4 << 20;

/// A comparison to be queued.
#[derive(Clone, Debug, Serialize)]
pub struct NewJob {
    /// The class of machines that may make it.
    pub class: String,
    /// The pull request that it is for; empty if there is none. Jobs for older commits of it are cancelled.
    pub request: String,
    /// When it is taken.
    pub priority: Priority,
    /// The commit to compare with.
    pub base: String,
    /// The new commit.
    pub head: String,
    /// Options of `compare`.
    pub options: Vec<String>,
    /// The digest of the pack that the worker measures, whose pieces were added before.
    pub pack: Option<String>,
}

/// What a worker says about itself with each claim.
#[derive(Clone, Debug, Serialize)]
pub struct WorkerDescription {
    /// A name that no other worker has.
    pub name: String,
    /// The identity of the kernel since it was booted: a host has one worker.
    pub boot: String,
    /// The class of its machine.
    pub class: String,
    /// The hardware.
    pub machine: String,
    /// The version of rbench.
    pub rbench: String,
    /// Commits that were compiled here lately.
    pub cached: Vec<String>,
    /// True if nothing can be compiled here.
    pub only_packs: bool,
}

/// A job that a worker took.
#[derive(Clone, Debug, Deserialize)]
pub struct Claim {
    /// Its number.
    pub id: i64,
    /// The number of the attempt, which every answer names.
    pub attempt: i32,
    /// The commit to compare with.
    pub base: String,
    /// The new commit.
    pub head: String,
    /// Options of `compare`.
    pub options: Vec<String>,
    /// The digest of the pack to measure: both versions, compiled elsewhere.
    pub pack: Option<String>,
}

/// The answer to a worker that reports that it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Go on.
    Continue,
    /// Stop and give the job back: a gate waits for a machine.
    Release,
    /// Stop: nobody needs the result.
    Cancelled,
    /// Stop: another attempt has the job.
    Lost,
}

/// Adds fields to an object.
#[derive(Serialize)]
struct Of<'a, T> {
    project: &'a str,
    format: i32,
    #[serde(flatten)]
    rest: &'a T,
}

impl Database<'_> {
    /// Queues a comparison and returns the number of its job; the same one is queued once.
    pub fn add_job(&mut self, job: &NewJob) -> Result<i64> {
        let about = self.of_project(job)?;
        self.answer("queue in", "SELECT rbench.add($1::jsonb)", &[(&about, Type::TEXT)])
    }

    /// Adds a pack for jobs: a file of any size.
    pub fn add_pack(&mut self, digest: &str, pack: &mut impl Read) -> Result<()> {
        for number in 0i32.. {
            let mut piece = Vec::new();
            pack.by_ref()
                .take(PIECE)
                .read_to_end(&mut piece)
                .context(Exit::Usage, || "cannot read the pack")?;
            if piece.is_empty() {
                break;
            }
            self.query(
                "send a pack to",
                "SELECT rbench.add_piece($1, $2, $3)",
                &[(&digest, Type::TEXT), (&number, Type::INT4), (&piece, Type::BYTEA)],
            )?;
        }
        Ok(())
    }

    /// Writes the pack of a job, as somebody else added it.
    pub fn pack(&mut self, job: &Claim, to: &mut impl Write) -> Result<()> {
        for number in 0i32.. {
            let rows = self.query(
                "read a pack of",
                "SELECT rbench.piece($1, $2, $3)",
                &[(&job.id, Type::INT8), (&job.attempt, Type::INT4), (&number, Type::INT4)],
            )?;
            let piece: Option<&[u8]> = rows.first().and_then(|row| row.try_get(0).ok()).flatten();
            let Some(piece) = piece else { break };
            to.write_all(piece).context(Exit::Usage, || "cannot write the pack of a job")?;
        }
        Ok(())
    }

    /// Takes a job, if there is one for this worker.
    pub fn claim(&mut self, worker: &WorkerDescription) -> Result<Option<Claim>> {
        let about = self.of_project(worker)?;
        let query = "SELECT to_jsonb(claimed)::text FROM rbench.claim($1::jsonb) AS claimed";
        Ok(self.values("take a job of", query, &[(&about, Type::TEXT)])?.pop())
    }

    /// Reports that a job goes on. `progress` is a line about how far it is.
    pub fn beat(&mut self, job: &Claim, progress: &str) -> Result<Order> {
        let query = "SELECT rbench.beat($1, $2, $3)";
        let order: String = self.answer_on(job, query, &[(&progress, Type::TEXT)])?;
        Ok(match order.as_str() {
            "continue" => Order::Continue,
            "release" => Order::Release,
            "cancelled" => Order::Cancelled,
            _ => Order::Lost,
        })
    }

    /// Ends a job with the comparison as JSON. False if another attempt has the job.
    pub fn finish(&mut self, job: &Claim, exit: u8, report: &str) -> Result<bool> {
        let query = "SELECT rbench.finish($1, $2, $3, $4)";
        self.answer_on(job, query, &[(&i32::from(exit), Type::INT4), (&report, Type::TEXT)])
    }

    /// Ends an attempt without a result; `permanent` if every machine would fail. False if another attempt has the job.
    pub fn fail(&mut self, job: &Claim, exit: u8, failure: &str, permanent: bool) -> Result<bool> {
        let (exit, failure) = (i32::from(exit), failure.replace('\0', "\u{fffd}"));
        self.answer_on(
            job,
            "SELECT rbench.fail($1, $2, $3, $4, $5)",
            &[(&exit, Type::INT4), (&failure, Type::TEXT), (&permanent, Type::BOOL)],
        )
    }

    /// Gives a job back, to be continued later. False if another attempt has the job.
    pub fn release(&mut self, job: &Claim) -> Result<bool> {
        self.answer_on(job, "SELECT rbench.release($1, $2)", &[])
    }

    /// Removes a worker that ends.
    pub fn leave(&mut self, worker: &WorkerDescription) -> Result<()> {
        let query = "SELECT rbench.leave($1, $2)";
        self.query("report to", query, &[(&worker.name, Type::TEXT), (&worker.boot, Type::TEXT)])
            .map(drop)
    }

    /// Cancels a job. False if there is none with this number, or if it has ended.
    pub fn cancel(&mut self, job: i64) -> Result<bool> {
        let rows = self.query("queue in", "SELECT rbench.cancel($1)", &[(&job, Type::INT8)])?;
        let before: Option<String> = rows.first().and_then(|row| row.try_get(0).ok());
        Ok(before.is_some_and(|before| before == "queued" || before == "running"))
    }

    /// Waits for a job no longer, which cancels it if nobody else does.
    pub fn withdraw(&mut self, job: i64) -> Result<()> {
        self.query("queue in", "SELECT rbench.withdraw($1)", &[(&job, Type::INT8)]).map(drop)
    }

    /// The number of jobs of the project that wait: all, or those of a class.
    pub fn waiting(&mut self, class: Option<&str>) -> Result<i64> {
        let project = self.project().to_owned();
        let query = "SELECT count(*) FROM rbench.queue
            WHERE project = $1 AND state = 'queued' AND class = coalesce($2, class)";
        self.answer("read", query, &[(&project, Type::TEXT), (&class, Type::TEXT)])
    }

    /// The jobs of the project that run, those that are taken next, up to 1,000, and then as many ended ones, the newest
    /// first.
    pub fn jobs(&mut self, ended: u32) -> Result<Vec<Job>> {
        let (project, ended) = (self.project().to_owned(), i64::from(ended));
        let query = format!(
            "SELECT to_jsonb(one)::text FROM (({JOB} AND state = 'running' ORDER BY priority, id)
                UNION ALL ({JOB} AND state = 'queued'
                    ORDER BY array_position(ARRAY['gate', 'normal', 'back-fill'], priority), id LIMIT 1000)
                UNION ALL ({JOB} AND state IN ('done', 'failed', 'cancelled') ORDER BY ended DESC LIMIT $2)) AS one"
        );
        self.values("read", &query, &[(&project, Type::TEXT), (&ended, Type::INT8)])
    }

    /// The jobs with these numbers, in their order.
    pub fn jobs_of(&mut self, ids: &[i64]) -> Result<Vec<Job>> {
        let (project, ids) = (self.project().to_owned(), ids.to_vec());
        let query =
            format!("SELECT to_jsonb(one)::text FROM ({JOB} AND id = ANY ($2) ORDER BY id) AS one");
        self.values("read", &query, &[(&project, Type::TEXT), (&ids, Type::INT8_ARRAY)])
    }

    /// The comparison of a job that is done, as JSON that somebody else wrote.
    pub fn report(&mut self, job: i64) -> Result<Option<String>> {
        let rows = self.query("read", "SELECT rbench.report($1)", &[(&job, Type::INT8)])?;
        Ok(rows.first().and_then(|row| row.try_get(0).ok()))
    }

    /// The workers of the project.
    pub fn workers(&mut self) -> Result<Vec<Worker>> {
        let project = self.project().to_owned();
        let query = "SELECT to_jsonb(one)::text FROM (
            SELECT *, extract(epoch FROM now() - seen)::float8 AS seen_s FROM rbench.workers
            WHERE project = $1 ORDER BY class, name) AS one";
        self.values("read", query, &[(&project, Type::TEXT)])
    }

    fn of_project(&self, rest: &impl Serialize) -> Result<String> {
        let about = Of { project: self.project(), format: JOB_FORMAT, rest };
        serde_json::to_string(&about).context(Exit::Internal, || "cannot write a job")
    }

    /// Reports on an attempt of a job, which the first two parameters name.
    fn answer_on<T: for<'r> ::postgres::types::FromSql<'r>>(
        &mut self,
        job: &Claim,
        query: &str,
        more: &[(&(dyn ToSql + Sync), Type)],
    ) -> Result<T> {
        let attempt: [(&(dyn ToSql + Sync), Type); 2] =
            [(&job.id, Type::INT8), (&job.attempt, Type::INT4)];
        self.answer("report to", query, &[&attempt[..], more].concat())
    }

    /// The value of the only row.
    fn answer<T: for<'r> ::postgres::types::FromSql<'r>>(
        &mut self,
        what: &str,
        query: &str,
        parameters: &[(&(dyn ToSql + Sync), Type)],
    ) -> Result<T> {
        let rows = self.query(what, query, parameters)?;
        let answer = rows.first().and_then(|row| row.try_get(0).ok());
        answer.ok_or_else(|| {
            Error::new(Exit::Usage, "the database gave an unknown answer").cause(query)
        })
    }

    /// The values of all rows, which are JSON.
    fn values<T: DeserializeOwned>(
        &mut self,
        what: &str,
        query: &str,
        parameters: &[(&(dyn ToSql + Sync), Type)],
    ) -> Result<Vec<T>> {
        let rows = self.query(what, query, parameters)?;
        let value = |row: &::postgres::Row| {
            let text: &str = row.try_get(0).unwrap_or_default();
            serde_json::from_str(text)
                .context(Exit::Usage, || "the database gave an unknown answer".to_owned())
        };
        rows.iter().map(value).collect()
    }
}

/// The jobs of the project `$1`, with ages instead of times.
const JOB: &str = "SELECT id, class, priority, state, base, head, options, request, format, worker, attempt, progress,
    extract(epoch FROM now() - queued)::float8 AS queued_s, queued_by,
    extract(epoch FROM coalesce(ended, now()) - started)::float8 AS run_s, failure, exit
    FROM rbench.queue WHERE project = $1";
