-- Visits on which nothing was said yet last shorter, and make room for newcomers. Written with the end of the visit; empty once a
-- message was stored.
ALTER TABLE visits ADD COLUMN empty_until timestamptz;
CREATE INDEX visits_empty ON visits (empty_until) WHERE empty_until IS NOT NULL;

-- The address it was begun from, of the sixth version its first 64 bits: no address may have them all. Goes with the visit.
ALTER TABLE visits ADD COLUMN origin text COLLATE "C";
CREATE INDEX visits_of_origin ON visits (origin) WHERE origin IS NOT NULL;

-- Whether the tokens were used for a visitor. Visitors have one budget together: a visit is easily begun again.
ALTER TABLE usage_days ADD COLUMN visitor boolean NOT NULL DEFAULT false;
ALTER TABLE usage_days NO FORCE ROW LEVEL SECURITY;
ALTER TABLE users NO FORCE ROW LEVEL SECURITY;
UPDATE usage_days SET visitor = true WHERE user_id IN (SELECT id FROM users WHERE visitor);
ALTER TABLE users FORCE ROW LEVEL SECURITY;
ALTER TABLE usage_days FORCE ROW LEVEL SECURITY;

-- Which receipts of erasures can be forgotten.
CREATE INDEX erasures_ended ON erasures (ended_at) WHERE ended_at IS NOT NULL;
