-- The citations of a message also have what only comes nearest to an answer, marked. A document that is nearest has answered nothing.
CREATE OR REPLACE FUNCTION note_document_citations() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO document_citations (user_id, document_id, feed_row, message_id)
    SELECT DISTINCT NEW.user_id, (c.value -> 'chunk' ->> 'document_id')::uuid, NEW.feed_row, NEW.id
    FROM json_array_elements(replace(NEW.citations::text, '\u0000', '\u0001')::json) AS c (value)
    WHERE c.value -> 'chunk' ->> 'document_id' ~ '^[0-9A-Fa-f]{8}-?([0-9A-Fa-f]{4}-?){3}[0-9A-Fa-f]{12}$'
        AND (c.value ->> 'nearest') IS DISTINCT FROM 'true';
    RETURN NULL;
END $$;

CREATE OR REPLACE VIEW cited_documents WITH (security_invoker = true) AS
    SELECT m.user_id, m.id AS message_id, m.answer_to, d.id AS document_id
    FROM messages m
    CROSS JOIN LATERAL json_array_elements(replace(m.citations::text, '\u0000', '\u0001')::json) AS c (value)
    CROSS JOIN LATERAL (SELECT c.value -> 'chunk' ->> 'document_id') AS cited (id)
    JOIN documents d ON d.user_id = m.user_id
        AND d.id = CASE WHEN cited.id ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN cited.id::uuid END
    WHERE m.answer_to IS NOT NULL AND m.forgotten IS NULL AND (c.value ->> 'shared') IS DISTINCT FROM 'true'
        AND (c.value ->> 'nearest') IS DISTINCT FROM 'true';
