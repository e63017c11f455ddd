-- Statistics for the planner, of a user with many messages. Without any, SQLite assumes ten rows for the first column of each key, which
-- is the user. So a deletion with a foreign key read all rows of the user to find those of one message, entity or topic.
-- They are constants: with those of ANALYZE, plans would depend on the data of the moment.
ANALYZE sqlite_schema;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('facts', 'facts', '1000000 100000 1'),
    ('facts', 'facts_of_subject', '1000000 100000 50 5 1'),
    ('facts', 'facts_of_object', '1000000 100000 10 4 1'),
    ('facts', 'facts_latest', '1000000 100000 2 1'),
    ('facts', 'facts_of_pair', '1000000 100000 50 3'),
    ('facts', 'facts_statement', '1000000 100000 50 20 3 1'),
    ('mentions', 'mentions', '1000000 100000 2 1'),
    ('mentions', 'mentions_of_entity', '1000000 100000 30 2 1 1'),
    ('mentions', 'mentions_in_session', '1000000 100000 500 3'),
    ('evidence', 'evidence', '1000000 100000 4 1 1'),
    ('evidence', 'evidence_latest', '1000000 100000 4 2 1 1'),
    ('evidence', 'evidence_in_message', '1000000 100000 3 1'),
    ('evidence', 'evidence_in_session', '1000000 100000 500 2'),
    ('merged_evidence', 'merged_evidence', '1000000 100000 50 5 2 1'),
    ('merged_evidence', 'merged_evidence_of_message', '1000000 100000 3'),
    ('topic_messages', 'topic_messages', '1000000 100000 1'),
    ('topic_messages', 'topic_messages_of_part', '1000000 100000 500 50'),
    ('topic_messages', 'topic_messages_listed', '1000000 100000 3000 1');
-- Loads them.
ANALYZE sqlite_schema;
