-- The relation at the end: facts of some relations are found without reading the others, strongest first as before.
-- The old indexes go last, because their removal keeps the previous version from reading until the migration is committed.
CREATE INDEX facts_of_subject_with_relation ON facts (user_id, subject_id, support DESC, id, relation);
CREATE INDEX facts_of_object_with_relation ON facts (user_id, object_id, support DESC, id, relation);
DROP INDEX facts_of_subject;
DROP INDEX facts_of_object;
ALTER INDEX facts_of_subject_with_relation RENAME TO facts_of_subject;
ALTER INDEX facts_of_object_with_relation RENAME TO facts_of_object;
