-- Set while an import fills an empty user. Until the import ends, the user cannot write: a message or a change of knowledge would
-- make the counters differ from those of the archive, and the rest of the archive could never be imported.
ALTER TABLE users ADD COLUMN importing boolean NOT NULL DEFAULT false;
