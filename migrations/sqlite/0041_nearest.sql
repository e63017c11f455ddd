-- The citations of a message also have what only comes nearest to an answer, marked. A document that is nearest has answered nothing.
DROP TRIGGER document_cited;
CREATE TRIGGER document_cited AFTER INSERT ON messages WHEN NEW.citations <> '[]' BEGIN
    INSERT INTO document_citations (user_id, document_id, feed_row, message_id)
    SELECT DISTINCT NEW.user_id, unhex(replace(c.value ->> '$.chunk.document_id', '-', '')), NEW.feed_row, NEW.id
    FROM json_each(NEW.citations) c
    WHERE length(unhex(replace(c.value ->> '$.chunk.document_id', '-', ''))) = 16 AND (c.value ->> '$.nearest') IS NOT 1;
END;

DROP VIEW cited_documents;
CREATE VIEW cited_documents AS
    SELECT m.user_id, m.id AS message_id, m.answer_to, d.id AS document_id
    FROM messages m CROSS JOIN json_each(m.citations) c
    CROSS JOIN documents d ON d.user_id = m.user_id AND d.id = unhex(c.value ->> '$.chunk.document_id', '-')
    WHERE m.answer_to IS NOT NULL AND m.forgotten IS NULL AND (c.value ->> '$.shared') IS NOT 1 AND (c.value ->> '$.nearest') IS NOT 1;
