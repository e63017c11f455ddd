-- Visits on which nothing was said yet last shorter, and make room for newcomers. Written with the end of the visit; empty once a
-- message was stored.
ALTER TABLE visits ADD COLUMN empty_until INTEGER;
CREATE INDEX visits_empty ON visits (empty_until) WHERE empty_until IS NOT NULL;

-- The address it was begun from, of the sixth version its first 64 bits: no address may have them all. Goes with the visit.
ALTER TABLE visits ADD COLUMN origin TEXT;
CREATE INDEX visits_of_origin ON visits (origin) WHERE origin IS NOT NULL;

-- Whether the tokens were used for a visitor. Visitors have one budget together: a visit is easily begun again.
ALTER TABLE usage_days ADD COLUMN visitor INTEGER NOT NULL DEFAULT 0 CHECK (visitor IN (0, 1));
UPDATE usage_days SET visitor = 1 WHERE user_id IN (SELECT id FROM users WHERE visitor = 1);
CREATE INDEX usage_days_of_visitors ON usage_days (day, input_tokens, output_tokens) WHERE visitor = 1;

-- Which receipts of erasures can be forgotten.
CREATE INDEX erasures_ended ON erasures (ended_at) WHERE ended_at IS NOT NULL;
