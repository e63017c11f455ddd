-- Who is meant, why, and how to undo it when two entities were made one.

-- Why a mention means its entity, 0 to 1 and in words without text of the user's. NULL for mentions from before.
ALTER TABLE mentions ADD COLUMN score REAL;
ALTER TABLE mentions ADD COLUMN reason TEXT;

-- Parts of names: "schmidt" of "Anna Schmidt", the initials of a long name, "=friend" for whom the user calls a friend. Not in
-- entity_keys, because a key finds for certain and a part only where something else speaks for it too.
CREATE TABLE entity_hints (
    user_id    BLOB NOT NULL,
    hint       TEXT NOT NULL,
    entity_id  BLOB NOT NULL,
    PRIMARY KEY (user_id, hint, entity_id),
    FOREIGN KEY (user_id, entity_id) REFERENCES entities (user_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX entity_hints_by_entity ON entity_hints (user_id, entity_id);

-- The given and family names of people known before.
WITH RECURSIVE parts (user_id, entity_id, word, rest) AS (
    SELECT k.user_id, k.entity_id, '', k.key || ' '
    FROM entity_keys k JOIN entities e ON e.user_id = k.user_id AND e.id = k.entity_id
    WHERE e.entity_type = 'person' AND instr(k.key, ' ') > 0
    UNION ALL
    SELECT user_id, entity_id, substr(rest, 1, instr(rest, ' ') - 1), substr(rest, instr(rest, ' ') + 1) FROM parts WHERE rest <> ''
)
INSERT INTO entity_hints (user_id, hint, entity_id)
SELECT DISTINCT user_id, word, entity_id FROM parts WHERE length(word) > 1;
