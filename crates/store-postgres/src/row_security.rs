//! Row-level security, the wall behind the WHERE clauses: for whom each transaction is, in the one place that says so. What each
//! scope opens is in `migrations/postgres/0010_walls.sql`.

use sqlx::{AssertSqlSafe, PgConnection};
use uuid::Uuid;

use super::failure::Failure;
use recall_domain::{Caller, UserId};

/// Whose rows a transaction may see and change.
#[derive(Clone, Copy, Debug)]
pub(super) enum RowAccess {
    /// Those of one user.
    Caller(UserId),
    /// Jobs of all users, for the workers.
    Queue,
    /// Which logs have old events, and their locks.
    Pruning,
    /// Access tokens, to find out whose one is.
    Token,
    /// Logins, to find out whose they are.
    Login,
    /// Visits, to find out whose they are, which are over, and what of them is not settled.
    Visit,
    /// Whose erasure is to be gone on with, or can be forgotten.
    Erasures,
    /// Sessions that nobody uses any more.
    Unused,
    /// Which users need vectors of another model, and the locks of their rows.
    Vectors,
    /// Tokens that model servers used for all users together.
    Budget,
    /// Which users have news for the graph engine.
    Graph,
    /// Which users there are.
    Owners,
    /// Nobody's: for tables without users.
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

/// What a transaction is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// One statement that reads.
    Read,
    /// Several that read, as of one moment.
    Snapshot,
    /// Writing.
    Write,
}

impl RowAccess {
    /// The statement that begins a transaction in this scope; one trip to the server. LOCAL, so that nothing of it is left on a
    /// connection that a pool gives to the next one.
    pub(super) fn begin(self, access: Access) -> AssertSqlSafe<String> {
        let begin = match access {
            Access::Read => "BEGIN READ ONLY",
            Access::Snapshot => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
            Access::Write => "BEGIN",
        };
        AssertSqlSafe(match self.setting() {
            // Both are words of this program: digits of an id, or a name from below.
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
            Self::Unused => scope("unused"),
            Self::Vectors => scope("vectors"),
            Self::Budget => scope("budget"),
            Self::Graph => scope("graph"),
            Self::Owners => scope("owners"),
            Self::Nobody => None,
        }
    }
}

/// From here on the transaction is also for this user.
pub(super) async fn go_on_for(c: &mut PgConnection, user: Uuid) -> Result<(), Failure> {
    sqlx::query_scalar!("SELECT set_config('recall.caller', $1, true)", user.hyphenated().to_string()).fetch_one(c).await?;
    Ok(())
}

/// Finds out whether the wall stands for this connection's role, and says so if it does not.
///
/// # Errors
/// When it does not stand and is `required`.
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
    tracing::warn!("row-level security does not hold in this database, because {gap}: users are kept apart by the program alone");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_says_for_whom_it_is_in_its_first_words() {
        let of = |scope: RowAccess, access| scope.begin(access).0;
        let user = UserId(Uuid::from_u128(7));
        assert_eq!(of(user.into(), Access::Read), "BEGIN READ ONLY; SET LOCAL recall.caller = '00000000-0000-0000-0000-000000000007'");
        assert_eq!(of(RowAccess::Queue, Access::Write), "BEGIN; SET LOCAL recall.scope = 'queue'");
        assert_eq!(of(RowAccess::Nobody, Access::Snapshot), "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    }
}
