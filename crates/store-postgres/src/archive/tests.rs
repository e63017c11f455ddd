//! Tests that every statement built from a shape fits the schema, on the server that `RECALL_TEST_POSTGRES` names.
#![allow(clippy::unwrap_used, clippy::panic)]

use sqlx::{AssertSqlSafe, Executor, SqlSafeStr};
use uuid::Uuid;

use super::{super::tests::store, write};
use recall_domain::UserId;
use recall_ports::{
    Inspect,
    archive::{Record, SHAPES, Value},
};
use recall_store::archive::{count_statement, find_statement, select_statement};

#[tokio::test]
async fn statements_of_all_shapes_fit_the_schema() {
    let Some(store) = store().await else { return };
    let mut connection = store.pool.lend(crate::row_security::RowAccess::Nobody).await.unwrap();
    for shape in SHAPES {
        let record = Record { shape, values: shape.fields.iter().map(|_| Value::Missing).collect() };
        let statements = [
            select_statement('$', shape, false),
            select_statement('$', shape, true),
            write::insert_statement(UserId(Uuid::nil()), shape, std::slice::from_ref(&record), "epoch").into_string(),
            find_statement('$', shape),
            count_statement('$', shape),
        ];
        let of_jobs = (shape.name == "job").then(|| write::job_statement(shape));
        for sql in statements.into_iter().chain(of_jobs) {
            let prepared = connection.prepare(AssertSqlSafe(sql.clone()).into_sql_str()).await;
            assert!(prepared.is_ok(), "{sql}: {:?}", prepared.err());
        }
    }
    drop(connection);
    store.close().await;
}
