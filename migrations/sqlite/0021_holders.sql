-- Whether a process holds the lease of a job. After trouble with the database the process gives back what it holds here and does
-- not work on, such as jobs that could not be given back.
ALTER TABLE jobs ADD COLUMN held INTEGER NOT NULL DEFAULT 0 CHECK (held IN (0, 1));
