//! Results that several machines share in a PostgreSQL database.

use std::{
    collections::BTreeSet,
    fs::{self, Permissions},
    io::{self, Read as _},
    os::unix::fs::PermissionsExt as _,
    process::{Child, Command},
    thread,
    time::Duration,
};

use flate2::{Compression, read::ZlibEncoder};
use serde_json::{Value, json};

use super::{fill, sorted};
use crate::{
    history,
    support::{TestProject, postgres::Server, sources},
};
use rbench_stats::Random;

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

pub fn make(server: &Server, database: &str) {
    server.sql("postgres", &format!("CREATE DATABASE {database}"));
    let project = TestProject::bare("no project");
    let url = server.url("owner", database);
    let made = project.rbench(&["init", "--shared", &url]).ok();
    made.assert_stdout_has(&["has the tables of rbench", "GRANT rbench_push TO"]);
    // Again, and by the variable.
    project.rbench(&["init", "--shared"]).env("RBENCH_SHARED", url).ok();
    server.sql(
        database,
        "INSERT INTO rbench.allowed VALUES ('pusher'), ('worker'), ('nobody'), ('reader')",
    );
}

#[test]
#[ignore = "needs PostgreSQL"]
fn database_in_another_encoding_is_refused() {
    let server = Server::start();
    for encoding in ["LATIN1", "SQL_ASCII"] {
        let name = encoding.to_lowercase();
        let options = format!("ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0");
        server.sql("postgres", &format!("CREATE DATABASE {name} {options}"));
        let url = server.url("owner", &name);
        let outcome =
            TestProject::bare("no project").rbench(&["init", "--shared", &url]).fails_with(2);
        outcome.assert_stderr_has(&[
            &format!("it is encoded as {encoding}"),
            "createdb --encoding=UTF8 --template=template0 NAME",
        ]);
    }
}

#[test]
#[ignore = "needs PostgreSQL"]
fn long_ids_are_pushed() {
    let server = server("long");
    let project = TestProject::of("counted");
    // Not much shorter when it is compressed.
    let parts = (1..2_500).map(|part: u64| (part * 7_919 % 10_007).to_string());
    let id = format!("größe/{}", parts.collect::<Vec<_>>().join("/"));
    project.replace("benches/work.rs", "\"changing\"", &format!("\"{id}\""));
    project.replace("src/lib.rs", "= 1_000", "= 1_001");
    project.commit("Give it a long name");
    project.replace("src/lib.rs", "= 1_001", "= 30_000");
    project.commit("Work more");
    let short = ["--config", "build.strategy=relink", "-l", "4", "-m", "1", "-n", "5"];
    project.rbench(&[&["compare", "HEAD~1", "HEAD"], &short[..]].concat()).run().assert_exit(1);
    project.rbench(&["push", &server.url("worker", "long")]).ok();
    let query = "SELECT name FROM rbench.benchmark WHERE name = $1";
    let found = server.client("owner", "long").query(query, &[&id]).unwrap();
    assert_eq!(found.len(), 1);
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
    push(&project)
        .assert_stderr_has(&["sent 2 of 2 finished experiments to database `shared` of "]);
    push(&project).assert_stderr_has(&["sent 0 of 2 finished experiments to", "; 2 were there"]);
    push(&elsewhere).assert_stderr_has(&["sent 1 of 2 finished experiments to", "; 1 were there"]);
    let pull = |project: &TestProject| project.rbench(&["pull", &place]).ok();
    pull(&project).assert_stdout_has(&["imported 1 new experiment with 6 executions"]);
    pull(&elsewhere).assert_stdout_has(&["2 experiments were already stored"]);
    let all = |project: &TestProject| project.rbench(&["push", "-"]).ok().stdout();
    assert!(sorted(&all(&project)) == sorted(&all(&elsewhere)));
    let third = project.clone_elsewhere();
    let since = ["pull", &place, "--since", "1d"];
    third.rbench(&since).ok().assert_stdout_has(&["imported 0 new experiments"]);

    // What SQL knows is what `compare --stored` shows.
    let stored = ["compare", "--stored", "HEAD~1", "HEAD", "--format", "json"];
    let report = project.rbench(&stored).run().json("compare");
    let shown = &report["benchmarks"][0];
    let mut reader = server.client("reader", "shared");
    let rows = reader.query("SELECT name, metric, unit, verdict, base, head, change, low, high, p, builds, head_commit
        FROM rbench.course ORDER BY experiment DESC", &[]).unwrap();
    assert_eq!(rows.len(), 3);
    let text = |column: usize| rows[0].get::<_, String>(column);
    assert_eq!([text(0), text(1), text(2)], ["parse/1", "wall", "ns"]);
    assert_eq!(text(3), shown["verdict"].as_str().unwrap());
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
    let machines = "SELECT experiments, class FROM rbench.machines";
    let machines = reader.query_one(machines, &[]).unwrap();
    assert_eq!((machines.get::<_, i64>(0), machines.get(1)), (3, "ax42"));
}

/// The identities of experiments in a database.
fn there(server: &Server, database: &str) -> BTreeSet<Vec<u8>> {
    let query = "SELECT identity FROM rbench.document JOIN rbench.experiment USING (identity)";
    let rows = server.client("owner", database).query(query, &[]).unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

#[test]
#[ignore = "needs PostgreSQL"]
fn roles_permit_only_what_they_need() {
    let server = server("shared");
    let (project, commits) = history::project(2);
    fill(&project, &commits, &["a"]);
    project.rbench(&["push", &server.url("pusher", "shared")]).ok();
    let about = r#"{"identity": "000000000000000000000000000000ff", "project": "p", "class": "",
        "machine": "m", "kind": "comparison", "settings_key": "k", "rbench": "1", "head": "h",
        "summary": "", "begun_ns": 1, "finished_ns": 1, "unaffected": 0, "identical": 0}"#;
    let push = format!("SELECT rbench.push('{about}', '\\x00', NULL)");
    let (none, read, write) = (&[][..], &["reader", "worker"][..], &["pusher", "worker"][..]);
    let mut statements: Vec<(String, &[&str])> = vec![
        (push, write),
        ("SELECT rbench.missing('{}')".into(), write),
        ("SELECT rbench.documents('', 0, NULL)".into(), read),
        ("SELECT rbench.document('\\x00')".into(), read),
        ("SELECT * FROM rbench.meta".into(), &["reader", "pusher", "worker"]),
        ("SELECT rbench.project_of('')".into(), none),
        ("SELECT rbench.class_of('')".into(), none),
        ("UPDATE rbench.meta SET version = 2".into(), none),
        ("CREATE TABLE rbench.mine ()".into(), none),
        ("CREATE FUNCTION rbench.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'".into(), none),
        ("DROP SCHEMA rbench CASCADE".into(), none),
        ("ALTER FUNCTION rbench.push RESET ALL".into(), none),
        ("GRANT rbench_read TO nobody".into(), none),
        ("SELECT nextval('rbench.benchmark_id_seq')".into(), none),
    ];
    for view in ["course", "changes", "latest", "machines"] {
        statements.push((format!("SELECT * FROM rbench.{view}"), read));
    }
    for table in
        ["project", "class", "allowed", "experiment", "document", "benchmark", "result", "meta"]
    {
        let change = "INSERT INTO rbench.{} DEFAULT VALUES;DELETE FROM rbench.{};
            TRUNCATE rbench.{} CASCADE;DROP TABLE rbench.{} CASCADE;ALTER TABLE rbench.{} ADD x int;
            LOCK TABLE rbench.{} IN ACCESS EXCLUSIVE MODE";
        let change = change.replace("{}", table);
        statements.extend(change.split(';').map(|one| (one.trim().to_owned(), none)));
        if table != "meta" {
            statements.push((format!("SELECT * FROM rbench.{table}"), none));
        }
    }
    for user in ["reader", "pusher", "worker", "nobody"] {
        let mut client = server.client(user, "shared");
        for (statement, allowed) in &statements {
            let result = client.batch_execute(&format!("BEGIN; {statement}; ROLLBACK"));
            client.batch_execute("ROLLBACK").unwrap();
            let error = result.as_ref().err().and_then(|error| error.as_db_error());
            let denied = error.map(|error| error.code().code().to_owned());
            let expected = (!allowed.contains(&user)).then(|| "42501".to_owned());
            assert_eq!(denied, expected, "{user}: {statement}: {result:?}");
        }
    }
    // What the client says.
    let push = |user| project.rbench(&["push", &server.url(user, "shared")]).fails_with(2);
    push("nobody").assert_stderr_has(&["permission denied", "rbench_push to send results"]);
    push("reader").assert_stderr_has(&["permission denied for function missing"]);
    let pull = project.rbench(&["pull", &server.url("pusher", "shared")]).fails_with(2);
    pull.assert_stderr_has(&["permission denied for function documents"]);
    server.sql("postgres", "CREATE DATABASE empty");
    let push = project.rbench(&["push", &server.url("owner", "empty")]).fails_with(2);
    push.assert_stderr_has(&["cargo rbench init --shared"]);
    server.sql("shared", "UPDATE rbench.meta SET version = 99");
    let push = project.rbench(&["push", &server.url("owner", "shared")]).fails_with(2);
    push.assert_stderr_has(&["its tables have schema 99, and this rbench uses schema 1"]);
    let init = project.rbench(&["init", "--shared", &server.url("owner", "shared")]).fails_with(2);
    init.assert_stderr_has(&["those of another version of rbench: schema 99"]);
    server.sql("empty", "CREATE SCHEMA rbench AUTHORIZATION nobody");
    let init = project.rbench(&["init", "--shared", &server.url("owner", "empty")]).fails_with(2);
    init.assert_stderr_has(&["the schema `rbench` belongs to somebody else"]);
}

/// What one experiment of `identity` and its comparison are to `push`.
fn pushed(identity: u8, about: &Value, rows: &Value) -> String {
    let mut all = json!({"identity": format!("{identity:032x}"), "project": "p", "class": "ax42",
        "machine": "m", "kind": "comparison", "settings_key": "k", "rbench": "1", "head": "h",
        "summary": "", "begun_ns": 1, "finished_ns": 2, "unaffected": 0, "identical": 0});
    all.as_object_mut().unwrap().extend(about.as_object().unwrap().clone());
    let report = json!({"benchmarks": rows});
    format!("SELECT rbench.push('{all}', '\\x00', '{report}')")
}

#[test]
#[ignore = "needs PostgreSQL"]
fn push_is_limited_to_what_its_login_may() {
    let server = server("shared");
    server.sql(
        "shared",
        "DELETE FROM rbench.allowed;
         INSERT INTO rbench.allowed VALUES ('pusher', 'p', 'ax42'), ('worker', DEFAULT, '')",
    );
    let row = json!({"package": "p", "target": "t", "id": "parse", "metric": "wall", "unit": "ns",
        "verdict": "improved", "head": {"value": 1}});
    let mut client = server.client("pusher", "shared");
    let mut push = |identity, about: &Value, rows: &Value| {
        let asked = client.query_one(&pushed(identity, about, rows), &[]);
        asked.map(|row| row.get::<_, bool>(0)).map_err(|error| {
            let error = error.as_db_error().unwrap();
            format!("{} {}", error.message(), error.hint().unwrap_or_default())
        })
    };
    let rows = json!([row]);
    assert_eq!(push(1, &json!({}), &rows), Ok(true));
    // It is known: nothing else counts, and nothing new is written.
    assert_eq!(push(1, &json!({"class": "x", "project": "x"}), &rows), Ok(false));
    for (about, rows, words) in [
        (json!({"class": "other"}), json!([]), "VALUES ('pusher', 'p', 'other')"),
        (json!({"project": "q"}), json!([]), "permission denied for project 'q'"),
        (json!({"finished_ns": 1e20}), json!([]), "in the future"),
        (json!({"finished_ns": "NaN"}), json!([]), "cannot be NaN"),
        (json!({"begun_ns": -1}), json!([]), "before 1970"),
        (json!({"begun_ns": 3}), json!([]), "before 1970"),
        (json!({"machine": "m".repeat(1001)}), json!([]), "more than 1,000 characters"),
        (json!({}), json!([row, {"id": "i".repeat(100_001)}]), "more than 100,000 characters"),
        (json!({}), vec![json!({}); 100_001].into(), "more than 100,000 results"),
    ] {
        let error = push(2, &about, &rows).unwrap_err();
        assert!(error.contains(words), "{error}");
    }
    // A commit of the year 9999 is not the newest for ever.
    let future = json!({"head_s": 253_370_764_800_i64, "summary": "s".repeat(5000)});
    assert_eq!(push(3, &future, &rows), Ok(true));
    let mut reader = server.client("reader", "shared");
    let query = "SELECT bool_and(head_time < now() AND pushed_by = 'pusher' AND length(summary) <= 1000), count(*)
        FROM rbench.course";
    let found = reader.query_one(query, &[]).unwrap();
    assert_eq!((found.get(0), found.get(1)), (true, 2_i64));
    for view in ["latest", "machines"] {
        let query = format!("SELECT pushed_by, class FROM rbench.{view}");
        let found = reader.query_one(&query, &[]).unwrap();
        assert_eq!((found.get(0), found.get(1)), ("pusher", "ax42"));
    }
    let names =
        "SELECT string_agg(name, ' ') || '|' || (SELECT string_agg(root, ' ') FROM rbench.project)
        FROM rbench.class";
    let names: String = server.client("owner", "shared").query_one(names, &[]).unwrap().get(0);
    assert_eq!(names, "ax42|p", "what was refused left nothing");

    // What the client says.
    let (project, commits) = history::project(2);
    fill(&project, &commits, &["a"]);
    let refused = project.rbench(&["push", &server.url("worker", "shared")]).fails_with(2);
    refused
        .assert_stderr_has(&["of class 'ax42'", "INSERT INTO rbench.allowed VALUES ('worker', "]);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn pull_names_who_sent_and_takes_those_of_one() {
    let server = server("shared");
    let (project, commits) = history::project(2);
    let [second, third] = [project.clone_elsewhere(), project.clone_elsewhere()];
    fill(&project, &commits, &["a", "b"]);
    project.rbench(&["push", &server.url("pusher", "shared")]).ok();
    fill(&second, &commits, &["c"]);
    let place = server.url("worker", "shared");
    second.rbench(&["push", &place]).ok();
    third
        .rbench(&["pull", &place, "--from", "worker", "--from", "nobody"])
        .ok()
        .assert_stdout_has(&["imported 1 new experiment", "; sent by worker (1)"]);
    third
        .rbench(&["pull", &place])
        .ok()
        .assert_stdout_has(&["imported 2 new experiments", "; sent by pusher (2)"]);
    let directory = project.beside("shared").display().to_string();
    let refused = third.rbench(&["pull", &directory, "--from", "worker"]).fails_with(2);
    refused.assert_stderr_has(&["only a database knows who sent"]);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn tables_of_an_earlier_rbench_are_completed_by_their_owner() {
    let server = server("shared");
    let (project, commits) = history::project(2);
    fill(&project, &commits, &["a"]);
    project.rbench(&["push", &server.url("worker", "shared")]).ok();
    server.sql(
        "shared",
        "DROP TABLE rbench.allowed;
         DROP FUNCTION rbench.documents;
         CREATE FUNCTION rbench.documents(project text, since_ns bigint) RETURNS SETOF bytea
             LANGUAGE sql AS 'SELECT NULL::bytea';
         DROP VIEW rbench.machines;
         CREATE VIEW rbench.machines AS SELECT 'p'::text AS project, 'c'::text AS class, machine,
             count(*) AS experiments, max(finished) AS newest, max(rbench) AS rbench
             FROM rbench.experiment GROUP BY machine",
    );
    let elsewhere = project.clone_elsewhere();
    let pull = || elsewhere.rbench(&["pull", &server.url("worker", "shared")]);
    pull().fails_with(2).assert_stderr_has(&["let its owner make the tables with"]);
    let init = project.rbench(&["init", "--shared", &server.url("owner", "shared")]).ok();
    init.assert_stdout_has(&["in every database of the server: pusher, reader, worker"]);
    pull().ok().assert_stdout_has(&["imported 1 new experiment"]);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn places_converge_in_any_order() {
    let server = server("one");
    make(&server, "two");
    let (first, commits) = history::project(2);
    let projects = [first.clone_elsewhere(), first.clone_elsewhere(), first];
    let directories = ["x", "y"].map(|name| projects[0].beside(name).display().to_string());
    let databases = ["one", "two"].map(|name| server.url("worker", name));
    let places: Vec<&String> = directories.iter().chain(&databases).collect();
    let mut random = Random::new(1);
    let mut number = 0;
    for _ in 0..40 {
        let project = &projects[random.below(3)];
        match random.below(3) {
            0 => {
                number += 1;
                fill(project, &commits, &[&format!("{number:x}")]);
            }
            1 if number > 0 => {
                // A store without results sends nothing.
                project.rbench(&["push", places[random.below(4)]]).run();
            }
            _ => {
                // A directory may not be there yet.
                project.rbench(&["pull", places[random.below(4)]]).run();
            }
        }
    }
    assert!(number > 5);
    // Everybody tells everybody, twice.
    for _ in 0..2 {
        for project in &projects {
            for place in &places {
                project.rbench(&["push", place]).ok();
                project.rbench(&["pull", place]).ok();
            }
        }
    }
    let all = projects.each_ref().map(|project| project.rbench(&["push", "-"]).ok().stdout());
    assert_eq!(all[0].matches("\"identity\"").count(), number);
    assert!(all.iter().all(|other| sorted(other) == sorted(&all[0])));
    assert_eq!(there(&server, "one").len(), number);
    assert_eq!(there(&server, "one"), there(&server, "two"));
    for directory in directories {
        let groups = fs::read_dir(format!("{directory}/experiments")).unwrap();
        let files = groups.flat_map(|group| fs::read_dir(group.unwrap().path()).unwrap());
        assert_eq!(files.count(), number);
    }
}

#[test]
#[ignore = "needs PostgreSQL"]
fn kills_and_crashes_lose_nothing_and_send_nothing_twice() {
    let mut server = server("shared");
    let (project, commits) = history::project(2);
    let identities: Vec<String> = (0..60).map(|number| format!("{number:x}")).collect();
    fill(&project, &commits, &identities.iter().map(String::as_str).collect::<Vec<_>>());
    let (place, directory) = (server.url("worker", "shared"), project.beside("shared"));
    let mut random = Random::new(2);
    let pause = |random: &mut Random, most: usize| {
        thread::sleep(Duration::from_millis(random.below(most) as u64));
    };
    for trial in 0..50 {
        let place = if trial % 2 == 0 { &place } else { directory.to_str().unwrap() };
        let mut child = project.rbench(&["push", place]).start();
        pause(&mut random, 60);
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let elsewhere = project.clone_elsewhere();
    for trial in 0..10 {
        // The client waits until the server is back.
        let command = if trial % 2 == 0 { "push" } else { "pull" };
        let project = if trial % 2 == 0 { &project } else { &elsewhere };
        if command == "push" {
            server.sql("shared", "TRUNCATE rbench.experiment CASCADE");
        }
        let child = project.rbench(&[command, &place]).start();
        pause(&mut random, 300);
        server.crash();
        pause(&mut random, 300);
        server.go();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        if command == "push" {
            assert_eq!(there(&server, "shared").len(), 60);
        }
    }
    project.rbench(&["push", &place]).ok();
    project.rbench(&["push", directory.to_str().unwrap()]).ok();
    assert_eq!(there(&server, "shared").len(), 60);
    let rows = server.client("owner", "shared").query("SELECT * FROM rbench.result", &[]).unwrap();
    assert_eq!(rows.len(), 60, "each comparison has one row");
    elsewhere.rbench(&["pull", directory.to_str().unwrap()]).ok();
    elsewhere.rbench(&["pull", &place]).ok();
    let all = [&project, &elsewhere].map(|one| one.rbench(&["push", "-"]).ok().stdout());
    assert!(sorted(&all[0]) == sorted(&all[1]));
}

#[test]
#[ignore = "needs PostgreSQL"]
fn push_heals_a_database_restored_from_an_old_dump() {
    let server = server("shared");
    let (project, commits) = history::project(2);
    let elsewhere = project.clone_elsewhere();
    let place = server.url("worker", "shared");
    fill(&project, &commits, &["a", "b"]);
    project.rbench(&["push", &place]).ok();
    let dump = server.program("pg_dump").arg(server.url("owner", "shared")).output().unwrap();
    assert!(dump.status.success(), "{}", String::from_utf8_lossy(&dump.stderr));
    fill(&project, &commits, &["c"]);
    fill(&elsewhere, &commits, &["d"]);
    project.rbench(&["push", &place]).ok();
    elsewhere.rbench(&["push", &place]).ok();
    let before = there(&server, "shared");

    server.sql("postgres", "CREATE DATABASE restored");
    let file = server.directory().join("dump");
    fs::write(&file, dump.stdout).unwrap();
    let mut psql = server.program("psql");
    psql.args(["--quiet", "--set=ON_ERROR_STOP=1", "--file"]).arg(&file);
    let restored = psql.arg(server.url("owner", "restored")).output().unwrap();
    assert!(restored.status.success(), "{}", String::from_utf8_lossy(&restored.stderr));
    assert_eq!(there(&server, "restored").len(), 2);
    let place = server.url("worker", "restored");
    project.rbench(&["push", &place]).ok().assert_stderr_has(&["sent 1 of "]);
    elsewhere.rbench(&["push", &place]).ok().assert_stderr_has(&["sent 1 of "]);
    assert_eq!(there(&server, "restored"), before);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn hostile_documents_of_a_database_are_refused_by_name() {
    let server = server("shared");
    let (project, commits) = history::project(2);
    fill(&project, &commits, &["a", "b", "c", "d"]);
    let place = server.url("worker", "shared");
    project.rbench(&["push", &place]).ok();
    let mut zeros = Vec::new();
    let spaces = io::repeat(b' ').take(300 << 20);
    ZlibEncoder::new(spaces, Compression::fast()).read_to_end(&mut zeros).unwrap();
    let mut owner = server.client("owner", "shared");
    let identity = |number: u8| [vec![0; 15], vec![number]].concat();
    let replace = "UPDATE rbench.document SET lines = $1 WHERE identity = $2";
    owner.execute(replace, &[&zeros, &identity(0xa)]).unwrap();
    owner.execute(replace, &[&b"{}".to_vec(), &identity(0xb)]).unwrap();
    let other = "UPDATE rbench.document SET lines = other.lines FROM rbench.document AS other
        WHERE document.identity = $1 AND other.identity = $2";
    owner.execute(other, &[&identity(0xc), &identity(0xd)]).unwrap();
    let elsewhere = project.clone_elsewhere();
    let outcome = elsewhere.rbench(&["pull", &place]).fails_with(2);
    outcome.assert_stderr_has(&[
        "expands to more than 256 MiB",
        "it is no zlib data, or damaged",
        "the experiment is 0000000000000000000000000000000d, not 0000000000000000000000000000000c",
        "cannot import 3 experiments",
        "imported 1 other",
    ]);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn every_query_of_the_dashboard_and_the_docs_works() {
    let server = server("shared");
    let (project, commits) = history::project(2);
    fill(&project, &commits, &["a"]);
    project.rbench(&["push", &server.url("pusher", "shared")]).ok();
    // A change that was confirmed.
    server.sql("shared", "UPDATE rbench.result SET verdict = 'regressed'");
    let mut reader = server.client("reader", "shared");
    let root: String = reader.query_one("SELECT project FROM rbench.machines", &[]).unwrap().get(0);
    let text =
        fs::read_to_string(sources::project().join("templates/grafana/rbench.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&text).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let panels = panels.map(|panel| &panel["targets"][0]["rawSql"]);
    let variables = dashboard["templating"]["list"].as_array().unwrap().iter().skip(1);
    let variables = variables.map(|variable| &variable["query"]);
    let queries: Vec<&str> = panels.chain(variables).map(|query| query.as_str().unwrap()).collect();
    assert_eq!(queries.len(), 9);
    for query in queries {
        let query = query
            .replace("$__timeFilter(head_time)", "head_time BETWEEN '2020-01-01' AND now()")
            .replace("${project}", &root)
            .replace("${class}", "ax42")
            .replace("${benchmark}", "parse/1")
            .replace("${metric}", "wall");
        let rows = reader.query(&query, &[]).unwrap_or_else(|error| panic!("{query}: {error:?}"));
        assert!(!rows.is_empty(), "{query}");
    }
    let page = fs::read_to_string(sources::project().join("docs/shared.md")).unwrap();
    let blocks = page.split("```sql\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let blocks: Vec<&str> = blocks.collect();
    assert_eq!(blocks.len(), 3);
    for block in blocks {
        server.sql("shared", block);
    }
    assert!(there(&server, "shared").is_empty(), "measurements of 2023 are old");
    // What was deleted on purpose does not come back.
    let again = project.rbench(&["push", &server.url("pusher", "shared")]).ok();
    again.assert_stderr_has(&["sent 0 of "]);
}

/// Runs `openssl`.
fn openssl(server: &Server, arguments: &str) {
    let mut command = Command::new("openssl");
    let made = command.args(arguments.split(' ')).current_dir(server.directory()).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

#[test]
#[ignore = "needs PostgreSQL"]
fn encryption_verifies_the_name_of_the_server() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (listen, port_of) = ("listen_addresses=127.0.0.1", format!("port={port}"));
    let mut server = Server::with(&[listen, &port_of]);
    server.sql("postgres", "CREATE USER me PASSWORD 's3cret'");
    let hosts = "local all all trust\nhost all me 127.0.0.1/32 scram-sha-256\n";
    fs::write(server.data().join("pg_hba.conf"), hosts).unwrap();
    server.sql("postgres", "SELECT pg_reload_conf()");
    for (name, subject) in [("good", "IP:127.0.0.1"), ("wrong", "DNS:db.example")] {
        openssl(
            &server,
            &format!(
                "req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN={name} -keyout {name}-ca.key -out {name}-ca.pem"
            ),
        );
        openssl(
            &server,
            &format!("req -newkey rsa:2048 -nodes -subj /CN=db -keyout {name}.key -out {name}.csr"),
        );
        fs::write(server.directory().join("ext"), format!("subjectAltName={subject}")).unwrap();
        openssl(
            &server,
            &format!(
                "x509 -req -days 30 -in {name}.csr -CA {name}-ca.pem -CAkey {name}-ca.key -CAcreateserial -extfile ext -out {name}.crt"
            ),
        );
        server.give(&server.directory().join(format!("{name}.key")));
    }
    let project = TestProject::bare("no project");
    let init = |password: &str, options: &str, certificates: &str| {
        let url = format!("postgres://me:{password}@127.0.0.1:{port}/postgres{options}");
        let file = server.directory().join(format!("{certificates}-ca.pem"));
        let outcome = project
            .rbench(&["init", "--shared"])
            .env("RBENCH_SHARED", &url)
            .env("SSL_CERT_FILE", file)
            .run();
        assert!(!outcome.stderr().contains("s3cret"), "{}", outcome.printed());
        outcome.stderr()
    };
    // Without encryption it is refused where it is required, and used on this machine.
    let text = init("s3cret", "?sslmode=require", "good");
    assert!(text.contains("server does not support TLS"), "{text}");
    for options in ["", "?sslmode=disable"] {
        let text = init("s3cret", options, "good");
        assert!(text.contains("its password would not be encrypted"), "{text}");
    }

    for (certificate, trusted, words) in [
        ("good", "wrong", "UnknownIssuer"),
        ("wrong", "wrong", "not valid for name"),
        ("good", "good", "permission denied"),
    ] {
        server.crash();
        let directory = server.directory().display().to_string();
        let files = ["cert", "key"].map(|kind| {
            let ending = if kind == "cert" { "crt" } else { "key" };
            format!("ssl_{kind}_file='{directory}/{certificate}.{ending}'\n")
        });
        let settings = format!("ssl=on\n{}", files.concat());
        fs::write(server.data().join("postgresql.auto.conf"), settings).unwrap();
        fs::set_permissions(server.directory(), Permissions::from_mode(0o755)).unwrap();
        server.go();
        let url = format!("postgres://me:s3cret@127.0.0.1:{port}/postgres?sslmode=require");
        let file = server.directory().join(format!("{trusted}-ca.pem"));
        let outcome = project
            .rbench(&["init", "--shared"])
            .env("RBENCH_SHARED", &url)
            .env("SSL_CERT_FILE", file)
            .fails_with(2);
        outcome.assert_stderr_has(&[words]);
        assert!(!outcome.stderr().contains("s3cret"), "{}", outcome.printed());
    }
    let url = format!("postgres://me:wr0ng@127.0.0.1:{port}/postgres?sslmode=require");
    let file = server.directory().join("good-ca.pem");
    let init = project.rbench(&["init", "--shared"]).env("RBENCH_SHARED", &url);
    let init = init.env("SSL_CERT_FILE", file);
    let text = init.fails_with(2).stderr();
    assert!(text.contains("password authentication failed") && !text.contains("wr0ng"), "{text}");
    // A socket of its own needs none, and one that any user may replace gets no password.
    let socket = server.url("me", "postgres").replacen("me@", "me:s3cret@", 1);
    for (mode, words) in [(0o755, "permission denied"), (0o777, "any user may make a socket")] {
        fs::set_permissions(server.sockets(), Permissions::from_mode(mode)).unwrap();
        let init = project.rbench(&["init", "--shared"]).env("RBENCH_SHARED", &socket);
        init.fails_with(2).assert_stderr_has(&[words]);
    }
}

/// Starts a pooler in transaction mode for the database `shared`, and returns its port.
fn pooler(server: &Server) -> (Child, u16) {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let sockets = server.sockets().display().to_string();
    let settings = format!(
        "[databases]\nshared = host={sockets} port=5432 dbname=shared\n[pgbouncer]\n\
         listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n\
         pool_mode = transaction\nserver_lifetime = 0\ndefault_pool_size = 2\n"
    );
    // With this type, everybody is the user of the pool.
    let settings = settings.replace("dbname=shared", "dbname=shared user=worker");
    let file = server.directory().join("pgbouncer.ini");
    fs::write(&file, settings).unwrap();
    let pooler = server.program("/usr/sbin/pgbouncer").arg("-q").arg(&file).spawn().unwrap();
    (pooler, port)
}

#[test]
#[ignore = "needs PostgreSQL"]
fn pooler_may_give_each_transaction_another_connection() {
    let server = server("shared");
    let (mut pooler, port) = pooler(&server);
    let (project, commits) = history::project(2);
    fill(&project, &commits, &["a", "b", "c"]);
    let place = format!("postgres://worker@127.0.0.1:{port}/shared");
    // The client waits until the pooler listens.
    let pushes = [(); 3].map(|()| project.rbench(&["push", &place]).start());
    for push in pushes {
        let output = push.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let pull = project.clone_elsewhere().rbench(&["pull", &place]).ok();
    pull.assert_stdout_has(&["imported 3 new experiments"]);
    pooler.kill().unwrap();
    pooler.wait().unwrap();
}
