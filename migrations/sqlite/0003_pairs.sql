-- What two entities have to do with each other. The index of statements has the relation between them, so that a person of whom
-- much is known had to be read whole for it.
CREATE INDEX facts_of_pair ON facts (user_id, subject_id, object_id);
