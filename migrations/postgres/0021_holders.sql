-- Which process holds the lease of a job; NULL when none does. After trouble with the database a process gives back what it holds
-- here and does not work on, such as jobs whose claim was committed but never confirmed.
ALTER TABLE jobs ADD COLUMN holder uuid;
