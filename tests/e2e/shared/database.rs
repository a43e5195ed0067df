//! Results that several machines share in a PostgreSQL database.

use super::{fill, sorted};
use crate::{
    history,
    support::{TestProject, postgres::Server},
};

/// A server with a database of this name that has the tables, and users for each role.
fn server(database: &str) -> Server {
    let server = Server::start();
    make(&server, database);
    server.sql(
        "postgres",
        "CREATE USER reader IN ROLE rbench_read; CREATE USER pusher IN ROLE rbench_push;
         CREATE USER worker IN ROLE rbench_read, rbench_push; CREATE USER nobody",
    );
    server
}

fn make(server: &Server, database: &str) {
    server.sql("postgres", &format!("CREATE DATABASE {database}"));
    let project = TestProject::bare("no project");
    let url = server.url("owner", database);
    let made = project.rbench(&["init", "--shared", &url]).ok();
    made.assert_stdout_has(&["has the tables of rbench", "GRANT rbench_push TO"]);
    // Again, and by the variable.
    project.rbench(&["init", "--shared"]).env("RBENCH_SHARED", url).ok();
}

#[test]
#[ignore = "needs PostgreSQL"]
fn database_makes_one_history_of_two_machines() {
    let server = server("shared");
    let (project, commits) = history::project(2);
    let elsewhere = project.clone_elsewhere();
    fill(&project, &commits, &["a", "b"]);
    fill(&elsewhere, &commits, &["b", "c"]);
    let place = server.url("worker", "shared");
    let push = |project: &TestProject| project.rbench(&["push", &place]).ok();
    push(&project).assert_stderr_has(&["sent 2 experiments to database `shared` of "]);
    push(&project).assert_stderr_has(&["sent 0 experiments to", ", which had 2"]);
    push(&elsewhere).assert_stderr_has(&["sent 1 experiment to", ", which had 1"]);
    let pull = |project: &TestProject| project.rbench(&["pull", &place]).ok();
    pull(&project).assert_stdout_has(&["imported 1 new experiment with 6 executions"]);
    pull(&elsewhere).assert_stdout_has(&["2 experiments were already stored"]);
    let all = |project: &TestProject| project.rbench(&["push", "-"]).ok().stdout();
    assert!(sorted(&all(&project)) == sorted(&all(&elsewhere)));
    let third = project.clone_elsewhere();
    let since = ["pull", &place, "--since", "1d"];
    third.rbench(&since).ok().assert_stdout_has(&["imported 0 new experiments"]);

    // What SQL knows is what `compare --stored` shows.
    let stored = ["compare", "--stored", "HEAD~1", "HEAD", "--no-confirm", "--format", "json"];
    let report = project.rbench(&stored).run().json("compare");
    let shown = &report["benchmarks"][0];
    let mut reader = server.client("reader", "shared");
    let rows = reader.query("SELECT name, metric, unit, verdict, base, head, change, low, high, p, builds, head_commit
        FROM rbench.course ORDER BY experiment DESC", &[]).unwrap();
    assert_eq!(rows.len(), 3);
    let text = |column: usize| rows[0].get::<_, String>(column);
    assert_eq!([text(0), text(1), text(2)], ["parse/1", "wall", "ns"]);
    assert_eq!(text(11), commits[1].0);
    let number = |column: usize| rows[0].get::<_, f64>(column);
    for (column, pointer) in [
        (4, "/base/value"),
        (5, "/head/value"),
        (6, "/change/estimate"),
        (7, "/change/low"),
        (8, "/change/high"),
        (9, "/change/p"),
    ] {
        let expected = shown.pointer(pointer).unwrap().as_f64().unwrap();
        assert!((number(column) - expected).abs() <= 1e-9 * expected.abs(), "{pointer}");
    }
    let verdict = reader.query_one("SELECT verdict FROM rbench.latest", &[]).unwrap();
    assert_eq!(verdict.get::<_, String>(0), text(3));
    let machines = reader.query_one("SELECT experiments FROM rbench.machines", &[]).unwrap();
    assert_eq!(machines.get::<_, i64>(0), 3);
}
