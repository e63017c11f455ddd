-- A large session is deleted in steps: first it is hidden, then its rows go, a bounded number at a time.

-- When the session was hidden, or the last step made; NULL for every session that is there. Whoever finds an old one goes on.
ALTER TABLE sessions ADD COLUMN deletion_at timestamptz;
-- JSON object: what went with it so far.
ALTER TABLE sessions ADD COLUMN deletion json;
-- Hardly ever is there one, and every reading statement asks.
CREATE INDEX sessions_hidden ON sessions (user_id, id) WHERE deletion_at IS NOT NULL;
CREATE INDEX sessions_deletions ON sessions (deletion_at) WHERE deletion_at IS NOT NULL;

-- Users take turns: the next one who has something to be done is found without looking at what others have.
CREATE INDEX jobs_in_turn ON jobs (user_id, ready_at, id) WHERE head;
