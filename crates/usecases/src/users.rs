//! Tells administrators who uses the server, and how much.

use futures_util::{StreamExt, TryStreamExt, stream};
use uuid::Uuid;

use super::{error::UseCaseError, use_cases::UseCases};
use recall_domain::{Caller, Day, DayUsage, Page, Slice, UserId, ViewerRole};
use recall_ports::{Activity, DocumentFilter, FactFilter, StoreError};

/// Number of days whose tokens a summary counts, including today.
const DAYS: u32 = 30;
/// Number of users that are counted at a time. All callers share the database.
const AT_A_TIME: usize = 4;

/// A user with counts of their data, and none of its contents.
#[derive(Clone, Debug)]
pub struct UserSummary {
    /// The user, or shared memory.
    pub user: UserId,
    /// Whether the user is a visitor without an account.
    pub is_visitor: bool,
    /// What the user wrote, and when last.
    pub activity: Activity,
    /// The number of facts, with notes, ended and retracted ones.
    pub facts: u64,
    /// The number of documents, with their older versions.
    pub documents: u64,
    /// Tokens of the last 30 days, by day and purpose.
    pub usage: Vec<DayUsage>,
}

impl UseCases {
    /// Returns a page of the users with data, ordered by id. Shared memory is one of them. The key of a user is its id.
    ///
    /// # Errors
    /// `Forbidden` if the caller is no administrator.
    pub async fn users(&self, caller: &Caller, page: &Page) -> Result<Slice<UserSummary>, UseCaseError> {
        if caller.role() != ViewerRole::Admin {
            return Err(UseCaseError::Forbidden { message: "Only administrators may list the users of this server." });
        }
        let after = page.after.as_deref().map(Uuid::parse_str).transpose().map_err(|_| StoreError::BadCursor)?;
        let mut owners = self.parts.store.owners(after.map(UserId), page.first + 1).await?;
        let has_next = owners.len() > page.first as usize;
        owners.truncate(page.first as usize);
        let items = stream::iter(owners).map(|owner| self.summarize_user(owner)).buffered(AT_A_TIME).try_collect();
        Ok(Slice { items: items.await?, has_next })
    }

    async fn summarize_user(&self, owner: Caller) -> Result<(String, UserSummary), StoreError> {
        let store = &self.parts.store;
        let since = Day::of(self.now()).before(DAYS - 1);
        let summary = UserSummary {
            user: owner.user(),
            is_visitor: owner.role() == ViewerRole::Anonymous,
            activity: store.activity(&owner).await?,
            facts: store.count_facts(&owner, &FactFilter::default()).await?,
            documents: store.count_documents(&owner, &DocumentFilter::default()).await?,
            usage: store.usage_since(&owner, since).await?,
        };
        Ok((owner.user().to_string(), summary))
    }
}
