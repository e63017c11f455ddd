-- When a fact began and ended, as messages tell it: an interval of the Extended Date/Time Format, such as '2024-03/' or '2015/2019'.
ALTER TABLE facts ADD COLUMN said_period TEXT;
ALTER TABLE evidence ADD COLUMN said_period TEXT;
ALTER TABLE merged_facts ADD COLUMN said_period TEXT;
ALTER TABLE merged_evidence ADD COLUMN said_period TEXT;
