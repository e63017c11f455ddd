//! `recall user`: commands for operators that show and delete single users. The audit log records them.

use std::sync::Arc;

use anyhow::Context;
use clap::Subcommand;
use uuid::Uuid;

use super::{
    adapters, graph,
    operator::{INSTANCE, parse_user},
    output::say,
};
use crate::config::{Config, Engine};
use crate::system::SystemClock;
use recall_api::Auditor;
use recall_domain::{AuditAction, Caller, UserId, ViewerRole};
use recall_ports::{AccountDeletion, Clock, Store};

/// Users per page of the list.
const USERS: u32 = 500;
/// Rows deleted in one transaction. Other writers wait for one step at most.
const STEP: u32 = 1_000;

#[derive(Subcommand)]
pub(super) enum UserCommand {
    /// List all users with their numbers of sessions, messages and facts
    List,
    /// Show the number of rows per table and the access tokens of a user
    Show {
        /// An id, `local` for the user of a server without login, or `shared` for shared memory
        user: String,
    },
    /// Delete all data of a user permanently
    Delete {
        /// An id, `local` for the user of a server without login, or `shared` for shared memory
        user: String,
        /// Confirm the deletion; nothing is deleted without this flag
        #[arg(long)]
        yes: bool,
    },
    /// Manage personal access tokens
    Tokens {
        #[command(subcommand)]
        command: TokensCommand,
    },
}

#[derive(Subcommand)]
pub(super) enum TokensCommand {
    /// Revoke all personal access tokens of a user
    Revoke {
        /// An id, `local` for the user of a server without login, or `shared` for shared memory
        user: String,
    },
}

/// Runs `recall user`.
pub(super) async fn run(config: &Config, command: UserCommand) -> anyhow::Result<()> {
    let engine = config.storage.engine();
    anyhow::ensure!(!matches!(&engine, Engine::Sqlite(path) if !path.exists()), "database: {engine} does not exist");
    let store = adapters::store(config, config.storage.migrate).await?.store;
    let auditor = Auditor::new(store.clone(), INSTANCE);
    let note = async |action, user: UserId| auditor.note(SystemClock.now(), None, None, action, Some(user.to_string())).await;
    let done = async {
        match command {
            UserCommand::List => list(store.as_ref()).await,
            UserCommand::Show { user } => {
                let caller = find_user(store.as_ref(), &user).await?;
                note(AuditAction::UserShown, caller.user()).await;
                show(store.as_ref(), &caller).await
            }
            UserCommand::Delete { user, yes } => {
                let caller = find_user(store.as_ref(), &user).await?;
                anyhow::ensure!(yes, "this permanently deletes all data of {}; confirm with --yes", caller.user());
                note(AuditAction::DataDeleted, caller.user()).await;
                delete(config, &store, &caller).await
            }
            UserCommand::Tokens { command: TokensCommand::Revoke { user } } => {
                let caller = find_user(store.as_ref(), &user).await?;
                let tokens = store.access_tokens(&caller).await?;
                for token in &tokens {
                    store.revoke_access_token(&caller, token.id).await?;
                    let target = Some(token.id.to_string());
                    auditor.note(SystemClock.now(), None, None, AuditAction::AccessTokenRevoked, target).await;
                }
                say!("{} access tokens revoked", tokens.len())?;
                Ok(())
            }
        }
    };
    let done = done.await;
    store.close().await;
    done
}

/// Finds a user that has data in the store or once had some.
pub(super) async fn find_user(store: &dyn Store, name: &str) -> anyhow::Result<Caller> {
    let user = parse_user(store, Some(name)).await?.context("no user is named")?;
    // The list has no lookup by id, so this asks for the first user after the preceding id.
    let before = user.0.as_u128().checked_sub(1).map(|id| UserId(Uuid::from_u128(id)));
    let found = store.owners(before, 1).await?.into_iter().find(|caller| caller.user() == user);
    found.with_context(|| format!("there is no user {user}"))
}

async fn list(store: &dyn Store) -> anyhow::Result<()> {
    let mut after = None;
    loop {
        let users = store.owners(after, USERS).await?;
        let Some(last) = users.last() else { return Ok(()) };
        after = Some(last.user());
        for caller in &users {
            let held = store.holdings(caller).await?;
            let of = |table: &str| held.get(table).copied().unwrap_or_default();
            let what = match caller.role() {
                ViewerRole::Anonymous => " (visitor)",
                _ if caller.is_shared() => " (shared memory)",
                _ => "",
            };
            say!("{}{what}  {} sessions, {} messages, {} facts", caller.user(), of("sessions"), of("messages"), of("facts"))?;
        }
    }
}

async fn show(store: &dyn Store, caller: &Caller) -> anyhow::Result<()> {
    say!("user {}", caller.user())?;
    for (table, rows) in store.holdings(caller).await? {
        say!("  {table} {rows}")?;
    }
    for token in store.access_tokens(caller).await? {
        say!("access token {} ({}), expires {}", token.id, token.scopes, token.expires_at.format("%Y-%m-%d"))?;
    }
    match store.erasure(caller).await? {
        Some(AccountDeletion { ended_at: Some(at), .. }) => say!("all data was deleted at {}", at.format("%Y-%m-%d %H:%M:%S"))?,
        Some(e) => say!("deletion of all data in progress since {}", e.begun_at.format("%Y-%m-%d %H:%M:%S"))?,
        None => {}
    }
    Ok(())
}

async fn delete(config: &Config, store: &Arc<dyn Store>, caller: &Caller) -> anyhow::Result<()> {
    store.begin_erasure(caller, SystemClock.now()).await?;
    let erasure = loop {
        let erasure = store.erase(caller, SystemClock.now(), STEP).await?.erasure;
        if erasure.ended_at.is_some() {
            break erasure;
        }
    };
    let projected = graph::project_user(config, caller, store.clone()).await;
    say!("user {}: all data is deleted", caller.user())?;
    for (table, rows) in &erasure.deleted {
        say!("  {table} {rows}")?;
    }
    match projected {
        Ok(None) => {}
        Ok(Some(changes)) => say!("graph: {changes} changes applied")?,
        Err(e) => say!("graph: cannot be updated now; a running server will update it ({e})")?,
    }
    Ok(())
}
