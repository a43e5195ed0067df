-- The first schema. Never edit a migration that was released: append another.
-- Numbers that may have 64 bits without a sign are stored as the signed numbers with the same bits.
-- Times are nanoseconds since 1970-01-01 UTC.

-- What many experiments share.
CREATE TABLE machine (
    id           INTEGER PRIMARY KEY,
    cpu          TEXT NOT NULL,
    cores        INTEGER NOT NULL,
    memory       INTEGER NOT NULL,
    os           TEXT NOT NULL,
    architecture TEXT NOT NULL,
    installation TEXT NOT NULL,
    UNIQUE (installation, cpu, cores, memory, os, architecture)
) STRICT;

CREATE TABLE toolchain (
    id      INTEGER PRIMARY KEY,
    version TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE settings (
    id   INTEGER PRIMARY KEY,
    key  TEXT NOT NULL,
    json TEXT NOT NULL,
    UNIQUE (key, json)
) STRICT;

CREATE TABLE version (
    id          INTEGER PRIMARY KEY,
    commit_hash TEXT NOT NULL, -- empty: no commit
    tree        TEXT NOT NULL,
    dirty       INTEGER NOT NULL,
    summary     TEXT NOT NULL,
    time        INTEGER, -- in seconds
    UNIQUE (commit_hash, tree, dirty)
) STRICT;

CREATE TABLE benchmark (
    id        INTEGER PRIMARY KEY,
    package   TEXT NOT NULL,
    target    TEXT NOT NULL,
    name      TEXT NOT NULL,
    "group"   TEXT,
    function  TEXT,
    parameter TEXT,
    UNIQUE (package, target, name)
) STRICT;

CREATE TABLE experiment (
    id           INTEGER PRIMARY KEY,
    identity     TEXT NOT NULL UNIQUE, -- the same in every store that it is imported into
    begun        INTEGER NOT NULL,
    finished     INTEGER,
    machine      INTEGER NOT NULL REFERENCES machine,
    settings     INTEGER NOT NULL REFERENCES settings,
    rbench       TEXT NOT NULL,
    builds       INTEGER NOT NULL,
    executions   INTEGER NOT NULL,
    measurements INTEGER NOT NULL,
    seed         INTEGER NOT NULL
) STRICT;

CREATE INDEX experiment_unfinished ON experiment (id) WHERE finished IS NULL;

CREATE TABLE experiment_version (
    experiment INTEGER NOT NULL REFERENCES experiment,
    position   INTEGER NOT NULL, -- in the experiment, from 0
    version    INTEGER NOT NULL REFERENCES version,
    revision   TEXT NOT NULL,
    toolchain  INTEGER NOT NULL REFERENCES toolchain,
    failure    TEXT, -- why it could not be built
    PRIMARY KEY (experiment, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE build (
    experiment INTEGER NOT NULL,
    position   INTEGER NOT NULL,
    package    TEXT NOT NULL,
    target     TEXT NOT NULL,
    seed       INTEGER NOT NULL,
    layout     TEXT NOT NULL,
    digest     BLOB NOT NULL,
    PRIMARY KEY (experiment, position, package, target, seed),
    FOREIGN KEY (experiment, position) REFERENCES experiment_version
) STRICT, WITHOUT ROWID;

-- Executions while their experiment goes on, one block each ...
CREATE TABLE execution (
    experiment INTEGER NOT NULL,
    benchmark  INTEGER NOT NULL REFERENCES benchmark,
    position   INTEGER NOT NULL,
    stage      INTEGER NOT NULL, -- 1 or 2
    round      INTEGER NOT NULL,
    seed       INTEGER NOT NULL,
    block      BLOB NOT NULL,
    PRIMARY KEY (experiment, benchmark, position, stage, round, seed),
    FOREIGN KEY (experiment, position) REFERENCES experiment_version
) STRICT, WITHOUT ROWID;

-- ... and when it is finished, as many in one block as it can hold.
CREATE TABLE block (
    id         INTEGER PRIMARY KEY, -- begins with the benchmark, so that its history lies together
    experiment INTEGER NOT NULL,
    benchmark  INTEGER NOT NULL REFERENCES benchmark,
    position   INTEGER NOT NULL,
    stage      INTEGER NOT NULL,
    part       INTEGER NOT NULL,
    block      BLOB NOT NULL,
    UNIQUE (benchmark, experiment, position, stage, part),
    FOREIGN KEY (experiment, position) REFERENCES experiment_version
) STRICT;

CREATE TABLE failed_execution (
    experiment INTEGER NOT NULL,
    benchmark  INTEGER NOT NULL REFERENCES benchmark,
    position   INTEGER NOT NULL,
    stage      INTEGER NOT NULL,
    round      INTEGER NOT NULL,
    seed       INTEGER NOT NULL,
    reason     TEXT NOT NULL,
    PRIMARY KEY (experiment, benchmark, position, stage, round, seed),
    FOREIGN KEY (experiment, position) REFERENCES experiment_version
) STRICT, WITHOUT ROWID;

CREATE TABLE tuning (
    benchmark  INTEGER NOT NULL REFERENCES benchmark,
    machine    INTEGER NOT NULL REFERENCES machine,
    iterations INTEGER NOT NULL,
    PRIMARY KEY (benchmark, machine)
) STRICT, WITHOUT ROWID;
