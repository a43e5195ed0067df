
-- What schema 4 added to schema 3. The builds at the first of several looks; null where benchmarks are judged
-- once, after all builds.
ALTER TABLE experiment ADD COLUMN first_look INTEGER;
ALTER TABLE planned_benchmark ADD COLUMN first_look INTEGER;
