-- Schema 1 of shared results. It can be applied again: tables stay, functions and views are replaced.
-- Users have a role below, which permits functions and views: nobody but the owner can change or delete anything.

-- Every user may take the lock below, and keep it.
SET LOCAL lock_timeout = '1min';

DO $$ BEGIN
    IF current_setting('server_encoding') <> 'UTF8' THEN
        RAISE EXCEPTION 'it is encoded as %, which has no place for every name of a benchmark', current_setting('server_encoding')
            USING ERRCODE = 'untranslatable_character';
    END IF;
    -- Two commands at once wait for each other.
    PERFORM pg_advisory_xact_lock(hashtext('cargo-rbench'));
    CREATE SCHEMA IF NOT EXISTS rbench;
    IF (SELECT nspowner FROM pg_namespace WHERE nspname = 'rbench') <> current_user::regrole THEN
        RAISE EXCEPTION 'the schema `rbench` belongs to somebody else';
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'rbench_read') THEN
        CREATE ROLE rbench_read NOLOGIN;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'rbench_push') THEN
        CREATE ROLE rbench_push NOLOGIN;
    END IF;
END $$;

SET LOCAL search_path = rbench, pg_temp;

CREATE TABLE IF NOT EXISTS meta (single boolean PRIMARY KEY DEFAULT true CHECK (single), version int NOT NULL);
INSERT INTO meta (version) VALUES (1) ON CONFLICT DO NOTHING;
DO $$ BEGIN
    IF (SELECT version FROM meta) <> 1 THEN
        RAISE EXCEPTION 'the tables are those of another version of rbench: schema %', (SELECT version FROM meta);
    END IF;
END $$;

CREATE TABLE IF NOT EXISTS project (
    id   int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    root text NOT NULL UNIQUE -- a hash of the first commit of the repository
);

-- Machines that one owner takes for equal.
CREATE TABLE IF NOT EXISTS class (
    id   int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE -- empty: none
);

-- What each login may push. Its owner alone fills it.
CREATE TABLE IF NOT EXISTS allowed (
    login   text NOT NULL,
    project text NOT NULL DEFAULT '*', -- its root; *: every one
    class   text NOT NULL DEFAULT '*',
    PRIMARY KEY (login, project, class)
);

CREATE TABLE IF NOT EXISTS experiment (
    identity     bytea PRIMARY KEY CHECK (octet_length(identity) = 16),
    project      int NOT NULL REFERENCES project,
    class        int NOT NULL REFERENCES class,
    machine      text NOT NULL,
    kind         text NOT NULL, -- comparison, counts, versions or diagnosis
    settings_key text NOT NULL,
    rbench       text NOT NULL,
    base         text, -- commits, or trees of uncommitted versions
    head         text NOT NULL,
    head_time    timestamptz, -- of the commit
    summary      text NOT NULL, -- of the commit
    begun        timestamptz NOT NULL,
    finished     timestamptz NOT NULL,
    unaffected   int NOT NULL, -- skipped benchmarks, which have no result
    identical    int NOT NULL,
    pushed       timestamptz NOT NULL DEFAULT now(),
    pushed_by    text NOT NULL DEFAULT session_user
);
CREATE INDEX IF NOT EXISTS experiment_finished ON experiment (project, finished);

-- All measurements: see docs/shared.md. A document that is deleted is not sent again.
CREATE TABLE IF NOT EXISTS document (
    identity bytea PRIMARY KEY REFERENCES experiment,
    lines    bytea NOT NULL CHECK (octet_length(lines) <= 67108864)
);
ALTER TABLE document ALTER lines SET STORAGE EXTERNAL; -- compressed already

-- A benchmark in one metric.
CREATE TABLE IF NOT EXISTS benchmark (
    id      int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project int NOT NULL REFERENCES project,
    package text NOT NULL,
    target  text NOT NULL,
    name    text NOT NULL,
    metric  text NOT NULL, -- empty: about the benchmark as a whole
    unit    text NOT NULL
);
-- A name may be longer than an entry of an index.
ALTER TABLE benchmark DROP CONSTRAINT IF EXISTS benchmark_project_package_target_name_metric_key;
CREATE UNIQUE INDEX IF NOT EXISTS benchmark_named
    ON benchmark (project, md5(name), md5(package), md5(target), metric);

CREATE TABLE IF NOT EXISTS result (
    benchmark  int NOT NULL REFERENCES benchmark,
    class      int NOT NULL REFERENCES class,
    head_time  timestamptz NOT NULL, -- of the commit; of the end of measuring for an uncommitted version
    experiment bytea NOT NULL REFERENCES experiment,
    verdict    text NOT NULL,
    base       float8,
    head       float8,
    base_half  float8, -- half of the 95 % interval
    head_half  float8,
    change     float8, -- 0.05 is 5 % more than the base
    low        float8,
    high       float8,
    p          float8,
    builds     int,
    PRIMARY KEY (benchmark, class, head_time, experiment)
);
CREATE INDEX IF NOT EXISTS result_changed ON result (head_time)
    WHERE verdict IN ('regressed', 'improved', 'accepted');

-- The number of a project, which is new if it is unknown. Looked up first: a refused insertion would use a number.
CREATE OR REPLACE FUNCTION project_of(root text) RETURNS int
LANGUAGE plpgsql SET search_path = rbench, pg_temp AS $$
BEGIN
    INSERT INTO project (root) SELECT project_of.root
        WHERE NOT EXISTS (SELECT FROM project WHERE project.root = project_of.root) ON CONFLICT DO NOTHING;
    RETURN (SELECT id FROM project WHERE project.root = project_of.root);
END $$;

CREATE OR REPLACE FUNCTION class_of(name text) RETURNS int
LANGUAGE plpgsql SET search_path = rbench, pg_temp AS $$
BEGIN
    INSERT INTO class (name) SELECT class_of.name
        WHERE NOT EXISTS (SELECT FROM class WHERE class.name = class_of.name) ON CONFLICT DO NOTHING;
    RETURN (SELECT id FROM class WHERE class.name = class_of.name);
END $$;

-- Adds an experiment: what is known about it, its document, and its comparison. False: it is there already.
CREATE OR REPLACE FUNCTION push(about jsonb, lines bytea, report jsonb) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = rbench, pg_temp AS $$
DECLARE
    given record;
    own bytea;
    project_id int;
    class_id int;
    time timestamptz;
BEGIN
    SELECT * INTO given FROM jsonb_to_record(about) AS (
        identity text, project text, class text, machine text, kind text, settings_key text, rbench text,
        base text, head text, head_s float8, summary text, begun_ns float8, finished_ns float8,
        unaffected int, identical int);
    own := decode(given.identity, 'hex');
    -- A commit of the year 9999 would be the newest for ever.
    IF given.head_s > extract(epoch FROM now() + interval '1 day') OR given.head_s < 0 THEN
        given.head_s := NULL;
    END IF;
    time := coalesce(to_timestamp(given.head_s), to_timestamp(given.finished_ns / 1e9));

    -- Nothing is inserted before all of it is checked.
    IF EXISTS (SELECT FROM experiment WHERE experiment.identity = own) THEN
        RETURN false;
    END IF;
    -- The owner of this function may change the table anyway.
    IF session_user <> current_user AND NOT EXISTS (
        SELECT FROM allowed WHERE login = session_user
            AND allowed.project IN ('*', given.project) AND allowed.class IN ('*', given.class)) THEN
        RAISE EXCEPTION 'permission denied for project % of class %', quote_literal(left(given.project, 99)),
                quote_literal(left(given.class, 99))
            USING ERRCODE = 'insufficient_privilege',
                HINT = format('its owner permits it with: INSERT INTO rbench.allowed VALUES (%L, %L, %L)',
                    session_user, left(given.project, 99), left(given.class, 99));
    END IF;
    IF given.begun_ns < 0 OR given.begun_ns > given.finished_ns
        OR given.finished_ns / 1e9 > extract(epoch FROM now() + interval '1 day') THEN
        RAISE EXCEPTION 'the experiment was measured before 1970 or in the future';
    END IF;
    IF greatest(length(given.project), length(given.class), length(given.machine), length(given.kind),
            length(given.settings_key), length(given.rbench), length(given.base), length(given.head)) > 1000
        OR jsonb_array_length(report->'benchmarks') > 100000
        OR EXISTS (
            SELECT FROM jsonb_to_recordset(report->'benchmarks') AS judged (
                package text, target text, id text, metric text, unit text, verdict text)
            WHERE greatest(length(package), length(target), length(metric), length(unit), length(verdict)) > 1000
                OR length(id) > 100000)
    THEN
        RAISE EXCEPTION 'the experiment has an id of more than 100,000 characters, another name of more than 1,000 characters, or more than 100,000 results';
    END IF;

    project_id := project_of(given.project);
    class_id := class_of(given.class);
    INSERT INTO experiment VALUES (
        own, project_id, class_id, given.machine, given.kind, given.settings_key, given.rbench, given.base, given.head,
        to_timestamp(given.head_s), left(given.summary, 1000), to_timestamp(given.begun_ns / 1e9), to_timestamp(given.finished_ns / 1e9),
        given.unaffected, given.identical) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    INSERT INTO document VALUES (own, lines);

    -- In one order, so that two pushes do not wait for each other.
    INSERT INTO benchmark (project, package, target, name, metric, unit)
        SELECT DISTINCT project_id, package, target, judged.id, coalesce(metric, ''), coalesce(unit, '')
        FROM jsonb_to_recordset(report->'benchmarks') AS judged (
            package text, target text, id text, metric text, unit text, verdict text)
        WHERE verdict NOT IN ('unaffected', 'identical') AND NOT EXISTS (
            SELECT FROM benchmark AS known
            WHERE (known.project, known.package, known.target, known.name, known.metric)
                = (project_id, judged.package, judged.target, judged.id, coalesce(judged.metric, ''))
                AND md5(known.name) = md5(judged.id))
        ORDER BY 2, 3, 4, 5 ON CONFLICT DO NOTHING;
    INSERT INTO result
        SELECT known.id, class_id, time, own, verdict,
            (judged.base->>'value')::float8, (judged.head->>'value')::float8,
            ((judged.base->>'high')::float8 - (judged.base->>'low')::float8) / 2,
            ((judged.head->>'high')::float8 - (judged.head->>'low')::float8) / 2,
            (change->>'estimate')::float8, (change->>'low')::float8, (change->>'high')::float8,
            (change->>'p')::float8, (judged.head->>'builds')::int
        FROM jsonb_to_recordset(report->'benchmarks') AS judged (
            package text, target text, id text, metric text, verdict text, base jsonb, head jsonb, change jsonb)
        JOIN benchmark AS known ON (known.project, known.package, known.target, known.name, known.metric)
            = (project_id, judged.package, judged.target, judged.id, coalesce(judged.metric, ''))
            AND md5(known.name) = md5(judged.id)
        WHERE verdict NOT IN ('unaffected', 'identical')
        ON CONFLICT DO NOTHING;
    RETURN true;
END $$;

-- The experiments of these that are not there.
CREATE OR REPLACE FUNCTION missing(identities bytea[]) RETURNS SETOF bytea
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = rbench, pg_temp AS $$
    SELECT one.identity FROM unnest(identities) AS one (identity)
    WHERE NOT EXISTS (SELECT FROM experiment WHERE experiment.identity = one.identity)
$$;

-- The experiments of a project that have documents and were finished at this time or later, the newest first, with the
-- login that pushed each. Null logins: those of all.
DROP FUNCTION IF EXISTS documents(text, bigint);
CREATE OR REPLACE FUNCTION documents(project text, since_ns bigint, logins text[])
RETURNS TABLE (identity bytea, pushed_by text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = rbench, pg_temp AS $$
    SELECT experiment.identity, experiment.pushed_by FROM document JOIN experiment USING (identity)
    WHERE experiment.project = (SELECT id FROM project WHERE root = documents.project)
        AND finished >= to_timestamp(since_ns / 1e9)
        AND (logins IS NULL OR experiment.pushed_by = ANY (logins))
    ORDER BY finished DESC
$$;

CREATE OR REPLACE FUNCTION document(identity bytea) RETURNS bytea
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = rbench, pg_temp AS $$
    SELECT lines FROM document WHERE document.identity = $1
$$;

-- Every result: for one benchmark, its course.
CREATE OR REPLACE VIEW course AS
    SELECT project.root AS project, class.name AS class, package, target, benchmark.name, metric, unit,
        result.head_time, verdict, result.base, result.head, base_half, head_half, change, low, high, p, builds,
        experiment.base AS base_commit, experiment.head AS head_commit, summary, machine,
        encode(experiment.identity, 'hex') AS experiment, pushed_by
    FROM result
    JOIN benchmark ON benchmark.id = result.benchmark
    JOIN class ON class.id = result.class
    LEFT JOIN experiment ON experiment.identity = result.experiment -- left: skipped for those who ask for values only
    JOIN project ON project.id = benchmark.project;

CREATE OR REPLACE VIEW changes AS
    SELECT * FROM course WHERE verdict IN ('regressed', 'improved', 'accepted') ORDER BY head_time DESC;

-- The newest result of each benchmark on each class. The classes of a benchmark are found one after the other by the
-- index: others have none of its results.
CREATE OR REPLACE VIEW latest AS
    SELECT project.root AS project, class.name AS class, package, target, benchmark.name, metric, unit,
        newest.head_time, verdict, newest.base, newest.head, change, low, high,
        experiment.head AS head_commit, summary, pushed_by
    FROM benchmark
    JOIN project ON project.id = benchmark.project
    CROSS JOIN LATERAL (
        WITH RECURSIVE used (class) AS (
            (SELECT result.class FROM result WHERE result.benchmark = benchmark.id ORDER BY result.class LIMIT 1)
            UNION ALL
            SELECT further.class FROM used CROSS JOIN LATERAL (
                SELECT result.class FROM result WHERE result.benchmark = benchmark.id AND result.class > used.class
                ORDER BY result.class LIMIT 1) AS further
        )
        SELECT used.class FROM used
    ) AS used
    JOIN class ON class.id = used.class
    CROSS JOIN LATERAL (
        SELECT * FROM result WHERE result.benchmark = benchmark.id AND result.class = class.id
        ORDER BY result.head_time DESC LIMIT 1
    ) AS newest
    JOIN experiment ON experiment.identity = newest.experiment;

CREATE OR REPLACE VIEW machines AS
    SELECT project.root AS project, class.name AS class, machine, count(*) AS experiments,
        max(finished) AS newest, max(rbench) AS rbench, string_agg(DISTINCT pushed_by, ', ') AS pushed_by
    FROM experiment JOIN project ON project.id = project JOIN class ON class.id = class
    GROUP BY project.root, class.name, machine;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA rbench FROM PUBLIC;
GRANT USAGE ON SCHEMA rbench TO rbench_read, rbench_push;
GRANT SELECT ON meta TO rbench_read, rbench_push;
GRANT EXECUTE ON FUNCTION push, missing TO rbench_push;
GRANT EXECUTE ON FUNCTION documents, document TO rbench_read;
GRANT SELECT ON course, changes, latest, machines TO rbench_read;
