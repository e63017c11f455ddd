//! The statements that import an archive.

use async_trait::async_trait;
use rusqlite::{params_from_iter, types::Value as SqlValue};

use super::{
    super::{
        codec::signed,
        connection::Db,
        failure::Failure,
        transaction::{ReadTransaction, WriteTransaction},
    },
    read::sql_values,
};
use recall_domain::UserId;
use recall_ports::archive::{Owner, Record, Restored, Shape};
use recall_store::archive::{
    ArchiveReads, ImportStatements, column_names, count_statement, entity_search, find_statement, insert_job_statement, session_search,
    update_clause,
};

#[async_trait]
impl ImportStatements for WriteTransaction<'_> {
    fn reads(&mut self) -> Box<dyn ArchiveReads<Error = Failure> + '_> {
        Box::new(ReadTransaction(self.0))
    }

    async fn has_data(&mut self, user: UserId) -> Result<bool, Failure> {
        let sql = "SELECT EXISTS (SELECT 1 FROM sessions WHERE user_id = ?1) OR EXISTS (SELECT 1 FROM entities WHERE user_id = ?1)";
        Ok(self.0.number(sql, (user.0,))? != 0)
    }

    async fn mark_importing(&mut self, owner: &Owner) -> Result<(), Failure> {
        self.0.execute(
            "INSERT INTO users (id, feed_head, knowledge_version, importing) VALUES (?1, ?2, ?3, 1)
             ON CONFLICT (id) DO UPDATE SET feed_head = ?2, knowledge_version = ?3, importing = 1, feed_generation = feed_generation + 1",
            (owner.user.0, signed(owner.feed_head), signed(owner.knowledge_version)),
        )?;
        Ok(())
    }

    async fn insert_records(&mut self, user: UserId, records: &[Record], epoch: &str) -> Result<u64, Failure> {
        let mut new = 0;
        for record in records {
            new += insert(self.0, user, record, epoch, " ON CONFLICT DO NOTHING")?;
        }
        Ok(new)
    }

    async fn upsert_records(&mut self, user: UserId, records: &[Record]) -> Result<Restored, Failure> {
        let mut restored = Restored::default();
        for record in records {
            // SQLite does not say whether an upsert has inserted its row.
            match insert(self.0, user, record, "", " ON CONFLICT DO NOTHING")? {
                0 => restored.repaired += insert(self.0, user, record, "", &update_clause(record.shape, &[]))?,
                new => restored.new += new,
            }
        }
        Ok(restored)
    }

    async fn insert_job(&mut self, user: UserId, record: &Record) -> Result<bool, Failure> {
        let sql = insert_job_statement('?', record.shape, str::to_owned);
        Ok(self.0.execute(&sql, params_from_iter(sql_values(user, &record.values)))? > 0)
    }

    async fn has_equal_row(&mut self, user: UserId, record: &Record) -> Result<bool, Failure> {
        self.0.exists(&find_statement('?', record.shape), params_from_iter(sql_values(user, &record.values)))
    }

    async fn count_rows(&mut self, user: UserId, shape: &Shape) -> Result<i64, Failure> {
        self.0.number(&count_statement('?', shape), (user.0,))
    }

    async fn has_wrong_counters(&mut self, user: UserId) -> Result<bool, Failure> {
        let sql =
            "SELECT (SELECT COALESCE(MAX(feed_row), 0) FROM messages WHERE user_id = ?1) > (SELECT feed_head FROM users WHERE id = ?1)
                 OR EXISTS (SELECT 1 FROM sessions s WHERE s.user_id = ?1 AND s.message_count <
                     (SELECT COALESCE(MAX(m.position), 0) FROM messages m WHERE m.user_id = ?1 AND m.session_id = s.id))";
        Ok(self.0.number(sql, (user.0,))? != 0)
    }

    async fn set_lane_heads(&mut self, user: UserId) -> Result<(), Failure> {
        self.0.execute(
            "UPDATE jobs SET head = 1 WHERE id IN (
                 SELECT min(j.id) FROM jobs j JOIN visible_sessions s ON s.user_id = ?1 AND s.id = j.session_id
                 WHERE j.user_id = ?1 AND j.state = 'live'
                 GROUP BY j.session_id, j.lane HAVING max(j.head) = 0)",
            (user.0,),
        )?;
        Ok(())
    }

    async fn end_import(&mut self, user: UserId) -> Result<(), Failure> {
        self.0.execute(
            "UPDATE users SET importing = 0, memory_head = memory_head + 1, memory_floor = memory_head + 2,
                 feed_generation = feed_generation + 1, embedding_settled = 0, embedding_model = (
                 SELECT i.model FROM messages m JOIN message_index i ON i.user_id = m.user_id AND i.message_id = m.id
                 WHERE m.user_id = ?1 ORDER BY m.feed_row DESC LIMIT 1)
             WHERE id = ?1",
            (user.0,),
        )?;
        Ok(())
    }
}

/// Inserts a record. Returns the number of changed rows.
fn insert(db: &Db, user: UserId, record: &Record, epoch: &str, on_conflict: &str) -> Result<u64, Failure> {
    let shape = record.shape;
    let computed = match shape.name {
        "session" => vec![("epoch", Some(epoch.to_owned())), ("search", session_search(record))],
        "entity" => vec![("search", Some(entity_search(record)))],
        _ => Vec::new(),
    };
    let (table, mut columns, mut places) = (shape.table, column_names(shape), ", ?".repeat(shape.fields.len()));
    for (column, _) in &computed {
        columns = format!("{columns}, {column}");
        places.push_str(", ?");
    }
    let sql = format!("INSERT INTO {table} AS present (user_id, {columns}) VALUES (?{places}){on_conflict}");
    let mut values = sql_values(user, &record.values);
    values.extend(computed.into_iter().map(|(_, value)| value.map_or(SqlValue::Null, SqlValue::Text)));
    db.execute(&sql, params_from_iter(values))
}
