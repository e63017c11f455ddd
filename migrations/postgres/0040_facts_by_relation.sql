-- Facts of a relation are found without reading those of the others. The old indexes go last, because their removal keeps the previous version
-- from reading until the migration is committed.
CREATE INDEX facts_of_subject_and_relation ON facts (user_id, subject_id, relation, support DESC, id);
CREATE INDEX facts_of_object_and_relation ON facts (user_id, object_id, relation, support DESC, id);
CREATE INDEX facts_of_subject_alone ON facts (user_id, subject_id, support DESC, id);
CREATE INDEX facts_of_object_alone ON facts (user_id, object_id, support DESC, id);
DROP INDEX facts_of_subject;
DROP INDEX facts_of_object;
ALTER INDEX facts_of_subject_alone RENAME TO facts_of_subject;
ALTER INDEX facts_of_object_alone RENAME TO facts_of_object;
