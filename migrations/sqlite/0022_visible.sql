-- Rows of sessions that are being deleted (0015) must not be read. Statements that read these tables read the views instead, so
-- that no statement can forget the condition; a test finds those that name a table (tests/integration/structure.rs).
--
-- A view has the columns that its table has when the statement is prepared. A migration that renames or rebuilds one of these
-- tables drops its view first and creates it again.

-- Names the index because SQLite, without statistics, would read all sessions of the user.
CREATE VIEW hidden_sessions AS SELECT user_id, id FROM sessions INDEXED BY sessions_hidden WHERE deletion_at IS NOT NULL;

-- For tables that have no session. Usually there is no hidden session, so the join starts there.
CREATE VIEW hidden_messages AS
    SELECT h.user_id, m.id FROM hidden_sessions h CROSS JOIN messages m WHERE m.user_id = h.user_id AND m.session_id = h.id;

CREATE VIEW visible_sessions AS SELECT * FROM sessions WHERE deletion_at IS NULL;

-- The list of hidden sessions does not depend on the row, so it is read once for a statement and not once for a row.
CREATE VIEW visible_messages AS SELECT * FROM messages WHERE (user_id, session_id) NOT IN (SELECT user_id, id FROM hidden_sessions);
CREATE VIEW visible_events AS SELECT * FROM events WHERE (user_id, session_id) NOT IN (SELECT user_id, id FROM hidden_sessions);
CREATE VIEW visible_mentions AS SELECT * FROM mentions WHERE (user_id, session_id) NOT IN (SELECT user_id, id FROM hidden_sessions);
CREATE VIEW visible_evidence AS SELECT * FROM evidence WHERE (user_id, session_id) NOT IN (SELECT user_id, id FROM hidden_sessions);
