//! Builds the statements of archives from the shapes. The engines write a parameter as `?1` or as `$1`.
//!
//! JSON columns are read and compared as text, because PostgreSQL cannot compare them otherwise.

use recall_ports::archive::{
    Record, Shape,
    shape::{Field, Holds},
};

/// Selects the rows of a user by the key of the shape: all fields, and those fields of the key that no record has.
///
/// Its parameters are the user, the values of the key if `after` is true, and the limit. Rows of sessions under deletion and
/// forgotten rows are left out.
pub fn select_statement(parameter: char, shape: &Shape, after: bool) -> String {
    let hidden = shape.order.iter().filter(|f| shape.field(f.name).is_none());
    let column = |f: &Field| if is_json(f) { format!("{} AS {}", comparable(f, ""), f.name) } else { f.name.to_owned() };
    let columns: Vec<_> = shape.fields.iter().chain(hidden).map(column).collect();
    let (columns, order) = (columns.join(", "), names(shape.order));
    let keys = if after { shape.order.len() } else { 0 };
    let places: Vec<_> = (2..keys + 2).map(|n| format!("{parameter}{n}")).collect();
    let condition = if after { format!(" AND ({order}) > ({})", places.join(", ")) } else { String::new() };
    // These views have no text of redacted messages, and no summary and no name that may quote a forgotten one.
    let table = match shape.table {
        "messages" => "visible_messages",
        "documents" => "visible_documents",
        "topic_parts" => "visible_topic_parts",
        "topic_messages" => "visible_topic_messages",
        table => table,
    };
    let (limit, visible) = (keys + 2, visible_condition(parameter, shape));
    format!("SELECT {columns} FROM {table} WHERE user_id = {parameter}1{condition}{visible} ORDER BY {order} LIMIT {parameter}{limit}")
}

/// Leaves out sessions under deletion, and what is forgotten.
fn visible_condition(parameter: char, shape: &Shape) -> String {
    let absent = |column: &str, hidden: &str| format!(" AND {column} NOT IN (SELECT id FROM {hidden} WHERE user_id = {parameter}1)");
    let mut conditions = String::new();
    match shape.table {
        "messages" => {}
        "sessions" | "documents" => conditions.push_str(&absent("id", "hidden_sessions")),
        "entities" => conditions.push_str(" AND forgetting_id IS NULL"),
        "entity_keys" | "entity_hints" => conditions.push_str(&absent("entity_id", "hidden_entities")),
        "entity_merges" => conditions.push_str(&absent("into_id", "hidden_entities")),
        table => {
            if shape.field("session_id").is_some() {
                conditions.push_str(&absent("session_id", "hidden_sessions"));
            }
            if shape.field("document_id").is_some() {
                conditions.push_str(&absent("document_id", "hidden_sessions"));
            }
            // Pieces next to a file in the folder come from an archive of the same document, and the file is exported already.
            if table == "document_originals" {
                conditions.push_str(&absent("document_id", "document_files").replace("SELECT id", "SELECT document_id"));
            }
            // Evidence of a forgotten message that is still there is about other facts.
            if shape.field("message_id").is_some() && table != "evidence" {
                conditions.push_str(&absent("message_id", "hidden_messages"));
            }
            if shape.field("gone_id").is_some() {
                conditions.push_str(&absent("gone_id", "hidden_merges"));
            }
        }
    }
    conditions
}

/// Finds a row that equals a record. Its parameters are the user and all fields.
pub fn find_statement(parameter: char, shape: &Shape) -> String {
    let same = shape.fields.iter().enumerate().map(|(n, f)| {
        // Identity fields are never null, and only `=` can use an index.
        let equal = if shape.identity.contains(&f.name) { "=" } else { "IS NOT DISTINCT FROM" };
        format!("{} {equal} {parameter}{}", comparable(f, ""), n + 2)
    });
    let same: Vec<_> = same.collect();
    format!("SELECT 1 FROM {} WHERE user_id = {parameter}1 AND {} LIMIT 1", shape.table, same.join(" AND "))
}

/// Inserts a job, unless one with its identity exists, which no constraint of the table forbids.
///
/// Its parameters are the user and all fields. `ready_at` makes the time of the first claim from the time of queueing.
pub fn insert_job_statement(parameter: char, shape: &Shape, ready_at: impl Fn(&str) -> String) -> String {
    let place = |name: &str| format!("{parameter}{}", shape.field(name).unwrap_or_default() + 2);
    let values: Vec<_> = shape.fields.iter().map(|f| place(f.name)).collect();
    let same: Vec<_> = shape.identity.iter().map(|name| format!("{name} = {}", place(name))).collect();
    let (table, columns, values, same) = (shape.table, column_names(shape), values.join(", "), same.join(" AND "));
    let ready_at = ready_at(&place("queued_at"));
    format!(
        "INSERT INTO {table} (user_id, {columns}, ready_at, head) SELECT {parameter}1, {values}, {ready_at}, false
         WHERE NOT EXISTS (SELECT 1 FROM {table} WHERE user_id = {parameter}1 AND {same})"
    )
}

/// The clause that overwrites a row that differs, in an `INSERT INTO … AS present`. `computed` are columns that no record has.
pub fn update_clause(shape: &Shape, computed: &[&str]) -> String {
    let others = || shape.fields.iter().filter(|f| !shape.identity.contains(&f.name));
    let columns = others().map(|f| f.name).chain(computed.iter().copied());
    let set: Vec<_> = columns.map(|name| format!("{name} = excluded.{name}")).collect();
    let differs = others().map(|f| format!("{} IS DISTINCT FROM {}", comparable(f, "present."), comparable(f, "excluded.")));
    let differs: Vec<_> = differs.collect();
    format!(" ON CONFLICT (user_id, {}) DO UPDATE SET {} WHERE {}", shape.identity.join(", "), set.join(", "), differs.join(" OR "))
}

/// Counts the rows of a user.
pub fn count_statement(parameter: char, shape: &Shape) -> String {
    format!("SELECT count(*) FROM {} WHERE user_id = {parameter}1", shape.table)
}

/// The columns of all fields.
pub fn column_names(shape: &Shape) -> String {
    names(shape.fields)
}

/// The column `search` of an entity's record.
pub fn entity_search(record: &Record) -> String {
    let aliases: Vec<String> = record.text("aliases").and_then(|a| serde_json::from_str(a).ok()).unwrap_or_default();
    crate::search_text(record.text("name").unwrap_or_default(), &aliases)
}

/// The column `search` of a session's record.
pub fn session_search(record: &Record) -> Option<String> {
    record.text("title").map(recall_domain::fold)
}

fn names(fields: &[Field]) -> String {
    fields.iter().map(|f| f.name).collect::<Vec<_>>().join(", ")
}

fn is_json(field: &Field) -> bool {
    matches!(field.holds, Holds::Json(_))
}

/// A column as an expression that can be compared.
fn comparable(field: &Field, row: &str) -> String {
    if is_json(field) { format!("CAST({row}{} AS text)", field.name) } else { format!("{row}{}", field.name) }
}
