-- The memory of all users. Rules that hold for every table:
--   * user_id comes first in every primary and foreign key. A query that forgets the user cannot use an index, a row of
--     one user cannot point to a row of another, and the tables can be hash-partitioned or distributed by user.
--   * Times are whole milliseconds: what a program reads back is what it wrote.
--   * Words (role, kind, status, ...) are text and checked, so that a damaged row is refused when it is written.
--   * What is compared or sorted as text is so by its bytes (COLLATE "C"), the same on every server and in every locale.
--   * JSON is `json` and not `jsonb` where users' values are kept: jsonb refuses U+0000 and rewrites numbers, and a replay must
--     equal the first delivery. In other text U+0000, which PostgreSQL has not, is escaped by the program.

-- A trusted extension: the owner of the database may make it.
CREATE EXTENSION IF NOT EXISTS vector;

-- What this installation is, once.
CREATE TABLE installation (
    id          integer     PRIMARY KEY CHECK (id = 1),
    -- Whose data a server without login serves. Made once; with a new one at each start all memory would be lost.
    local_user  uuid        NOT NULL DEFAULT gen_random_uuid(),
    created_at  timestamptz NOT NULL
);

-- One row per user who ever wrote, with the counters of that user.
CREATE TABLE users (
    id                 uuid   NOT NULL PRIMARY KEY,
    -- Row number of the newest message. A counter in a locked row and not a sequence: rows become visible in the order of
    -- their numbers, so an index that has read up to row n never misses a smaller one that is committed later.
    feed_head          bigint NOT NULL DEFAULT 0,
    -- Grows when messages are deleted. Without it an index in memory would go on finding them.
    feed_generation    bigint NOT NULL DEFAULT 0,
    -- Grows with each commit of knowledge. Two workers that decided from the same state cannot both commit.
    knowledge_version  bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);  -- Updated all the time, in place as long as its page has room.

CREATE TABLE sessions (
    user_id          uuid        NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    id               uuid        NOT NULL,
    title            text,
    created_at       timestamptz NOT NULL,
    -- When the last message was stored: lists show the latest conversation first.
    updated_at       timestamptz NOT NULL,
    -- Also the position of the newest message. A counter and not max(position), so that two writers cannot draw one number.
    message_count    bigint      NOT NULL DEFAULT 0,
    -- Names the event log. A client at event 3 of another log would otherwise take event 4 of this one and miss 1 to 3.
    epoch            text        NOT NULL,
    -- Number of the newest event. A counter that lives as long as the session: pruned numbers are never given again.
    event_head       bigint      NOT NULL DEFAULT 0,
    -- Number of the oldest event still there, event_head + 1 when there is none. Without it a client could not tell
    -- "nothing new" from "what you missed is gone".
    event_floor      bigint      NOT NULL DEFAULT 1,
    -- When the oldest event still there was recorded. Finds logs to be pruned without reading them.
    oldest_event_at  timestamptz,
    PRIMARY KEY (user_id, id),
    CHECK (event_floor BETWEEN 1 AND event_head + 1)
) WITH (fillfactor = 70);
CREATE INDEX sessions_latest ON sessions (user_id, updated_at, id);
-- These two serve pruning, which works for all users at once.
CREATE INDEX sessions_log_age ON sessions (oldest_event_at) WHERE oldest_event_at IS NOT NULL;
CREATE INDEX sessions_log_length ON sessions ((event_head - event_floor)) WHERE oldest_event_at IS NOT NULL;

CREATE TABLE messages (
    user_id          uuid        NOT NULL,
    id               uuid        NOT NULL,
    session_id       uuid        NOT NULL,
    position         bigint      NOT NULL,
    -- The user-wide order in which messages became visible; see users.feed_head.
    feed_row         bigint      NOT NULL,
    role             text        NOT NULL CHECK (role IN ('user', 'assistant')),
    speaker          text,
    text             text        NOT NULL,
    kind             text        CHECK (kind IN ('statement', 'question', 'mixed', 'other')),
    status           text        NOT NULL CHECK (status IN ('processing', 'processed', 'failed')),
    -- When it was said, which an import sets to the past; created_at is when it was stored.
    sent_at          timestamptz NOT NULL,
    created_at       timestamptz NOT NULL,
    source_metadata  json,
    -- The client's id. Unique in its session, so that a request sent twice stores one message.
    external_id      text        COLLATE "C",
    -- The question this message answers. No foreign key: both lie in one session and go together.
    answer_to        uuid,
    -- Citations are only ever read and written with their answer.
    citations        json        NOT NULL DEFAULT '[]',
    PRIMARY KEY (user_id, id),
    FOREIGN KEY (user_id, session_id) REFERENCES sessions (user_id, id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX messages_position ON messages (user_id, session_id, position);
CREATE UNIQUE INDEX messages_feed ON messages (user_id, feed_row);
CREATE UNIQUE INDEX messages_external ON messages (user_id, session_id, external_id) WHERE external_id IS NOT NULL;
CREATE INDEX messages_answers ON messages (user_id, answer_to) WHERE answer_to IS NOT NULL;

-- What retrieval needs of a message. A table of its own, so that reading conversations does not drag vectors along.
CREATE TABLE message_index (
    user_id     uuid    NOT NULL,
    message_id  uuid    NOT NULL,
    -- Which model made the vector. Vectors of two models must never be compared.
    model       text    NOT NULL,
    -- Array of [term, count].
    terms       json    NOT NULL,
    -- Without a fixed dimension: that belongs to the model, and two may be stored side by side while one replaces the other.
    embedding   vector,
    -- 0 when there is none. A column, because a distance between vectors of two dimensions is an error.
    dimensions  integer NOT NULL,
    PRIMARY KEY (user_id, message_id),
    FOREIGN KEY (user_id, message_id) REFERENCES messages (user_id, id) ON DELETE CASCADE,
    CHECK (dimensions = CASE WHEN embedding IS NULL THEN 0 ELSE vector_dims(embedding) END)
);

-- The numbered log of each session.
CREATE TABLE events (
    user_id     uuid        NOT NULL,
    session_id  uuid        NOT NULL,
    -- Drawn from sessions.event_head in the same transaction: no holes, and visible in order.
    seq         bigint      NOT NULL,
    id          uuid        NOT NULL,
    kind        text        NOT NULL,
    created_at  timestamptz NOT NULL,
    -- The body as clients get it. Kept as sent, so that a replay equals the first delivery.
    data        json        NOT NULL,
    PRIMARY KEY (user_id, session_id, seq),
    FOREIGN KEY (user_id, session_id) REFERENCES sessions (user_id, id) ON DELETE CASCADE
);

CREATE TABLE entities (
    user_id        uuid             NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    id             uuid             NOT NULL,
    name           text             NOT NULL,
    entity_type    text             NOT NULL
                   CHECK (entity_type IN ('person', 'organization', 'place', 'project', 'tool', 'concept', 'event', 'thing')),
    -- Array of names.
    aliases        json             NOT NULL,
    description    text,
    mention_count  bigint           NOT NULL,
    confidence     double precision NOT NULL,
    is_viewer      boolean          NOT NULL,
    first_message  uuid,
    -- Name and aliases in lower case, one a line. Folded by the program, the same for every engine and locale.
    search         text             NOT NULL,
    created_at     timestamptz      NOT NULL,
    updated_at     timestamptz      NOT NULL,
    PRIMARY KEY (user_id, id)
);
CREATE INDEX entities_most_mentioned ON entities (user_id, mention_count, id);
-- "I" must mean one node: two of them would split what is known of the user.
CREATE UNIQUE INDEX entities_viewer ON entities (user_id) WHERE is_viewer;

-- The forms under which an entity is found again.
CREATE TABLE entity_keys (
    user_id    uuid NOT NULL,
    key        text COLLATE "C" NOT NULL,
    entity_id  uuid NOT NULL,
    -- One key may find several entities: there is more than one Paris.
    PRIMARY KEY (user_id, key, entity_id),
    FOREIGN KEY (user_id, entity_id) REFERENCES entities (user_id, id) ON DELETE CASCADE
);
CREATE INDEX entity_keys_by_entity ON entity_keys (user_id, entity_id);

-- Parts of names: "schmidt" of "Anna Schmidt", the initials of a long name, "=friend" for whom the user calls a friend. Not in
-- entity_keys, because a key finds for certain and a part only where something else speaks for it too.
CREATE TABLE entity_hints (
    user_id    uuid NOT NULL,
    hint       text COLLATE "C" NOT NULL,
    entity_id  uuid NOT NULL,
    PRIMARY KEY (user_id, hint, entity_id),
    FOREIGN KEY (user_id, entity_id) REFERENCES entities (user_id, id) ON DELETE CASCADE
);
CREATE INDEX entity_hints_by_entity ON entity_hints (user_id, entity_id);

-- Entities that are no more. Clients keep ids; without this an old link would show nothing.
CREATE TABLE entity_merges (
    user_id  uuid NOT NULL,
    gone_id  uuid NOT NULL,
    -- Always one that exists: a merge of a merge rewrites the older rows.
    into_id  uuid NOT NULL,
    PRIMARY KEY (user_id, gone_id),
    FOREIGN KEY (user_id, into_id) REFERENCES entities (user_id, id) ON DELETE CASCADE
);
CREATE INDEX entity_merges_into ON entity_merges (user_id, into_id);

-- Where messages name entities.
CREATE TABLE mentions (
    user_id      uuid             NOT NULL,
    message_id   uuid             NOT NULL,
    -- Order of appearance in the message, from 0.
    ordinal      bigint           NOT NULL,
    entity_id    uuid             NOT NULL,
    session_id   uuid             NOT NULL,
    -- The message's sent_at. Lists of an entity's mentions are ordered by it without visiting the messages.
    said_at      timestamptz      NOT NULL,
    name         text             NOT NULL,
    entity_type  text             NOT NULL,
    span_start   bigint           NOT NULL,
    span_end     bigint           NOT NULL,
    confidence   double precision NOT NULL,
    description  text,
    -- Why it means its entity, 0 to 1 and in words without text of the user's. NULL when nobody decided.
    score        double precision,
    reason       text,
    PRIMARY KEY (user_id, message_id, ordinal),
    FOREIGN KEY (user_id, message_id) REFERENCES messages (user_id, id) ON DELETE CASCADE,
    FOREIGN KEY (user_id, entity_id) REFERENCES entities (user_id, id) ON DELETE CASCADE
);
CREATE INDEX mentions_of_entity ON mentions (user_id, entity_id, said_at, message_id, ordinal);
CREATE INDEX mentions_in_session ON mentions (user_id, session_id, entity_id);

CREATE TABLE facts (
    user_id       uuid             NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    id            uuid             NOT NULL,
    subject_id    uuid             NOT NULL,
    relation      text             COLLATE "C" NOT NULL,
    object_id     uuid             NOT NULL,
    -- Discounted sums as of weighed_at; what they are now is computed when read.
    support       double precision NOT NULL CHECK (support >= 0),
    opposition    double precision NOT NULL CHECK (opposition >= 0),
    weighed_at    timestamptz      NOT NULL,
    status        text             NOT NULL CHECK (status IN ('active', 'ended', 'retracted')),
    flagged       boolean          NOT NULL,
    valid_from    timestamptz,
    valid_to      timestamptz,
    last_support  timestamptz,
    created_at    timestamptz      NOT NULL,
    updated_at    timestamptz      NOT NULL,
    PRIMARY KEY (user_id, id),
    FOREIGN KEY (user_id, subject_id) REFERENCES entities (user_id, id),
    FOREIGN KEY (user_id, object_id) REFERENCES entities (user_id, id)
);
-- One fact per statement: weight that is spread over two rows would count for less than it is.
CREATE UNIQUE INDEX facts_statement ON facts (user_id, subject_id, relation, object_id);
-- What two entities have to do with each other. The index of statements has the relation between them, so that a person of whom
-- much is known had to be read whole for it.
CREATE INDEX facts_of_pair ON facts (user_id, subject_id, object_id);
-- By strength, so that the strongest facts of a thing with thousands of them are read without the others.
CREATE INDEX facts_of_subject ON facts (user_id, subject_id, support DESC, id);
CREATE INDEX facts_of_object ON facts (user_id, object_id, support DESC, id);
CREATE INDEX facts_latest ON facts (user_id, updated_at, id);

CREATE TABLE evidence (
    user_id     uuid             NOT NULL,
    fact_id     uuid             NOT NULL,
    message_id  uuid             NOT NULL,
    stance      text             COLLATE "C" NOT NULL CHECK (stance IN ('supports', 'opposes', 'ends')),
    session_id  uuid             NOT NULL,
    confidence  double precision NOT NULL,
    span_start  bigint,
    span_end    bigint,
    excerpt     text             NOT NULL,
    -- When the message was said.
    created_at  timestamptz      NOT NULL,
    -- A message counts once per stance, however often its job runs.
    PRIMARY KEY (user_id, fact_id, message_id, stance),
    FOREIGN KEY (user_id, fact_id) REFERENCES facts (user_id, id) ON DELETE CASCADE,
    FOREIGN KEY (user_id, message_id) REFERENCES messages (user_id, id) ON DELETE CASCADE
);
CREATE INDEX evidence_latest ON evidence (user_id, fact_id, created_at, message_id, stance);
CREATE INDEX evidence_in_message ON evidence (user_id, message_id, fact_id);
CREATE INDEX evidence_in_session ON evidence (user_id, session_id, fact_id);

-- What two entities, their facts and their mentions were before they were made one, so that it can be undone. All of it goes
-- with the row in entity_merges; what speaks of a message goes with the message, so that a deleted session leaves no copy.
CREATE TABLE merges (
    user_id    uuid             NOT NULL,
    gone_id    uuid             NOT NULL,
    merged_at  timestamptz      NOT NULL,
    score      double precision NOT NULL,
    reason     text             NOT NULL,
    -- Row of the user's newest message then, see users.feed_head. Tells what was said since: only that may name the one that
    -- was gone and be about it without being in the record.
    feed_head  bigint           NOT NULL,
    PRIMARY KEY (user_id, gone_id),
    FOREIGN KEY (user_id, gone_id) REFERENCES entity_merges (user_id, gone_id) ON DELETE CASCADE
);

-- The one that went, the one that stayed, and what that became: whatever of it changed later is not undone.
CREATE TABLE merged_entities (
    user_id        uuid             NOT NULL,
    gone_id        uuid             NOT NULL,
    side           text             NOT NULL CHECK (side IN ('gone', 'before', 'after')),
    id             uuid             NOT NULL,
    name           text             NOT NULL,
    entity_type    text             NOT NULL,
    aliases        json             NOT NULL,
    description    text,
    mention_count  bigint           NOT NULL,
    confidence     double precision NOT NULL,
    is_viewer      boolean          NOT NULL,
    first_message  uuid,
    created_at     timestamptz      NOT NULL,
    updated_at     timestamptz      NOT NULL,
    PRIMARY KEY (user_id, gone_id, side),
    FOREIGN KEY (user_id, gone_id) REFERENCES merges (user_id, gone_id) ON DELETE CASCADE
);

-- What found the one that went.
CREATE TABLE merged_keys (
    user_id  uuid    NOT NULL,
    gone_id  uuid    NOT NULL,
    kind     text    NOT NULL CHECK (kind IN ('key', 'hint')),
    word     text    COLLATE "C" NOT NULL,
    -- Whether it found the other one too. Without this the other could not be found any more after the merge is undone.
    shared   boolean NOT NULL,
    PRIMARY KEY (user_id, gone_id, kind, word),
    FOREIGN KEY (user_id, gone_id) REFERENCES merges (user_id, gone_id) ON DELETE CASCADE
);

-- Entities that had been merged into the one that went.
CREATE TABLE merged_earlier (
    user_id     uuid NOT NULL,
    gone_id     uuid NOT NULL,
    earlier_id  uuid NOT NULL,
    PRIMARY KEY (user_id, gone_id, earlier_id),
    FOREIGN KEY (user_id, gone_id) REFERENCES merges (user_id, gone_id) ON DELETE CASCADE
);

CREATE TABLE merged_mentions (
    user_id     uuid   NOT NULL,
    gone_id     uuid   NOT NULL,
    message_id  uuid   NOT NULL,
    ordinal     bigint NOT NULL,
    PRIMARY KEY (user_id, gone_id, message_id, ordinal),
    FOREIGN KEY (user_id, gone_id) REFERENCES merges (user_id, gone_id) ON DELETE CASCADE,
    FOREIGN KEY (user_id, message_id) REFERENCES messages (user_id, id) ON DELETE CASCADE
);
CREATE INDEX merged_mentions_of_message ON merged_mentions (user_id, message_id);

-- Every fact that the merge moved, united with another, or dropped.
CREATE TABLE merged_facts (
    user_id       uuid             NOT NULL,
    gone_id       uuid             NOT NULL,
    id            uuid             NOT NULL,
    subject_id    uuid             NOT NULL,
    relation      text             COLLATE "C" NOT NULL,
    object_id     uuid             NOT NULL,
    support       double precision NOT NULL,
    opposition    double precision NOT NULL,
    weighed_at    timestamptz      NOT NULL,
    status        text             NOT NULL,
    flagged       boolean          NOT NULL,
    valid_from    timestamptz,
    valid_to      timestamptz,
    last_support  timestamptz,
    created_at    timestamptz      NOT NULL,
    updated_at    timestamptz      NOT NULL,
    PRIMARY KEY (user_id, gone_id, id),
    FOREIGN KEY (user_id, gone_id) REFERENCES merges (user_id, gone_id) ON DELETE CASCADE
);

CREATE TABLE merged_evidence (
    user_id     uuid             NOT NULL,
    gone_id     uuid             NOT NULL,
    fact_id     uuid             NOT NULL,
    message_id  uuid             NOT NULL,
    stance      text             COLLATE "C" NOT NULL,
    session_id  uuid             NOT NULL,
    confidence  double precision NOT NULL,
    span_start  bigint,
    span_end    bigint,
    excerpt     text             NOT NULL,
    created_at  timestamptz      NOT NULL,
    PRIMARY KEY (user_id, gone_id, fact_id, message_id, stance),
    FOREIGN KEY (user_id, gone_id) REFERENCES merges (user_id, gone_id) ON DELETE CASCADE,
    FOREIGN KEY (user_id, message_id) REFERENCES messages (user_id, id) ON DELETE CASCADE
);
CREATE INDEX merged_evidence_of_message ON merged_evidence (user_id, message_id);

-- What time it is for the queue, given what the asking process takes it to be: the database's own time, because that is one
-- for all. By clocks of their own a process five minutes ahead would take the jobs that others are working on, and those it
-- queues would lie for five minutes. A function, so that tests can set the clock. Stable, so that an index serves it.
CREATE FUNCTION queue_time(asking timestamptz) RETURNS timestamptz LANGUAGE sql STABLE AS 'SELECT statement_timestamp()';

-- The durable queue. A lane is one kind of work of one session; its jobs run in order of id, one at a time. The one table that
-- is read for all users at once: workers take whatever is due.
CREATE TABLE jobs (
    -- Drawn under the lock of the session's row, so the numbers of one lane grow in the order in which they become visible.
    id          bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id     uuid        NOT NULL,
    session_id  uuid        NOT NULL,
    lane        text        NOT NULL CHECK (lane IN ('understand', 'answer')),
    message_id  uuid        NOT NULL,
    -- Whether the message is to be answered if it turns out to ask. Questions in a recorded conversation are not.
    answer      boolean     NOT NULL,
    -- The caller's role when the job was queued; it runs with that.
    role        text        NOT NULL CHECK (role IN ('admin', 'user', 'anonymous')),
    -- 'dead' is a dead letter: kept for operators, in nobody's way.
    state       text        NOT NULL DEFAULT 'live' CHECK (state IN ('live', 'dead')),
    -- True for the first live job of its lane, the only one that may be claimed. Without it, claiming would have to skip
    -- over each of 100,000 jobs that wait behind a running one.
    head        boolean     NOT NULL,
    -- When it may be claimed: when it is due, or when the lease on it ends.
    ready_at    timestamptz NOT NULL,
    -- Another number after every claim, release and retry. A worker whose lease went to another cannot commit with the old one.
    token       bigint      NOT NULL DEFAULT 0,
    attempts    bigint      NOT NULL DEFAULT 0,
    queued_at   timestamptz NOT NULL,
    -- Why it failed the last time. A stable code, never text of users.
    code        text,
    CHECK (NOT head OR state = 'live'),
    FOREIGN KEY (user_id, session_id) REFERENCES sessions (user_id, id) ON DELETE CASCADE,
    FOREIGN KEY (user_id, message_id) REFERENCES messages (user_id, id) ON DELETE CASCADE
-- A queue changes whole within minutes; dead rows must go as fast, or claiming would read over them.
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX jobs_ready ON jobs (ready_at, id) WHERE head;
CREATE INDEX jobs_in_lane ON jobs (user_id, session_id, lane, id) WHERE state = 'live';
CREATE UNIQUE INDEX jobs_one_head ON jobs (user_id, session_id, lane) WHERE head;
CREATE INDEX jobs_dead ON jobs (id) WHERE state = 'dead';
CREATE INDEX jobs_of_message ON jobs (user_id, message_id);
CREATE INDEX jobs_of_session ON jobs (user_id, session_id);

-- Personal access tokens: what scripts and agents of a user show instead of a login.
CREATE TABLE access_tokens (
    user_id       uuid        NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    id            uuid        NOT NULL,
    -- SHA-256 of the secret, which itself is nowhere. The one thing that is looked up without knowing the user, because it
    -- says who the user is.
    digest        bytea       NOT NULL UNIQUE CHECK (octet_length(digest) = 32),
    name          text        NOT NULL,
    -- As in OAuth: words with spaces between.
    scopes        text        NOT NULL,
    created_at    timestamptz NOT NULL,
    expires_at    timestamptz NOT NULL,
    -- Written once a minute at most.
    last_used_at  timestamptz,
    PRIMARY KEY (user_id, id)
);

-- Tokens of issuers that are believed no more, whatever they say themselves. They belong to no user: who they were given to
-- is not known here.
CREATE TABLE revoked_tokens (
    -- SHA-256 of issuer and jti, so that neither need be short or fit into an index.
    digest      bytea       PRIMARY KEY CHECK (octet_length(digest) = 32),
    -- When the token has expired by itself and this may go.
    expires_at  timestamptz NOT NULL
);
CREATE INDEX revoked_tokens_expiry ON revoked_tokens (expires_at);
