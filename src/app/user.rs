//! `recall user`: what an operator sees and does of single users, over the store as configured. Noted in the audit log.

use std::sync::Arc;

use anyhow::Context;
use clap::Subcommand;
use uuid::Uuid;

use super::{archive, graph, output::say, wiring};
use crate::config::{Config, Engine};
use crate::system::SystemClock;
use recall_api::Auditor;
use recall_domain::{AuditAction, Caller, UserId, ViewerRole};
use recall_ports::{Clock, Store};

/// Users listed at once.
const USERS: u32 = 500;
/// Rows deleted in one step: others' writes wait for a step, not for the whole.
const STEP: u32 = 1_000;
/// What the audit log calls this process.
pub(super) const INSTANCE: &str = "command line";

/// What to do.
#[derive(Subcommand)]
pub(super) enum UserCommand {
    /// Lists users with how much is kept of each
    List,
    /// Shows what is kept of a user, table by table, and the names of their access tokens
    Show {
        /// An id, `local` for the user of an installation without login, or `shared` for shared memory
        user: String,
    },
    /// Deletes everything that is kept of a user
    Delete {
        /// An id, `local` for the user of an installation without login, or `shared` for shared memory
        user: String,
        /// Says that this is meant
        #[arg(long)]
        yes: bool,
    },
    /// Personal access tokens
    Tokens {
        #[command(subcommand)]
        command: TokensCommand,
    },
}

/// What to do with access tokens.
#[derive(Subcommand)]
pub(super) enum TokensCommand {
    /// Revokes all personal access tokens of a user
    Revoke {
        /// An id, `local` for the user of an installation without login, or `shared` for shared memory
        user: String,
    },
}

/// Runs a command.
pub(super) async fn run(config: &Config, command: UserCommand) -> anyhow::Result<()> {
    let engine = config.storage.engine();
    anyhow::ensure!(!matches!(&engine, Engine::Sqlite(path) if !path.exists()), "database: {engine} does not exist");
    let store = wiring::store(config, config.storage.migrate).await?.store;
    let auditor = Auditor::new(store.clone(), INSTANCE);
    let note = async |action, user: UserId| auditor.note(SystemClock.now(), None, None, action, Some(user.to_string())).await;
    let done = async {
        match command {
            UserCommand::List => list(store.as_ref()).await,
            UserCommand::Show { user } => {
                let caller = known(store.as_ref(), &user).await?;
                note(AuditAction::UserShown, caller.user()).await;
                show(store.as_ref(), &caller).await
            }
            UserCommand::Delete { user, yes } => {
                let caller = known(store.as_ref(), &user).await?;
                anyhow::ensure!(yes, "this deletes everything of {} for good; say --yes", caller.user());
                note(AuditAction::DataDeleted, caller.user()).await;
                delete(config, &store, &caller).await
            }
            UserCommand::Tokens { command: TokensCommand::Revoke { user } } => {
                let caller = known(store.as_ref(), &user).await?;
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

/// A user that the store has something of, or had.
async fn known(store: &dyn Store, name: &str) -> anyhow::Result<Caller> {
    let user = archive::named(store, Some(name)).await?.context("no user is named")?;
    // The first one after the one before.
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
        Some(e) if e.ended_at.is_none() => say!("everything is being deleted since {}", e.begun_at.format("%Y-%m-%d %H:%M:%S"))?,
        Some(e) => say!("everything was deleted at {}", e.begun_at.format("%Y-%m-%d %H:%M:%S"))?,
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
    let followed = graph::follow_once(config, caller, store.clone()).await;
    say!("user {}: everything is deleted", caller.user())?;
    for (table, rows) in &erasure.deleted {
        say!("  {table} {rows}")?;
    }
    match followed {
        Ok(None) => {}
        Ok(Some(changes)) => say!("graph: {changes} things followed")?,
        Err(e) => say!("graph: cannot be told now and follows when the server runs ({e})")?,
    }
    Ok(())
}
