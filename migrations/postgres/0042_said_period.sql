-- When a fact began and ended, as messages tell it: an interval of the Extended Date/Time Format, such as '2024-03/' or '2015/2019'.
ALTER TABLE facts ADD COLUMN said_period text;
ALTER TABLE evidence ADD COLUMN said_period text;
ALTER TABLE merged_facts ADD COLUMN said_period text;
ALTER TABLE merged_evidence ADD COLUMN said_period text;

-- A view has the columns that its table had when it was made.
CREATE OR REPLACE VIEW visible_evidence WITH (security_invoker = true) AS
    SELECT * FROM evidence WHERE (user_id, session_id) NOT IN (SELECT user_id, id FROM hidden_sessions);
