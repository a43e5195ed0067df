//! How fast a database takes results and answers questions. It prints figures and asserts none.

use std::{cell::RefCell, sync::Barrier, thread, time::Instant};

use cargo_rbench::{
    shared::{About, Address, Database, Documents as _, Summary},
    store::{Selection, Store},
};
use serde_json::{Value, json};

use super::{database::make, fill};
use crate::{history, support::postgres::Server};

const WRITERS: usize = 4;

/// The documents of each writer.
const DOCUMENTS: usize = 400;

/// The results of a document, and its size in bytes.
const RESULTS: usize = 30;
const BYTES: usize = 90_000;

#[test]
#[ignore = "needs PostgreSQL and some minutes"]
fn figures_of_a_database() {
    // With the durability that servers have by default.
    let mut server = Server::with(&["listen_addresses=", "fsync=on"]);
    make(&server, "shared");
    let (project, commits) = history::project(2);
    fill(&project, &commits, &["a"]);
    let lines = project.rbench(&["push", "-"]).ok().stdout();
    let store = Store::in_memory().unwrap();
    store.import(&mut lines.as_bytes(), "lines", Selection::default()).unwrap();
    let experiment = store.experiments().unwrap().remove(0);
    let stored = ["compare", "--stored", "HEAD~1", "HEAD", "--format", "json"];
    let report = project.rbench(&stored).run().json("compare");
    let rows = (0..RESULTS).map(|number| {
        let mut row = report["benchmarks"][0].clone();
        row["id"] = json!(format!("parse/{number}"));
        row
    });
    let report = json!({"benchmarks": rows.collect::<Vec<Value>>()});
    println!("a document has {BYTES} bytes, and a report {}", report.to_string().len());
    let (address, document) = (server.url("owner", "shared"), vec![7; BYTES]);
    let barrier = Barrier::new(WRITERS + 1);
    let took = thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (experiment, report, document) = (&experiment, &report, &document);
                let (address, barrier) = (&address, &barrier);
                scope.spawn(move || {
                    let address = Address::parse(address).unwrap();
                    let mut database = Database::open(&address, "p".into(), |_| {}).unwrap();
                    // Made before: what makes them is compiled without optimizations.
                    let summaries = (0..DOCUMENTS).map(|number| {
                        let mut experiment = experiment.clone();
                        experiment.identity = format!("{writer:016x}{number:016x}");
                        let about = About::new(&experiment, "p", &[]);
                        RefCell::new(Summary::new(&about, Some(report)).ok())
                    });
                    let summaries: Vec<_> = summaries.collect();
                    barrier.wait();
                    for summary in &summaries {
                        let summary = |_: &str| Ok(summary.take().unwrap());
                        assert!(database.add("", document, &summary).unwrap());
                    }
                })
            })
            .collect();
        barrier.wait();
        let start = Instant::now();
        for writer in writers {
            writer.join().unwrap();
        }
        start.elapsed().as_secs_f64()
    });
    let documents = (WRITERS * DOCUMENTS) as f64 / took;
    let results = documents * RESULTS as f64;
    println!("{WRITERS} writers: {documents:.0} documents/s, {results:.0} results/s");

    server.sql("shared", "TRUNCATE rbench.experiment, rbench.benchmark, rbench.class CASCADE");
    server.sql("shared", FIVE_MILLION);
    let size = "SELECT pg_total_relation_size('rbench.result')";
    let size: i64 = server.client("owner", "shared").query_one(size, &[]).unwrap().get(0);
    println!("5 million rows: {} MB", size / 1_000_000);
    server.crash();
    server.go();
    for (name, query) in [
        ("one benchmark, 10,000 commits", ONE),
        ("newest verdicts of 100 benchmarks", LATEST),
        ("newest 50 changes", CHANGES),
    ] {
        let mut client = server.client("owner", "shared");
        let mut ask = || {
            let start = Instant::now();
            let rows = client.query(query, &[]).unwrap().len();
            (rows, start.elapsed().as_millis())
        };
        let (rows, first) = ask();
        let others = [ask().1, ask().1, ask().1];
        println!("{name}: {rows} rows in {first} ms, then {others:?} ms");
    }
}

const FIVE_MILLION: &str = "
    SET session_replication_role = replica;
    INSERT INTO rbench.project (root) VALUES ('q') ON CONFLICT DO NOTHING;
    INSERT INTO rbench.class (name) SELECT 'c' || c FROM generate_series(1, 5) c;
    INSERT INTO rbench.benchmark (project, package, target, name, metric, unit)
        SELECT max(id), 'p', 't', 'b' || b, 'wall', 'ns' FROM rbench.project, generate_series(1, 100) b GROUP BY b;
    INSERT INTO rbench.experiment
        SELECT decode(md5(class.id || ' ' || n), 'hex'), (SELECT max(id) FROM rbench.project), class.id, 'm',
            'comparison', 'k', '1', md5((n - 1)::text), md5(n::text), '2020-01-01'::timestamptz + n * interval '1 hour', 'A commit',
            now(), now(), 70, 0
        FROM rbench.class, generate_series(1, 10000) n;
    INSERT INTO rbench.result
        SELECT benchmark.id, experiment.class, head_time, identity,
            (ARRAY['regressed', 'improved', 'unchanged', 'inconclusive'])[1 + least(3, floor(random() * 1000))::int],
            100, 101, 1, 1, 0.01, 0.005, 0.015, 0.5, 10
        FROM rbench.experiment, rbench.benchmark ORDER BY head_time;
    ANALYZE;";

const ONE: &str = "SELECT head_time, head, low, high, verdict FROM rbench.course
    WHERE name = 'b7' AND metric = 'wall' AND class = 'c3' ORDER BY head_time";

const LATEST: &str = "SELECT * FROM rbench.latest WHERE class = 'c3'";

const CHANGES: &str = "SELECT * FROM rbench.changes LIMIT 50";
