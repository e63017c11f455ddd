-- Events become a table with row numbers. A row has several hundred bytes, and without row numbers the inner pages of the tree hold
-- whole rows, so one event changed five pages. Now it is appended, and the index holds only its key.
DROP VIEW visible_events;

CREATE TABLE events_by_row (
    user_id     BLOB    NOT NULL,
    session_id  BLOB    NOT NULL,
    seq         INTEGER NOT NULL,
    id          BLOB    NOT NULL CHECK (length(id) = 16),
    kind        TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    data        TEXT    NOT NULL,
    PRIMARY KEY (user_id, session_id, seq),
    FOREIGN KEY (user_id, session_id) REFERENCES sessions (user_id, id) ON DELETE CASCADE
) STRICT;
INSERT INTO events_by_row (user_id, session_id, seq, id, kind, created_at, data)
    SELECT user_id, session_id, seq, id, kind, created_at, data FROM events;
DROP TABLE events;
ALTER TABLE events_by_row RENAME TO events;

CREATE VIEW visible_events AS SELECT * FROM events WHERE (user_id, session_id) NOT IN (SELECT user_id, id FROM hidden_sessions);
