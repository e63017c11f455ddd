-- The value that a fact states of its subject, instead of an object: JSON with the fields of the value, its key and the text that
-- searches look in. Such a fact has its subject as its object, so that servers of the previous version can still read it.
ALTER TABLE facts ADD COLUMN value json;
ALTER TABLE merged_facts ADD COLUMN value json;

-- One fact per statement, and the value is a part of the statement.
DROP INDEX facts_statement;
CREATE UNIQUE INDEX facts_statement ON facts (user_id, subject_id, relation, object_id, COALESCE(value ->> 'key', ''));
