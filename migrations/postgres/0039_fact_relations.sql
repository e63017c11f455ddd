-- The relation at the end: facts of some relations are found without reading the others, strongest first as before.
DROP INDEX facts_of_subject;
DROP INDEX facts_of_object;
CREATE INDEX facts_of_subject ON facts (user_id, subject_id, support DESC, id, relation);
CREATE INDEX facts_of_object ON facts (user_id, object_id, support DESC, id, relation);
