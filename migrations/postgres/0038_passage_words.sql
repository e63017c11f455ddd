-- Each chunk also gets a vector for each of its words, by a new version of the network. What the old version made is of no use, and is made again
-- when a search finds the chunk. A server of an earlier version writes under the name of its own version, which this one does not read.
-- 32 bytes for each word: a signed number of four bits for each dimension.
ALTER TABLE passage_vectors ADD COLUMN words bytea NOT NULL DEFAULT '';
-- Such bytes do not get smaller.
ALTER TABLE passage_vectors ALTER COLUMN words SET STORAGE EXTERNAL;
