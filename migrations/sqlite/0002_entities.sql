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

-- What two entities, their facts and their mentions were before they were made one, so that it can be undone. All of it goes
-- with the row in entity_merges; what speaks of a message goes with the message, so that a deleted session leaves no copy.
CREATE TABLE merges (
    user_id    BLOB    NOT NULL,
    gone_id    BLOB    NOT NULL,
    merged_at  INTEGER NOT NULL,
    score      REAL    NOT NULL,
    reason     TEXT    NOT NULL,
    -- Row of the user's newest message then, see users.feed_head. Tells what was said since: only that may name the one that
    -- was gone and be about it without being in the record.
    feed_head  INTEGER NOT NULL,
    PRIMARY KEY (user_id, gone_id),
    FOREIGN KEY (user_id, gone_id) REFERENCES entity_merges (user_id, gone_id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- The one that went, the one that stayed, and what that became: whatever of it changed later is not undone.
CREATE TABLE merged_entities (
    user_id        BLOB    NOT NULL,
    gone_id        BLOB    NOT NULL,
    side           TEXT    NOT NULL CHECK (side IN ('gone', 'before', 'after')),
    id             BLOB    NOT NULL,
    name           TEXT    NOT NULL,
    entity_type    TEXT    NOT NULL,
    aliases        TEXT    NOT NULL,
    description    TEXT,
    mention_count  INTEGER NOT NULL,
    confidence     REAL    NOT NULL,
    is_viewer      INTEGER NOT NULL,
    first_message  BLOB,
    created_at     INTEGER NOT NULL,
    updated_at     INTEGER NOT NULL,
    PRIMARY KEY (user_id, gone_id, side),
    FOREIGN KEY (user_id, gone_id) REFERENCES merges (user_id, gone_id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- What found the one that went.
CREATE TABLE merged_keys (
    user_id  BLOB    NOT NULL,
    gone_id  BLOB    NOT NULL,
    kind     TEXT    NOT NULL CHECK (kind IN ('key', 'hint')),
    word     TEXT    NOT NULL,
    -- Whether it found the other one too. Without this the other could not be found any more after the merge is undone.
    shared   INTEGER NOT NULL CHECK (shared IN (0, 1)),
    PRIMARY KEY (user_id, gone_id, kind, word),
    FOREIGN KEY (user_id, gone_id) REFERENCES merges (user_id, gone_id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- Entities that had been merged into the one that went.
CREATE TABLE merged_earlier (
    user_id     BLOB NOT NULL,
    gone_id     BLOB NOT NULL,
    earlier_id  BLOB NOT NULL,
    PRIMARY KEY (user_id, gone_id, earlier_id),
    FOREIGN KEY (user_id, gone_id) REFERENCES merges (user_id, gone_id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE merged_mentions (
    user_id     BLOB    NOT NULL,
    gone_id     BLOB    NOT NULL,
    message_id  BLOB    NOT NULL,
    ordinal     INTEGER NOT NULL,
    PRIMARY KEY (user_id, gone_id, message_id, ordinal),
    FOREIGN KEY (user_id, gone_id) REFERENCES merges (user_id, gone_id) ON DELETE CASCADE,
    FOREIGN KEY (user_id, message_id) REFERENCES messages (user_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX merged_mentions_of_message ON merged_mentions (user_id, message_id);

-- Every fact that the merge moved, united with another, or dropped.
CREATE TABLE merged_facts (
    user_id       BLOB    NOT NULL,
    gone_id       BLOB    NOT NULL,
    id            BLOB    NOT NULL,
    subject_id    BLOB    NOT NULL,
    relation      TEXT    NOT NULL,
    object_id     BLOB    NOT NULL,
    support       REAL    NOT NULL,
    opposition    REAL    NOT NULL,
    weighed_at    INTEGER NOT NULL,
    status        TEXT    NOT NULL,
    flagged       INTEGER NOT NULL,
    valid_from    INTEGER,
    valid_to      INTEGER,
    last_support  INTEGER,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    PRIMARY KEY (user_id, gone_id, id),
    FOREIGN KEY (user_id, gone_id) REFERENCES merges (user_id, gone_id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE merged_evidence (
    user_id     BLOB    NOT NULL,
    gone_id     BLOB    NOT NULL,
    fact_id     BLOB    NOT NULL,
    message_id  BLOB    NOT NULL,
    stance      TEXT    NOT NULL,
    session_id  BLOB    NOT NULL,
    confidence  REAL    NOT NULL,
    span_start  INTEGER,
    span_end    INTEGER,
    excerpt     TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    PRIMARY KEY (user_id, gone_id, fact_id, message_id, stance),
    FOREIGN KEY (user_id, gone_id) REFERENCES merges (user_id, gone_id) ON DELETE CASCADE,
    FOREIGN KEY (user_id, message_id) REFERENCES messages (user_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX merged_evidence_of_message ON merged_evidence (user_id, message_id);
