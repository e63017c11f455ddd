-- Rows of sessions that are being deleted (0015) must not be read. Statements that read these tables read the views instead, so
-- that no statement can forget the condition; a test finds those that name a table (tests/integration/structure.rs).
--
-- With security_invoker the policies of the tables (0010) hold for whoever reads a view; without it, for the owner of the view.
-- A view has the columns that its table had when the view was made. A migration that adds a column to one of these tables also
-- repeats the statement of its view with CREATE OR REPLACE.

CREATE VIEW hidden_sessions WITH (security_invoker = true) AS SELECT user_id, id FROM sessions WHERE deletion_at IS NOT NULL;

-- For tables that have no session.
CREATE VIEW hidden_messages WITH (security_invoker = true) AS
    SELECT h.user_id, m.id FROM hidden_sessions h JOIN messages m ON m.user_id = h.user_id AND m.session_id = h.id;

CREATE VIEW visible_sessions WITH (security_invoker = true) AS SELECT * FROM sessions WHERE deletion_at IS NULL;

-- The list of hidden sessions does not depend on the row, so it is read once for a statement and not once for a row.
CREATE VIEW visible_messages WITH (security_invoker = true) AS
    SELECT * FROM messages WHERE (user_id, session_id) NOT IN (SELECT user_id, id FROM hidden_sessions);
CREATE VIEW visible_events WITH (security_invoker = true) AS
    SELECT * FROM events WHERE (user_id, session_id) NOT IN (SELECT user_id, id FROM hidden_sessions);
CREATE VIEW visible_mentions WITH (security_invoker = true) AS
    SELECT * FROM mentions WHERE (user_id, session_id) NOT IN (SELECT user_id, id FROM hidden_sessions);
CREATE VIEW visible_evidence WITH (security_invoker = true) AS
    SELECT * FROM evidence WHERE (user_id, session_id) NOT IN (SELECT user_id, id FROM hidden_sessions);
