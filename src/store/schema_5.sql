
-- What schema 5 added to schema 4. What of the machine mattered to measurements when the experiment began, for
-- people; null where nothing did.
ALTER TABLE experiment ADD COLUMN machine_state TEXT;
