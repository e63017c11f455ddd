-- The memory of all users. Rules that hold for every table:
--   * user_id comes first in every primary and foreign key. A query that forgets the user cannot use an index, a row of
--     one user cannot point to a row of another, and the tables can later be distributed by user.
--   * Times are INTEGER milliseconds since 1970 UTC, ids are the 16 bytes of a UUID. Both compare and sort as they are.
--   * Words (role, kind, status, ...) are stored as text and checked, so that a damaged row is refused when it is
--     written and a person can read the file without our code.

-- What this installation is, once.
CREATE TABLE installation (
    id          INTEGER PRIMARY KEY CHECK (id = 1),
    -- Whose data a server without login serves. Made once; with a new one at each start all memory would be lost.
    local_user  BLOB    NOT NULL CHECK (length(local_user) = 16),
    created_at  INTEGER NOT NULL
) STRICT;

-- One row per user who ever wrote, with the counters of that user.
CREATE TABLE users (
    id                 BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    -- Row number of the newest message. Drawn in the transaction that stores the message: an index that has read up to
    -- row n never misses a smaller row that becomes visible later.
    feed_head          INTEGER NOT NULL DEFAULT 0,
    -- Grows when messages are deleted. Without it an index in memory would go on finding them.
    feed_generation    INTEGER NOT NULL DEFAULT 0,
    -- Grows with each commit of knowledge. Two workers that decided from the same state cannot both commit.
    knowledge_version  INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (
    user_id          BLOB    NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    id               BLOB    NOT NULL CHECK (length(id) = 16),
    title            TEXT,
    created_at       INTEGER NOT NULL,
    -- When the last message was stored: lists show the latest conversation first.
    updated_at       INTEGER NOT NULL,
    -- Also the position of the newest message. A counter and not MAX(position), so that two writers cannot draw one number.
    message_count    INTEGER NOT NULL DEFAULT 0,
    -- Names the event log. A client at event 3 of another log would otherwise take event 4 of this one and miss 1 to 3.
    epoch            TEXT    NOT NULL,
    -- Number of the newest event. A counter that lives as long as the session: pruned numbers are never given again.
    event_head       INTEGER NOT NULL DEFAULT 0,
    -- Number of the oldest event still there, event_head + 1 when there is none. Without it a client could not tell
    -- "nothing new" from "what you missed is gone".
    event_floor      INTEGER NOT NULL DEFAULT 1,
    -- When the oldest event still there was recorded. Finds logs to be pruned without reading them.
    oldest_event_at  INTEGER,
    PRIMARY KEY (user_id, id),
    CHECK (event_floor BETWEEN 1 AND event_head + 1)
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_latest ON sessions (user_id, updated_at, id);
-- These two serve pruning, which works for all users at once.
CREATE INDEX sessions_log_age ON sessions (oldest_event_at) WHERE oldest_event_at IS NOT NULL;
CREATE INDEX sessions_log_length ON sessions (event_head - event_floor);

CREATE TABLE messages (
    user_id          BLOB    NOT NULL,
    id               BLOB    NOT NULL CHECK (length(id) = 16),
    session_id       BLOB    NOT NULL,
    position         INTEGER NOT NULL,
    -- The user-wide order in which messages became visible; see users.feed_head.
    feed_row         INTEGER NOT NULL,
    role             TEXT    NOT NULL CHECK (role IN ('user', 'assistant')),
    speaker          TEXT,
    text             TEXT    NOT NULL,
    kind             TEXT    CHECK (kind IN ('statement', 'question', 'mixed', 'other')),
    status           TEXT    NOT NULL CHECK (status IN ('processing', 'processed', 'failed')),
    -- When it was said, which an import sets to the past; created_at is when it was stored.
    sent_at          INTEGER NOT NULL,
    created_at       INTEGER NOT NULL,
    source_metadata  TEXT,
    -- The client's id. Unique in its session, so that a request sent twice stores one message.
    external_id      TEXT,
    -- The question this message answers. No foreign key: both lie in one session and go together.
    answer_to        BLOB,
    -- JSON array. Citations are only ever read and written with their answer.
    citations        TEXT    NOT NULL DEFAULT '[]',
    PRIMARY KEY (user_id, id),
    FOREIGN KEY (user_id, session_id) REFERENCES sessions (user_id, id) ON DELETE CASCADE
) STRICT;
CREATE UNIQUE INDEX messages_position ON messages (user_id, session_id, position);
CREATE UNIQUE INDEX messages_feed ON messages (user_id, feed_row);
CREATE UNIQUE INDEX messages_external ON messages (user_id, session_id, external_id) WHERE external_id IS NOT NULL;
CREATE INDEX messages_answers ON messages (user_id, answer_to) WHERE answer_to IS NOT NULL;

-- What retrieval needs of a message. A table of its own, so that reading conversations does not drag vectors along.
CREATE TABLE message_index (
    user_id     BLOB NOT NULL,
    message_id  BLOB NOT NULL,
    -- Which model made the vector. Vectors of two models must never be compared.
    model       TEXT NOT NULL,
    -- JSON array of [term, count].
    terms       TEXT NOT NULL,
    -- f32, little endian, as sqlite-vec reads it.
    embedding   BLOB NOT NULL,
    PRIMARY KEY (user_id, message_id),
    FOREIGN KEY (user_id, message_id) REFERENCES messages (user_id, id) ON DELETE CASCADE
) STRICT;

-- The numbered log of each session.
CREATE TABLE events (
    user_id     BLOB    NOT NULL,
    session_id  BLOB    NOT NULL,
    -- Drawn from sessions.event_head in the same transaction: no holes, and visible in order.
    seq         INTEGER NOT NULL,
    id          BLOB    NOT NULL CHECK (length(id) = 16),
    kind        TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    -- The body as clients get it. Kept as sent, so that a replay equals the first delivery.
    data        TEXT    NOT NULL,
    PRIMARY KEY (user_id, session_id, seq),
    FOREIGN KEY (user_id, session_id) REFERENCES sessions (user_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE entities (
    user_id        BLOB    NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    id             BLOB    NOT NULL CHECK (length(id) = 16),
    name           TEXT    NOT NULL,
    entity_type    TEXT    NOT NULL
                   CHECK (entity_type IN ('person', 'organization', 'place', 'project', 'tool', 'concept', 'event', 'thing')),
    -- JSON array of names.
    aliases        TEXT    NOT NULL,
    description    TEXT,
    mention_count  INTEGER NOT NULL,
    confidence     REAL    NOT NULL,
    is_viewer      INTEGER NOT NULL CHECK (is_viewer IN (0, 1)),
    first_message  BLOB,
    -- Name and aliases in lower case, one a line. SQLite folds ASCII only; "Émile" would not be found by "émile".
    search         TEXT    NOT NULL,
    created_at     INTEGER NOT NULL,
    updated_at     INTEGER NOT NULL,
    PRIMARY KEY (user_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX entities_most_mentioned ON entities (user_id, mention_count, id);
-- "I" must mean one node: two of them would split what is known of the user.
CREATE UNIQUE INDEX entities_viewer ON entities (user_id) WHERE is_viewer = 1;

-- The forms under which an entity is found again.
CREATE TABLE entity_keys (
    user_id    BLOB NOT NULL,
    key        TEXT NOT NULL,
    entity_id  BLOB NOT NULL,
    -- One key may find several entities: there is more than one Paris.
    PRIMARY KEY (user_id, key, entity_id),
    FOREIGN KEY (user_id, entity_id) REFERENCES entities (user_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX entity_keys_by_entity ON entity_keys (user_id, entity_id);

-- Entities that are no more. Clients keep ids; without this an old link would show nothing.
CREATE TABLE entity_merges (
    user_id  BLOB NOT NULL,
    gone_id  BLOB NOT NULL,
    -- Always one that exists: a merge of a merge rewrites the older rows.
    into_id  BLOB NOT NULL,
    PRIMARY KEY (user_id, gone_id),
    FOREIGN KEY (user_id, into_id) REFERENCES entities (user_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX entity_merges_into ON entity_merges (user_id, into_id);

-- Where messages name entities.
CREATE TABLE mentions (
    user_id      BLOB    NOT NULL,
    message_id   BLOB    NOT NULL,
    -- Order of appearance in the message, from 0.
    ordinal      INTEGER NOT NULL,
    entity_id    BLOB    NOT NULL,
    session_id   BLOB    NOT NULL,
    -- The message's sent_at. Lists of an entity's mentions are ordered by it without visiting the messages.
    said_at      INTEGER NOT NULL,
    name         TEXT    NOT NULL,
    entity_type  TEXT    NOT NULL,
    span_start   INTEGER NOT NULL,
    span_end     INTEGER NOT NULL,
    confidence   REAL    NOT NULL,
    description  TEXT,
    PRIMARY KEY (user_id, message_id, ordinal),
    FOREIGN KEY (user_id, message_id) REFERENCES messages (user_id, id) ON DELETE CASCADE,
    FOREIGN KEY (user_id, entity_id) REFERENCES entities (user_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX mentions_of_entity ON mentions (user_id, entity_id, said_at, message_id, ordinal);
CREATE INDEX mentions_in_session ON mentions (user_id, session_id, entity_id);

CREATE TABLE facts (
    user_id       BLOB    NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    id            BLOB    NOT NULL CHECK (length(id) = 16),
    subject_id    BLOB    NOT NULL,
    relation      TEXT    NOT NULL,
    object_id     BLOB    NOT NULL,
    -- Discounted sums as of weighed_at; what they are now is computed when read.
    support       REAL    NOT NULL CHECK (support >= 0),
    opposition    REAL    NOT NULL CHECK (opposition >= 0),
    weighed_at    INTEGER NOT NULL,
    status        TEXT    NOT NULL CHECK (status IN ('active', 'ended', 'retracted')),
    flagged       INTEGER NOT NULL CHECK (flagged IN (0, 1)),
    valid_from    INTEGER,
    valid_to      INTEGER,
    last_support  INTEGER,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    PRIMARY KEY (user_id, id),
    FOREIGN KEY (user_id, subject_id) REFERENCES entities (user_id, id),
    FOREIGN KEY (user_id, object_id) REFERENCES entities (user_id, id)
) STRICT, WITHOUT ROWID;
-- One fact per statement: weight that is spread over two rows would count for less than it is.
CREATE UNIQUE INDEX facts_statement ON facts (user_id, subject_id, relation, object_id);
-- By strength, so that the strongest facts of a thing with thousands of them are read without the others.
CREATE INDEX facts_of_subject ON facts (user_id, subject_id, support DESC, id);
CREATE INDEX facts_of_object ON facts (user_id, object_id, support DESC, id);
CREATE INDEX facts_latest ON facts (user_id, updated_at, id);

CREATE TABLE evidence (
    user_id     BLOB    NOT NULL,
    fact_id     BLOB    NOT NULL,
    message_id  BLOB    NOT NULL,
    stance      TEXT    NOT NULL CHECK (stance IN ('supports', 'opposes', 'ends')),
    session_id  BLOB    NOT NULL,
    confidence  REAL    NOT NULL,
    span_start  INTEGER,
    span_end    INTEGER,
    excerpt     TEXT    NOT NULL,
    -- When the message was said.
    created_at  INTEGER NOT NULL,
    -- A message counts once per stance, however often its job runs.
    PRIMARY KEY (user_id, fact_id, message_id, stance),
    FOREIGN KEY (user_id, fact_id) REFERENCES facts (user_id, id) ON DELETE CASCADE,
    FOREIGN KEY (user_id, message_id) REFERENCES messages (user_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX evidence_latest ON evidence (user_id, fact_id, created_at, message_id, stance);
CREATE INDEX evidence_in_message ON evidence (user_id, message_id, fact_id);
CREATE INDEX evidence_in_session ON evidence (user_id, session_id, fact_id);

-- The durable queue. A lane is one kind of work of one session; its jobs run in order of id, one at a time.
CREATE TABLE jobs (
    -- AUTOINCREMENT: the number of a finished job is never given again, or a late worker could commit for another job.
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id     BLOB    NOT NULL,
    session_id  BLOB    NOT NULL,
    lane        TEXT    NOT NULL CHECK (lane IN ('understand', 'answer')),
    message_id  BLOB    NOT NULL,
    -- Whether the message is to be answered if it turns out to ask. Questions in a recorded conversation are not.
    answer      INTEGER NOT NULL DEFAULT 0 CHECK (answer IN (0, 1)),
    -- The caller's role when the job was queued; it runs with that.
    role        TEXT    NOT NULL CHECK (role IN ('admin', 'user', 'anonymous')),
    -- 'dead' is a dead letter: kept for operators, in nobody's way.
    state       TEXT    NOT NULL DEFAULT 'live' CHECK (state IN ('live', 'dead')),
    -- 1 for the first live job of its lane, the only one that may be claimed. Without it, claiming would have to skip
    -- over each of 100,000 jobs that wait behind a running one.
    head        INTEGER NOT NULL CHECK (head IN (0, 1)),
    -- When it may be claimed: when it is due, or when the lease on it ends.
    ready_at    INTEGER NOT NULL,
    -- Another number after every claim, release and retry. A worker whose lease went to another cannot commit with the old one.
    token       INTEGER NOT NULL DEFAULT 0,
    attempts    INTEGER NOT NULL DEFAULT 0,
    queued_at   INTEGER NOT NULL,
    -- Why it failed the last time. A stable code, never text of users.
    code        TEXT,
    CHECK (head = 0 OR state = 'live'),
    FOREIGN KEY (user_id, session_id) REFERENCES sessions (user_id, id) ON DELETE CASCADE,
    FOREIGN KEY (user_id, message_id) REFERENCES messages (user_id, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX jobs_ready ON jobs (ready_at, id) WHERE head = 1;
CREATE INDEX jobs_in_lane ON jobs (user_id, session_id, lane, id) WHERE state = 'live';
CREATE UNIQUE INDEX jobs_one_head ON jobs (user_id, session_id, lane) WHERE head = 1;
CREATE INDEX jobs_dead ON jobs (id) WHERE state = 'dead';
CREATE INDEX jobs_of_message ON jobs (user_id, message_id);
CREATE INDEX jobs_of_session ON jobs (user_id, session_id);
