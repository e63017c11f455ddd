//! `recall import --format`: imports chats that another program exported.
//!
//! A thread reads the file and passes one conversation at a time to the importer, so memory use does not grow with the file. Sessions and
//! messages get the ids of the export: a repeated or resumed import stores nothing twice.

mod format;
mod prepare;
mod source;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::Context;
use serde::Deserialize;
use tokio::sync::mpsc;

pub(super) use self::format::Format;
use self::format::{Conversation, Reason, Skipped};
use super::{
    operator::{INSTANCE, parse_user},
    output::{self, say},
    user::find_user,
    wiring,
};
use crate::config::Config;
use recall_api::{Auditor, LocalUser};
use recall_domain::{AuditAction, Caller};
use recall_ports::Store;
use recall_usecases::{SendMessage, UseCaseError, UseCases};

/// Conversations that wait between the reader and the importer.
const AHEAD: usize = 4;
/// Messages between two lines of progress.
const PROGRESS: u64 = 1_000;
/// How often an import is tried while the database is busy.
const ATTEMPTS: u32 = 10;
/// Most messages of adjacent elements that are imported together.
const JOINED: usize = 500;

/// The file to import, and the user who gets it.
pub(super) struct Import {
    pub(super) format: Format,
    pub(super) file: PathBuf,
    /// The user that the chats are imported for; default: the local user.
    pub(super) into: Option<String>,
    /// The user of the exported server whose chats are imported.
    pub(super) source_user: Option<String>,
}

/// The result of an import.
#[derive(Debug, Default)]
struct Summary {
    sessions: u64,
    messages: u64,
    /// Messages that were there before.
    known: u64,
    skipped: Skipped,
}

impl Summary {
    /// Whether the file has conversations, and none has the form of its format.
    fn is_of_other_form(&self) -> bool {
        self.sessions == 0 && self.skipped.iter().map(|(reason, _)| reason).eq([Reason::Unreadable])
    }
}

/// Runs `recall import --format`.
pub(super) async fn run(config: &Config, import: Import) -> anyhow::Result<()> {
    // Before the database is opened, so that a wrong file changes nothing.
    let (format, path) = (import.format, import.file.clone());
    let owners = tokio::task::spawn_blocking(move || list_owners(format, &path)).await??;
    check_owners(&owners, import.source_user.as_deref())?;
    let services = wiring::services(config).await?;
    let done = async {
        let caller = find_caller(config, services.store.as_ref(), import.into.as_deref()).await?;
        output::note(format_args!("writes user {}", caller.user()));
        let auditor = Auditor::new(services.store.clone(), INSTANCE);
        auditor.note(services.usecases.now(), None, None, AuditAction::DataImported, Some(caller.user().to_string())).await;
        import_file(&services.usecases, caller, import).await
    };
    let done = done.await;
    services.store.close().await;
    let summary = done?;
    say!("{} sessions, {} new messages, {} known before", summary.sessions, summary.messages, summary.known)?;
    for (reason, count) in summary.skipped.iter() {
        say!("left out: {count} {}", reason.words())?;
    }
    if summary.messages > 0 {
        output::note(format_args!("a running server finds the facts in the background; otherwise the next one does"));
    }
    anyhow::ensure!(!summary.is_of_other_form(), "no conversation could be read; does --format name the program that wrote the file?");
    Ok(())
}

/// Finds the user that the chats are imported for.
///
/// The local user has no data before its first message.
pub(super) async fn find_caller(config: &Config, store: &dyn Store, into: Option<&str>) -> anyhow::Result<Caller> {
    let local = store.local_user().await?;
    let wanted = parse_user(store, into).await?.unwrap_or(local);
    match find_user(store, &wanted.to_string()).await {
        Ok(caller) => Ok(caller),
        Err(_) if wanted == local && !config.has_login() => Ok(LocalUser::behind(config.server.listen, local)?.caller()),
        Err(unknown) => Err(unknown),
    }
}

/// Lists the users that an export names; empty if its format names none.
fn list_owners(format: Format, path: &Path) -> anyhow::Result<BTreeSet<String>> {
    #[derive(Deserialize)]
    struct Owned {
        user_id: Option<String>,
    }
    let mut owners = BTreeSet::new();
    if format.has_owners() {
        source::for_each_element(path, &mut |element| {
            owners.extend(serde_json::from_str::<Owned>(element).ok().and_then(|owned| owned.user_id));
            true
        })?;
    }
    Ok(owners)
}

/// Refuses to mix the chats of several people in one memory.
fn check_owners(owners: &BTreeSet<String>, wanted: Option<&str>) -> anyhow::Result<()> {
    match wanted {
        None => anyhow::ensure!(
            owners.len() < 2,
            "the file contains the data of {} users; import one at a time with --source-user, such as --source-user {}",
            owners.len(),
            owners.first().map_or("", String::as_str)
        ),
        Some(wanted) => anyhow::ensure!(owners.contains(wanted), "the file contains nothing of the user {wanted}"),
    }
    Ok(())
}

/// What the reader passes on.
enum Read {
    Conversation(Box<Conversation>),
    LeftOut(Reason),
}

async fn import_file(usecases: &UseCases, caller: Caller, import: Import) -> anyhow::Result<Summary> {
    let (sender, mut read) = mpsc::channel(AHEAD);
    let format = import.format;
    let reader = tokio::task::spawn_blocking(move || read_file(&import, &sender));
    let mut summary = Summary::default();
    let mut sessions = BTreeSet::new();
    while let Some(next) = read.recv().await {
        match next {
            Read::Conversation(conversation) => {
                let id = conversation.id.clone();
                if store(usecases, caller, format, *conversation, &mut summary).await? {
                    sessions.insert(id);
                }
            }
            Read::LeftOut(reason) => summary.skipped.count(reason),
        }
    }
    reader.await??;
    summary.sessions = sessions.len() as u64;
    Ok(summary)
}

/// Reads the file and sends its conversations. Ends early if the importer has ended.
fn read_file(import: &Import, sender: &mpsc::Sender<Read>) -> anyhow::Result<()> {
    let mut last: Option<Box<Conversation>> = None;
    let send = |read: Read| sender.blocking_send(read).is_ok();
    source::for_each_element(&import.file, &mut |element| {
        let conversation = match import.format.read(element) {
            Ok(conversation) => conversation,
            Err(format::Unreadable) => return send(Read::LeftOut(Reason::Unreadable)),
        };
        if import.source_user.is_some() && conversation.owner != import.source_user {
            return send(Read::LeftOut(Reason::OtherUser));
        }
        match &mut last {
            // The memories of mem0 are elements of one conversation each.
            Some(last) if last.id == conversation.id && last.turns.len() < JOINED => {
                last.turns.extend(conversation.turns);
                true
            }
            last => last.replace(Box::new(conversation)).is_none_or(|before| send(Read::Conversation(before))),
        }
    })?;
    if let Some(last) = last {
        send(Read::Conversation(last));
    }
    Ok(())
}

/// Stores a conversation. Returns whether it has messages.
async fn store(
    usecases: &UseCases,
    caller: Caller,
    format: Format,
    conversation: Conversation,
    summary: &mut Summary,
) -> anyhow::Result<bool> {
    summary.skipped.add(&conversation.skipped);
    if conversation.turns.is_empty() {
        summary.skipped.count(Reason::NoMessages);
        return Ok(false);
    }
    let name = format!("{}:{}", format.name(), conversation.id);
    let title = prepare::title(conversation.title.as_deref());
    let session = usecases.session_named(&caller, &name, title).await.context("a session cannot be created")?;
    let mut count = session.message_count;
    for messages in prepare::imports(conversation, format, session.id, usecases.now(), &mut summary.skipped) {
        let given = messages.len() as u64;
        store_messages(usecases, caller, messages).await.context("messages cannot be stored")?;
        let now = usecases.session(&caller, session.id).await?.message_count;
        let new = now.saturating_sub(std::mem::replace(&mut count, now)).min(given);
        let before = summary.messages + summary.known;
        summary.messages += new;
        summary.known += given - new;
        let done = summary.messages + summary.known;
        if done / PROGRESS > before / PROGRESS {
            output::note(format_args!("{done} messages read"));
        }
    }
    Ok(true)
}

/// Stores messages, and tries again while the database is busy, for instance with the messages of a running server.
async fn store_messages(usecases: &UseCases, caller: Caller, messages: Vec<SendMessage>) -> Result<(), UseCaseError> {
    let Some(session) = messages.first().map(|message| message.session) else { return Ok(()) };
    let mut attempts = 1;
    loop {
        match usecases.import(&caller, session, messages.clone()).await {
            Err(UseCaseError::Unavailable { retry_after, .. }) if attempts < ATTEMPTS => {
                attempts += 1;
                tokio::time::sleep(retry_after.min(Duration::from_secs(5))).await;
            }
            done => return done.map(|_| ()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn owners(file: &str, format: Format) -> BTreeSet<String> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/imports").join(file);
        list_owners(format, &path).unwrap()
    }

    #[test]
    fn data_of_several_people_is_not_mixed() {
        assert_eq!(owners("openwebui.json", Format::Openwebui), ["u1".to_owned()].into());
        assert_eq!(owners("mem0.json", Format::Mem0), ["anna".to_owned()].into());
        assert!(owners("claude.json", Format::Claude).is_empty());
        let two: BTreeSet<String> = ["u1".to_owned(), "u2".to_owned()].into();
        assert!(check_owners(&two, None).unwrap_err().to_string().contains("2 users"));
        assert!(check_owners(&two, Some("u2")).is_ok() && check_owners(&two, Some("u3")).is_err());
        assert!(check_owners(&BTreeSet::new(), None).is_ok());
    }

    #[test]
    fn memories_of_one_user_are_sent_together() {
        let (sender, mut read) = mpsc::channel(AHEAD);
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/imports/mem0.json");
        let import = Import { format: Format::Mem0, file, into: None, source_user: None };
        read_file(&import, &sender).unwrap();
        drop(sender);
        let Some(Read::Conversation(memories)) = read.blocking_recv() else { unreachable!("nothing was read") };
        assert_eq!(memories.turns.len(), 3);
        assert!(read.blocking_recv().is_none());
    }
}
