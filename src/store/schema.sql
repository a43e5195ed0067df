-- Schema 1. Numbers that may have 64 bits without a sign are stored as the signed numbers with the same bits.
-- Points in time are nanoseconds since 1970-01-01 UTC. A version of an experiment is named by its position in it,
-- from 0. The last column of each table is a checksum of the others: see schema.rs.

-- What many experiments share.
CREATE TABLE machine (
    id           INTEGER PRIMARY KEY,
    cpu          TEXT NOT NULL,
    cores        INTEGER NOT NULL,
    memory_bytes INTEGER NOT NULL,
    os           TEXT NOT NULL,
    architecture TEXT NOT NULL,
    installation TEXT NOT NULL,
    class        TEXT NOT NULL, -- of machines that may replace each other; empty: none
    checksum INTEGER NOT NULL AS (rbench_checksum(
        id, cpu, cores, memory_bytes, os, architecture,
        installation, class
    )) STORED,
    UNIQUE (installation, cpu, cores, memory_bytes, os, architecture, class)
) STRICT;

CREATE TABLE toolchain (
    id      INTEGER PRIMARY KEY,
    version TEXT NOT NULL UNIQUE,
    checksum INTEGER NOT NULL AS (rbench_checksum(id, version)) STORED
) STRICT;

CREATE TABLE settings (
    id   INTEGER PRIMARY KEY,
    key  TEXT NOT NULL,
    json TEXT NOT NULL,
    checksum INTEGER NOT NULL AS (rbench_checksum(id, key, json)) STORED,
    UNIQUE (key, json)
) STRICT;

CREATE TABLE version (
    id          INTEGER PRIMARY KEY,
    commit_hash TEXT NOT NULL, -- empty: no commit
    tree        TEXT NOT NULL,
    dirty       INTEGER NOT NULL,
    summary     TEXT NOT NULL,
    time_s      INTEGER, -- since 1970-01-01 UTC
    variant     TEXT NOT NULL, -- its name; empty: the plain version
    settings    TEXT NOT NULL, -- of the variant
    checksum INTEGER NOT NULL AS (rbench_checksum(
        id, commit_hash, tree, dirty, summary, time_s, variant,
        settings
    )) STORED,
    UNIQUE (commit_hash, tree, dirty, variant, settings)
) STRICT;

CREATE TABLE benchmark (
    id        INTEGER PRIMARY KEY,
    package   TEXT NOT NULL,
    target    TEXT NOT NULL,
    name      TEXT NOT NULL, -- its id in the target
    "group"   TEXT, -- from here on: for people, as it was listed last
    function  TEXT,
    parameter TEXT,
    checksum INTEGER NOT NULL AS (rbench_checksum(id, package, target, name, "group", function, parameter)) STORED,
    UNIQUE (package, target, name)
) STRICT;

CREATE TABLE experiment (
    id            INTEGER PRIMARY KEY,
    identity      TEXT NOT NULL UNIQUE, -- the same in every store that it is imported into
    started_ns      INTEGER NOT NULL,
    finished_ns   INTEGER,
    machine       INTEGER NOT NULL REFERENCES machine,
    machine_state TEXT, -- what of it mattered to measurements at the beginning, for people; null: nothing
    settings      INTEGER NOT NULL REFERENCES settings,
    rbench        TEXT NOT NULL,
    first_look    INTEGER, -- the builds at the first of several looks; null: judged once, after all builds
    builds        INTEGER NOT NULL,
    executions    INTEGER NOT NULL,
    measurements  INTEGER NOT NULL,
    seed          INTEGER NOT NULL,
    checksum INTEGER NOT NULL AS (rbench_checksum(
        id, identity, started_ns, finished_ns, machine, machine_state, settings,
        rbench, first_look, builds, executions, measurements, seed
    )) STORED
) STRICT;

CREATE TABLE planned_version (
    experiment INTEGER NOT NULL REFERENCES experiment,
    position   INTEGER NOT NULL,
    version    INTEGER NOT NULL REFERENCES version,
    revision   TEXT NOT NULL,
    toolchain  INTEGER NOT NULL REFERENCES toolchain,
    failure    TEXT, -- why it could not be built
    checksum INTEGER NOT NULL AS (rbench_checksum(experiment, position, version, revision, toolchain, failure)) STORED,
    PRIMARY KEY (experiment, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE planned_benchmark (
    experiment   INTEGER NOT NULL REFERENCES experiment,
    position     INTEGER NOT NULL, -- from 0
    benchmark    INTEGER NOT NULL REFERENCES benchmark,
    first_look   INTEGER, -- as in experiment
    builds       INTEGER NOT NULL,
    executions   INTEGER NOT NULL,
    measurements INTEGER NOT NULL,
    checksum INTEGER NOT NULL AS (rbench_checksum(
        experiment, position, benchmark, first_look, builds, executions,
        measurements
    )) STORED,
    PRIMARY KEY (experiment, position)
) STRICT, WITHOUT ROWID;

-- Who asks for one benchmark of a hundred need not read the plans of the others.
CREATE INDEX planned_benchmark_of_benchmark ON planned_benchmark (benchmark);

-- The benchmarks that were not measured in an experiment, because they do the same in all of its versions.
CREATE TABLE unmeasured_benchmark (
    experiment INTEGER NOT NULL REFERENCES experiment,
    benchmark  INTEGER NOT NULL REFERENCES benchmark,
    verdict    TEXT NOT NULL, -- identical or unaffected
    checksum INTEGER NOT NULL AS (rbench_checksum(experiment, benchmark, verdict)) STORED,
    PRIMARY KEY (experiment, benchmark)
) STRICT, WITHOUT ROWID;

-- The benchmarks that one of the two versions of an experiment lacks.
CREATE TABLE absent_benchmark (
    experiment INTEGER NOT NULL REFERENCES experiment,
    benchmark  INTEGER NOT NULL REFERENCES benchmark,
    version    INTEGER NOT NULL, -- the position of the version that lacks it
    absence    TEXT NOT NULL, -- why, as JSON: "undefined", "no_target", …
    checksum   INTEGER NOT NULL AS (rbench_checksum(experiment, benchmark, version, absence)) STORED,
    PRIMARY KEY (experiment, benchmark)
) STRICT, WITHOUT ROWID;

CREATE TABLE build (
    experiment INTEGER NOT NULL,
    version    INTEGER NOT NULL,
    package    TEXT NOT NULL,
    target     TEXT NOT NULL,
    seed       INTEGER NOT NULL,
    layout     TEXT NOT NULL,
    digest     BLOB NOT NULL,
    checksum INTEGER NOT NULL AS (rbench_checksum(experiment, version, package, target, seed, layout, digest)) STORED,
    PRIMARY KEY (experiment, version, package, target, seed),
    FOREIGN KEY (experiment, version) REFERENCES planned_version (experiment, position)
) STRICT, WITHOUT ROWID;

-- All executions, failed ones included. The benchmark comes first, so that its history lies together. Of
-- two executions with the same round and seed the one that stands later counts.
CREATE TABLE executions (
    benchmark  INTEGER NOT NULL REFERENCES benchmark,
    experiment INTEGER NOT NULL,
    version    INTEGER NOT NULL,
    stage      INTEGER NOT NULL, -- 1 or 2
    part       INTEGER NOT NULL, -- from 0
    bytes      BLOB NOT NULL, -- see encoding.rs
    checksum INTEGER NOT NULL AS (rbench_checksum(benchmark, experiment, version, stage, part, bytes)) STORED,
    PRIMARY KEY (benchmark, experiment, version, stage, part),
    FOREIGN KEY (experiment, version) REFERENCES planned_version (experiment, position)
) STRICT, WITHOUT ROWID;

CREATE INDEX executions_of_experiment ON executions (experiment);

CREATE TABLE tuning (
    benchmark  INTEGER NOT NULL REFERENCES benchmark,
    machine    INTEGER NOT NULL REFERENCES machine,
    min_time_ns   INTEGER NOT NULL, -- how long a measurement was to last at least
    iterations INTEGER NOT NULL,
    checksum INTEGER NOT NULL AS (rbench_checksum(benchmark, machine, min_time_ns, iterations)) STORED,
    PRIMARY KEY (benchmark, machine, min_time_ns)
) STRICT, WITHOUT ROWID;
