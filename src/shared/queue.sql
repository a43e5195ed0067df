-- The queue: comparisons that are to be made, and the workers that make them. Only the clock of the database counts.
-- Applied after schema.sql, in the same transaction.

DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'rbench_work') THEN
        CREATE ROLE rbench_work NOLOGIN;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'rbench_queue') THEN
        CREATE ROLE rbench_queue NOLOGIN;
    END IF;
END $$;

-- One worker of each host, also where containers share it: they have one kernel, and so one boot.
CREATE TABLE IF NOT EXISTS worker (
    boot    text PRIMARY KEY,
    name    text NOT NULL,
    project int NOT NULL REFERENCES project,
    class   int NOT NULL REFERENCES class,
    machine text NOT NULL,
    rbench  text NOT NULL,
    format  int NOT NULL, -- the newest format of jobs that it understands
    job     bigint, -- none: it is idle
    seen    timestamptz NOT NULL
);

CREATE TABLE IF NOT EXISTS job (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project    int NOT NULL REFERENCES project,
    class      int NOT NULL REFERENCES class,
    key        text NOT NULL, -- of what is to be compared, and how
    request    text NOT NULL, -- the pull request that it is for, or empty
    priority   smallint NOT NULL CHECK (priority BETWEEN 0 AND 2), -- see priorities()
    format     int NOT NULL,
    base       text NOT NULL, -- commits
    head       text NOT NULL,
    options    text[] NOT NULL, -- of `compare`
    pack       text, -- the digest of what was compiled elsewhere
    asked      int NOT NULL DEFAULT 1, -- how many wait for it
    state      text NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'running', 'done', 'failed', 'cancelled')),
    attempt    int NOT NULL DEFAULT 0, -- raised by each claim: whoever names an earlier one is refused
    losses     int NOT NULL DEFAULT 0, -- attempts without an answer
    worker     text, -- the one that has it, or had it last
    failed_on  text[] NOT NULL DEFAULT '{}',
    stop       boolean NOT NULL DEFAULT false, -- cancelled while it runs
    beat       timestamptz,
    progress   text,
    not_before timestamptz NOT NULL DEFAULT now(),
    queued     timestamptz NOT NULL DEFAULT now(),
    queued_by  text NOT NULL DEFAULT session_user,
    started    timestamptz,
    ended      timestamptz,
    failure    text,
    exit       smallint, -- the exit code of `compare`
    report     text -- the comparison as JSON
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
-- What jobs measure that was compiled elsewhere, in pieces. A pack is kept as long as a job needs it.
CREATE TABLE IF NOT EXISTS pack (
    digest text NOT NULL,
    number int NOT NULL,
    bytes  bytea NOT NULL CHECK (octet_length(bytes) <= 4194304),
    added  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (digest, number)
);
ALTER TABLE pack ALTER bytes SET STORAGE EXTERNAL; -- compressed already

-- The same comparison is queued once.
CREATE UNIQUE INDEX IF NOT EXISTS job_key ON job (key) WHERE state IN ('queued', 'running');
CREATE INDEX IF NOT EXISTS job_done ON job (key) WHERE state = 'done';
CREATE INDEX IF NOT EXISTS job_queued ON job (project, class, priority DESC, id) WHERE state = 'queued';
CREATE INDEX IF NOT EXISTS job_running ON job (project, class, beat) WHERE state = 'running';
CREATE INDEX IF NOT EXISTS job_request ON job (project, request) WHERE state IN ('queued', 'running') AND request <> '';

-- The time without a beat after which a worker is lost. A worker stops measuring after half of it, by its own clock, so
-- two machines never have one job for long.
CREATE OR REPLACE FUNCTION lease() RETURNS interval LANGUAGE sql IMMUTABLE AS $$ SELECT interval '90 s' $$;

CREATE OR REPLACE FUNCTION priorities() RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
    SELECT ARRAY['back-fill', 'normal', 'gate']
$$;

-- Ends an attempt without an answer: three are enough, wherever they were made.
CREATE OR REPLACE FUNCTION lose(job bigint, reason text) RETURNS void
LANGUAGE sql SET search_path = rbench, pg_temp AS $$
    UPDATE job SET
        losses = losses + 1,
        failed_on = failed_on || worker,
        beat = NULL,
        progress = NULL,
        state = CASE WHEN stop THEN 'cancelled' WHEN losses + 1 >= 3 THEN 'failed' ELSE 'queued' END,
        ended = CASE WHEN stop OR losses + 1 >= 3 THEN now() END,
        failure = CASE WHEN NOT stop THEN reason || ' on ' || array_to_string(failed_on || worker, ', ') END
    WHERE job.id = lose.job
$$;

-- Takes a job for a worker, and registers the worker. No row: there is nothing to do.
CREATE OR REPLACE FUNCTION claim(about jsonb)
RETURNS TABLE (id bigint, attempt int, base text, head text, options text[], pack text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = rbench, pg_temp AS $$
#variable_conflict use_column
DECLARE
    given record;
    own_project int;
    own_class int;
    lost bigint;
    candidate bigint;
    chosen bigint;
BEGIN
    SELECT * INTO given FROM jsonb_to_record(about) AS (
        name text, boot text, project text, class text, machine text, rbench text, format int, cached text[],
        only_packs boolean);
    own_project := project_of(given.project);
    own_class := class_of(given.class);

    -- A copied cache directory has the name of another worker, whose jobs this one would take.
    IF EXISTS (SELECT FROM worker WHERE name = given.name AND boot <> given.boot AND seen > now() - lease()) THEN
        RAISE EXCEPTION 'a worker of another host, or of this one before it was booted, has the name %', given.name
            USING ERRCODE = 'object_in_use', HINT = 'give each host a cache directory of its own, or wait for '
                || lease();
    END IF;
    DELETE FROM worker WHERE name = given.name AND boot <> given.boot;
    INSERT INTO worker AS known VALUES (
        given.boot, given.name, own_project, own_class, given.machine, given.rbench, given.format, NULL, now())
    ON CONFLICT (boot) DO UPDATE SET
        name = excluded.name, project = excluded.project, class = excluded.class, machine = excluded.machine,
        rbench = excluded.rbench, format = excluded.format, job = NULL, seen = now()
    WHERE known.name = excluded.name OR known.seen < now() - lease();
    IF NOT FOUND THEN
        RAISE EXCEPTION 'another worker of this host is alive: %', (SELECT name FROM worker WHERE boot = given.boot)
            USING ERRCODE = 'object_in_use';
    END IF;

    -- Lost jobs: those that this worker had before it was restarted, which it continues where they stopped, and those
    -- of workers that nobody has seen for too long.
    FOR lost IN
        SELECT job.id FROM job
        WHERE job.project = own_project AND job.class = own_class AND state = 'running'
            AND (job.worker = given.name OR beat < now() - lease())
        ORDER BY (job.worker = given.name) DESC, job.priority DESC, job.id
        FOR UPDATE SKIP LOCKED
    LOOP
        PERFORM lose(lost, 'lost');
    END LOOP;

    -- One of the next, if possible one whose commits are compiled here. What this worker lost itself it continues; what
    -- failed here is for another one, if there is one that has not tried it.
    FOR candidate IN
        SELECT next.id FROM (
            SELECT * FROM job
            WHERE job.project = own_project AND job.class = own_class AND state = 'queued'
                AND job.format <= given.format AND not_before <= now()
                AND (job.pack IS NOT NULL OR NOT coalesce(given.only_packs, false))
                AND NOT (given.name = ANY (failed_on) AND job.worker IS DISTINCT FROM given.name AND EXISTS (
                    SELECT FROM worker AS other
                    WHERE other.project = own_project AND other.class = own_class AND other.name <> given.name
                        AND other.name <> ALL (failed_on) AND seen > now() - lease()))
            ORDER BY job.priority DESC, job.id LIMIT 256
        ) AS next
        ORDER BY next.priority DESC, (next.worker = given.name) IS TRUE DESC,
            (next.head = ANY (given.cached))::int + (next.base = ANY (given.cached))::int DESC, next.id
    LOOP
        SELECT job.id INTO chosen FROM job WHERE job.id = candidate AND state = 'queued' FOR UPDATE SKIP LOCKED;
        EXIT WHEN FOUND;
    END LOOP;
    IF chosen IS NULL THEN
        RETURN;
    END IF;
    UPDATE worker SET job = chosen WHERE name = given.name;
    RETURN QUERY UPDATE job SET
        state = 'running', attempt = job.attempt + 1, worker = given.name, beat = now(), progress = NULL,
        started = coalesce(started, now())
    WHERE job.id = chosen RETURNING job.id, job.attempt, job.base, job.head, job.options, job.pack;
END $$;

-- Says that an attempt goes on. Returns what to do: continue, release (a gate waits), cancelled, or lost (another
-- attempt has the job).
CREATE OR REPLACE FUNCTION beat(job bigint, attempt int, progress text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = rbench, pg_temp AS $$
DECLARE
    own job;
BEGIN
    UPDATE job SET beat = now(), progress = beat.progress
        WHERE job.id = beat.job AND job.attempt = beat.attempt AND state = 'running' RETURNING * INTO own;
    IF NOT FOUND THEN
        RETURN 'lost';
    END IF;
    UPDATE worker SET seen = now() WHERE name = own.worker;
    IF own.stop THEN
        RETURN 'cancelled';
    END IF;
    -- The youngest back-fill makes room: it has the least to wait for. A gate whose worker is lost waits too, and a
    -- back-fill whose worker is silent does not make room.
    IF own.priority = 0 AND (
        SELECT count(*) FROM job AS gate
        WHERE gate.project = own.project AND gate.class = own.class AND state = 'queued' AND priority = 2
            AND not_before <= now()
    ) + (
        SELECT count(*) FROM job AS gate
        WHERE gate.project = own.project AND gate.class = own.class AND state = 'running' AND priority = 2
            AND gate.beat < now() - lease()
    ) > (
        SELECT count(*) FROM worker
        WHERE worker.project = own.project AND worker.class = own.class AND worker.job IS NULL
            AND seen > now() - interval '10 s'
    ) + (
        SELECT count(*) FROM job AS younger
        WHERE younger.project = own.project AND younger.class = own.class AND state = 'running' AND priority = 0
            AND younger.id > own.id AND younger.beat > now() - lease() / 3
    ) THEN
        RETURN 'release';
    END IF;
    RETURN 'continue';
END $$;

-- Ends an attempt with an answer. False: another attempt has the job.
CREATE OR REPLACE FUNCTION finish(job bigint, attempt int, exit int, report text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = rbench, pg_temp AS $$
BEGIN
    UPDATE job SET state = 'done', ended = now(), beat = NULL, progress = NULL, failure = NULL,
        exit = finish.exit, report = finish.report
        WHERE job.id = finish.job AND job.attempt = finish.attempt AND state = 'running';
    RETURN FOUND;
END $$;

-- Ends an attempt without an answer. `permanent`: no machine would have one, as if a commit does not compile. Otherwise
-- another worker tries it, after a while.
CREATE OR REPLACE FUNCTION fail(job bigint, attempt int, exit int, failure text, permanent boolean) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = rbench, pg_temp AS $$
BEGIN
    UPDATE job SET exit = fail.exit, not_before = now() + interval '5 s'
        WHERE job.id = fail.job AND job.attempt = fail.attempt AND state = 'running';
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM lose(fail.job, 'failed');
    IF permanent THEN
        UPDATE job SET state = 'failed', ended = now() WHERE job.id = fail.job AND state = 'queued';
    END IF;
    -- Without a worker, since nothing is to be continued there.
    UPDATE job SET worker = NULL,
        failure = CASE WHEN permanent THEN fail.failure ELSE job.failure || E'\n' || fail.failure END
        WHERE job.id = fail.job;
    RETURN true;
END $$;

-- Gives a job back, to be continued: nothing failed. The same worker is preferred, since it has what was measured.
CREATE OR REPLACE FUNCTION release(job bigint, attempt int) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = rbench, pg_temp AS $$
BEGIN
    UPDATE job SET state = CASE WHEN stop THEN 'cancelled' ELSE 'queued' END, beat = NULL, progress = NULL,
        ended = CASE WHEN stop THEN now() END
        WHERE job.id = release.job AND job.attempt = release.attempt AND state = 'running';
    RETURN FOUND;
END $$;

-- A worker ends.
CREATE OR REPLACE FUNCTION leave(name text, boot text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = rbench, pg_temp AS $$
    DELETE FROM worker WHERE worker.name = leave.name AND worker.boot = leave.boot
$$;

-- Cancels a job unless it has ended. A running one stops at its next beat. Returns its state before.
CREATE OR REPLACE FUNCTION cancel(job bigint) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = rbench, pg_temp AS $$
DECLARE
    before text;
BEGIN
    SELECT state INTO before FROM job WHERE job.id = cancel.job FOR UPDATE;
    IF before = 'queued' THEN
        UPDATE job SET state = 'cancelled', ended = now() WHERE job.id = cancel.job;
    ELSIF before = 'running' THEN
        UPDATE job SET stop = true WHERE job.id = cancel.job;
    END IF;
    RETURN before;
END $$;

-- Says that one of those who wait for a job waits no longer, which cancels it if nobody else does.
CREATE OR REPLACE FUNCTION withdraw(job bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = rbench, pg_temp AS $$
BEGIN
    UPDATE job SET asked = asked - 1 WHERE job.id = withdraw.job;
    PERFORM cancel(job.id) FROM job WHERE job.id = withdraw.job AND asked <= 0;
END $$;

-- Queues a comparison, unless it is queued or runs already; its priority may become higher. Back-fill that was done once
-- is not done again, so that it can be queued each night. A newer commit of the same pull request cancels the jobs of
-- older ones.
CREATE OR REPLACE FUNCTION add(about jsonb) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = rbench, pg_temp AS $$
DECLARE
    given record;
    own_project int;
    own_key text;
    added bigint;
BEGIN
    SELECT * INTO given FROM jsonb_to_record(about) AS (
        project text, class text, request text, priority text, format int, base text, head text, options text[],
        pack text);
    own_project := project_of(given.project);
    IF given.request <> '' THEN
        PERFORM cancel(job.id) FROM job
            WHERE job.project = own_project AND job.request = given.request AND state IN ('queued', 'running')
                AND job.head <> given.head ORDER BY job.id;
    END IF;
    own_key := encode(sha256(convert_to(jsonb_build_array(
        given.project, given.class, given.base, given.head, given.options)::text, 'UTF8')), 'hex');
    IF given.priority = 'back-fill' THEN
        SELECT id INTO added FROM job WHERE key = own_key AND state = 'done' ORDER BY id DESC LIMIT 1;
        IF FOUND THEN
            RETURN added;
        END IF;
    END IF;
    INSERT INTO job (project, class, key, request, priority, format, base, head, options, pack)
        VALUES (own_project, class_of(given.class), own_key, given.request,
            array_position(priorities(), given.priority) - 1, given.format, given.base, given.head, given.options,
            given.pack)
    ON CONFLICT (key) WHERE state IN ('queued', 'running')
    DO UPDATE SET priority = greatest(job.priority, excluded.priority), stop = false, asked = job.asked + 1
    RETURNING job.id INTO added;
    RETURN added;
END $$;

-- Adds a piece of a pack, before its job. Packs that no job needs any more are deleted.
CREATE OR REPLACE FUNCTION add_piece(digest text, number int, bytes bytea) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = rbench, pg_temp AS $$
    DELETE FROM pack WHERE added < now() - interval '1 h' AND NOT EXISTS (
        SELECT FROM job WHERE job.pack = pack.digest AND state IN ('queued', 'running'));
    INSERT INTO pack (digest, number, bytes) VALUES (add_piece.digest, add_piece.number, add_piece.bytes)
        ON CONFLICT DO NOTHING;
$$;

-- A piece of the pack of an attempt. Null: there is none with this number.
CREATE OR REPLACE FUNCTION piece(job bigint, attempt int, number int) RETURNS bytea
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = rbench, pg_temp AS $$
    SELECT bytes FROM job JOIN pack ON pack.digest = job.pack
    WHERE job.id = piece.job AND job.attempt = piece.attempt AND state = 'running' AND pack.number = piece.number
$$;

-- The result of a job, once it is done.
CREATE OR REPLACE FUNCTION report(job bigint) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = rbench, pg_temp AS $$
    SELECT report FROM job WHERE job.id = report.job
$$;

CREATE OR REPLACE VIEW queue AS
    SELECT job.id, project.root AS project, class.name AS class, (priorities())[priority + 1] AS priority,
        job.state, job.base, job.head, job.options, job.request, job.worker, job.attempt, job.progress, job.format, job.stop,
        job.queued, job.queued_by, job.started, job.ended, job.beat, job.failure, job.exit
    FROM job JOIN project ON project.id = job.project JOIN class ON class.id = job.class;

CREATE OR REPLACE VIEW workers AS
    SELECT worker.name, project.root AS project, class.name AS class, machine, rbench, format, job, seen,
        seen > now() - lease() AS is_alive
    FROM worker JOIN project ON project.id = worker.project JOIN class ON class.id = worker.class;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA rbench FROM PUBLIC;
GRANT USAGE ON SCHEMA rbench TO rbench_work, rbench_queue;
GRANT SELECT ON meta TO rbench_work, rbench_queue;
GRANT EXECUTE ON FUNCTION push, missing, claim, beat, finish, fail, release, leave, piece TO rbench_work;
GRANT EXECUTE ON FUNCTION add, add_piece, cancel, withdraw TO rbench_queue;
GRANT EXECUTE ON FUNCTION report TO rbench_read, rbench_queue;
GRANT EXECUTE ON FUNCTION lease, priorities TO rbench_read, rbench_work, rbench_queue; -- called by views
GRANT SELECT ON queue, workers TO rbench_read, rbench_work, rbench_queue;
