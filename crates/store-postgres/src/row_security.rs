//! Row-level security, the second barrier behind the WHERE clauses.
//!
//! Only this file sets the user or scope of a transaction. `migrations/postgres/0010_walls.sql` defines what each scope may access.

use sqlx::{AssertSqlSafe, PgConnection};
use uuid::Uuid;

use super::failure::Failure;
use recall_domain::{Caller, UserId};

/// Whose rows a transaction may see and change.
#[derive(Clone, Copy, Debug)]
pub(super) enum RowAccess {
    /// Rows of one user.
    Caller(UserId),
    /// Jobs of all users, for the workers.
    Queue,
    /// Sessions with old events, to find and lock them.
    Pruning,
    /// Access tokens, to find the owner of one.
    Token,
    /// Logins, to find the owner of one.
    Login,
    /// Visits, to find their owners, ended visits and unsettled adoptions.
    Visit,
    /// Account deletions, to find those to resume and those to forget.
    Erasures,
    /// Forgettings, to find those that can no longer be undone.
    Forgettings,
    /// Sessions that are no longer used.
    Unused,
    /// Users who need vectors of another model, and locks on their rows.
    Vectors,
    /// Tokens that model servers used for all users together.
    Budget,
    /// Users with changes for the graph engine.
    Graph,
    /// All user ids.
    Owners,
    /// No rows of users: for tables without users.
    Nobody,
}

impl From<&Caller> for RowAccess {
    fn from(caller: &Caller) -> Self {
        Self::Caller(caller.user())
    }
}

impl From<UserId> for RowAccess {
    fn from(user: UserId) -> Self {
        Self::Caller(user)
    }
}

/// How a transaction accesses the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TransactionKind {
    /// One reading statement.
    Read,
    /// One reading statement that is planned for its values each time. The plan that suits all values assumes that a limit
    /// leaves a tenth of the rows, and may read whole tables for one page of a user's.
    PlannedRead,
    /// Several reading statements in one snapshot.
    Snapshot,
    /// Writing statements.
    Write,
}

impl RowAccess {
    /// The statement that begins a transaction in this scope, in one round trip.
    ///
    /// It uses LOCAL, so no setting stays on a connection that a pool gives to the next caller.
    pub(super) fn begin(self, access: TransactionKind) -> AssertSqlSafe<String> {
        let begin = match access {
            TransactionKind::Read => "BEGIN READ ONLY",
            TransactionKind::PlannedRead => "BEGIN READ ONLY; SET LOCAL plan_cache_mode = force_custom_plan",
            TransactionKind::Snapshot => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
            TransactionKind::Write => "BEGIN",
        };
        AssertSqlSafe(match self.setting() {
            // This program makes both words: digits of an id, or a name from below.
            Some((name, value)) => format!("{begin}; SET LOCAL {name} = '{value}'"),
            None => begin.to_owned(),
        })
    }

    fn setting(self) -> Option<(&'static str, String)> {
        let scope = |word: &str| Some(("recall.scope", word.to_owned()));
        match self {
            Self::Caller(user) => Some(("recall.caller", user.0.hyphenated().to_string())),
            Self::Queue => scope("queue"),
            Self::Pruning => scope("pruning"),
            Self::Token => scope("token"),
            Self::Login => scope("login"),
            Self::Visit => scope("visit"),
            Self::Erasures => scope("erasures"),
            Self::Forgettings => scope("forgettings"),
            Self::Unused => scope("unused"),
            Self::Vectors => scope("vectors"),
            Self::Budget => scope("budget"),
            Self::Graph => scope("graph"),
            Self::Owners => scope("owners"),
            Self::Nobody => None,
        }
    }
}

/// Switches the transaction to this user.
pub(super) async fn switch_to_user(c: &mut PgConnection, user: Uuid) -> Result<(), Failure> {
    sqlx::query_scalar!("SELECT set_config('recall.caller', $1, true)", user.hyphenated().to_string()).fetch_one(c).await?;
    Ok(())
}

/// Checks whether row-level security applies to this connection's role, and logs a warning if not.
///
/// # Errors
/// If it does not apply and is `required`.
pub(super) async fn check(connection: &mut PgConnection, required: bool) -> Result<(), Failure> {
    let row = sqlx::query!(
        r#"SELECT r.rolsuper AS "is_superuser!", r.rolbypassrls AS "bypasses!",
                EXISTS (SELECT FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
                        WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
                              AND a.attname = 'user_id' AND NOT a.attisdropped
                              AND NOT (c.relrowsecurity AND c.relforcerowsecurity)) AS "open!"
         FROM pg_roles r WHERE r.rolname = current_user"#,
    )
    .fetch_one(connection)
    .await?;
    let gap = if row.is_superuser {
        "the role is a superuser"
    } else if row.bypasses {
        "the role has BYPASSRLS"
    } else if row.open {
        "a table has it switched off"
    } else {
        return Ok(());
    };
    if required {
        return Err(Failure::NoRowSecurity(gap));
    }
    tracing::warn!("row-level security does not apply in this database, because {gap}: only the program separates users");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn begin_statement_sets_the_user_or_scope() {
        let of = |scope: RowAccess, access| scope.begin(access).0;
        let user = UserId(Uuid::from_u128(7));
        assert_eq!(
            of(user.into(), TransactionKind::Read),
            "BEGIN READ ONLY; SET LOCAL recall.caller = '00000000-0000-0000-0000-000000000007'"
        );
        assert_eq!(
            of(RowAccess::Pruning, TransactionKind::PlannedRead),
            "BEGIN READ ONLY; SET LOCAL plan_cache_mode = force_custom_plan; SET LOCAL recall.scope = 'pruning'"
        );
        assert_eq!(of(RowAccess::Queue, TransactionKind::Write), "BEGIN; SET LOCAL recall.scope = 'queue'");
        assert_eq!(of(RowAccess::Nobody, TransactionKind::Snapshot), "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    }
}
