
-- What schema 3 added to schema 2. The benchmarks that were not measured in an experiment, because they do the
-- same in all of its versions.
CREATE TABLE unmeasured_benchmark (
    experiment INTEGER NOT NULL REFERENCES experiment,
    benchmark  INTEGER NOT NULL REFERENCES benchmark,
    verdict    TEXT NOT NULL, -- identical or unaffected
    PRIMARY KEY (experiment, benchmark)
) STRICT, WITHOUT ROWID;
