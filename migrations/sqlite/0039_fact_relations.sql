-- The relation at the end: facts of some relations are found without reading the others, strongest first as before.
DROP INDEX facts_of_subject;
DROP INDEX facts_of_object;
CREATE INDEX facts_of_subject ON facts (user_id, subject_id, support DESC, id, relation);
CREATE INDEX facts_of_object ON facts (user_id, object_id, support DESC, id, relation);
-- What was known of the old ones went with them; see 0036_statistics.sql.
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('facts', 'facts_of_subject', '1000000 100000 50 5 1 1'),
    ('facts', 'facts_of_object', '1000000 100000 10 4 1 1');
ANALYZE sqlite_schema;
