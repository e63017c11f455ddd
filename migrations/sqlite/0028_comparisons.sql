-- Comparisons of documents. A comparison is stored as a session of its own with the same id, whose only message holds its question, so
-- events and deletion need no second form. Its session has the flag `document`, because it is no conversation either; its job has this flag
-- in the lane `answer`.
CREATE TABLE comparisons (
    user_id     BLOB    NOT NULL,
    id          BLOB    NOT NULL,
    question    TEXT,
    -- JSON array of the ids of the documents, in the order of the user. Some may belong to shared memory, so there is no foreign key.
    documents   TEXT    NOT NULL,
    status      TEXT    NOT NULL CHECK (status IN ('pending', 'processing', 'completed', 'failed')),
    error       TEXT,
    done        INTEGER NOT NULL DEFAULT 0,
    -- 0 until the passages are selected.
    total       INTEGER NOT NULL DEFAULT 0,
    comparer    TEXT,
    -- JSON array of the passages that are still to be compared. Without it, a restart would select other passages than the steps before.
    passages    TEXT    NOT NULL DEFAULT '[]',
    -- JSON array of what was found so far.
    points      TEXT    NOT NULL DEFAULT '[]',
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    PRIMARY KEY (user_id, id),
    FOREIGN KEY (user_id, id) REFERENCES sessions (user_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX comparisons_latest ON comparisons (user_id, created_at, id);

-- Comparisons under deletion must not be read.
CREATE VIEW visible_comparisons AS
    SELECT user_id, id, question, documents, status, error, done, total, comparer, passages, points, created_at, updated_at
    FROM comparisons WHERE (user_id, id) NOT IN (SELECT user_id, id FROM hidden_sessions);
