//! Commands and flags.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use super::{archive::Owners, output, user::UserCommand};
use crate::config::{Config, Flags};

/// A memory server for chat applications.
#[derive(Parser)]
#[command(name = "recall", version, disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    settings: Settings,
}

#[derive(Args, Default)]
struct Settings {
    /// Address and port for HTTP [default: 127.0.0.1:8080]
    #[arg(long, global = true, value_name = "ADDRESS:PORT")]
    listen: Option<String>,
    /// Folder for everything this server writes [default: ./recall-data]
    #[arg(long, global = true, value_name = "DIR")]
    data: Option<String>,
    /// File with settings; see recall.example.toml
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// `sqlite:PATH` or `postgres://USER:PASSWORD@HOST:PORT/DATABASE`
    #[arg(long, global = true, value_name = "URL")]
    database_url: Option<String>,
    /// The address that browsers use, when it is not the listener's own
    #[arg(long, global = true, value_name = "URL")]
    public_url: Option<String>,
    /// Address and port for WebRTC
    #[arg(long, global = true, value_name = "ADDRESS:PORT")]
    udp_listen: Option<String>,
    /// Addresses told to browsers for WebRTC, with commas
    #[arg(long, global = true, value_name = "ADDRESSES")]
    udp_public_addresses: Option<String>,
    /// File with the relations to use instead of the built-in ones
    #[arg(long, global = true, value_name = "FILE")]
    ontology: Option<String>,
    /// Which log events, such as `info` or `recall=debug`
    #[arg(long, global = true, value_name = "FILTER")]
    log: Option<String>,
    /// `text` or `json`
    #[arg(long, global = true, value_name = "FORMAT")]
    log_format: Option<String>,
}

#[derive(Subcommand)]
enum Command {
    /// Runs the server (also without any command)
    Serve,
    /// Extracts entities and facts from JSON lines on standard input
    Extract {
        /// Who finds facts: `local`, `hybrid` or `model` [default: as configured, which is local without a model]
        #[arg(long, value_name = "POLICY")]
        policy: Option<String>,
    },
    /// Prints the GraphQL schema
    Schema {
        /// Prints the JSON schema of the events instead
        #[arg(long)]
        events: bool,
        /// Prints every setting, as docs/configuration.md, instead
        #[arg(long, conflicts_with = "events")]
        settings: bool,
    },
    /// Applies migrations and exits
    Migrate,
    /// Brings all vectors to the embedding model that is configured, in the foreground; the server does so too, more slowly
    Embed,
    /// Looks after the graph engine
    Graph {
        #[command(subcommand)]
        command: GraphCommand,
    },
    /// Writes all that is kept of users but visitors to standard output, as lines of JSON; see docs/archive.md
    Export {
        /// Only this user: an id, `local` for the user of an installation without login, or `shared` for shared memory
        #[arg(long, value_name = "ID")]
        user: Option<String>,
    },
    /// Reads from standard input what `export` wrote; may be repeated
    Import {
        /// Takes the data of the one user in the archive as this user's: an id, `local`, or `shared` for shared memory
        #[arg(long, value_name = "ID")]
        into: Option<String>,
        /// Writes for every owner that the archive names, shared memory included; for an archive that nobody else could edit
        #[arg(long, conflicts_with = "into")]
        trust_owners: bool,
    },
    /// Shows users and deletes what is kept of them
    User {
        #[command(subcommand)]
        command: UserCommand,
    },
    /// Asks the running server of this configuration whether it is ready
    Health,
    /// Checks the configuration, reaches every configured service and prints what it found
    Check,
}

#[derive(Subcommand)]
enum GraphCommand {
    /// Rebuilds the graph engine's projection from the relational store
    Rebuild,
    /// Compares the graph engine with the relational store and prints what differs
    Check,
}

impl Settings {
    fn load(self) -> anyhow::Result<Config> {
        self.load_with(None)
    }

    fn load_with(self, extraction: Option<String>) -> anyhow::Result<Config> {
        let given = [
            ("server.listen", self.listen),
            ("storage.data", self.data),
            ("storage.database_url", self.database_url),
            ("server.public_url", self.public_url),
            ("stream.udp_listen", self.udp_listen),
            ("stream.udp_public_addresses", self.udp_public_addresses),
            ("understanding.ontology", self.ontology),
            ("understanding.extraction", extraction),
            ("log.filter", self.log),
            ("log.format", self.log_format),
        ];
        let flags = Flags { values: given.into_iter().filter_map(|(k, v)| v.map(|v| (k, v))).collect() };
        let environment = std::env::vars_os().filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)));
        Ok(Config::load(self.config.as_deref(), environment, &flags)?)
    }
}

/// Runs the command given on the command line.
///
/// # Errors
/// Whatever ended the command; the text is for people.
pub fn run() -> anyhow::Result<()> {
    let cli = Cli::parse();
    match cli.command.unwrap_or(Command::Serve) {
        Command::Schema { events, settings } => {
            let text = match (events, settings) {
                (true, _) => recall_api::events_schema(),
                (_, true) => crate::config::page(),
                _ => recall_api::sdl(),
            };
            output::print(format_args!("{text}"))
        }
        Command::Extract { policy } => super::extract::run(&cli.settings.load_with(policy)?),
        Command::Serve => runtime()?.block_on(super::serve::run(cli.settings.load()?)),
        Command::Graph { command: GraphCommand::Rebuild } => runtime()?.block_on(super::graph::rebuild(&cli.settings.load()?)),
        Command::Graph { command: GraphCommand::Check } => runtime()?.block_on(super::graph::check(&cli.settings.load()?)),
        Command::Embed => runtime()?.block_on(super::reembed::run(&cli.settings.load()?)),
        Command::Migrate => runtime()?.block_on(super::check::migrate(&cli.settings.load()?)),
        Command::Export { user } => runtime()?.block_on(super::archive::export(&cli.settings.load()?, user.as_deref())),
        Command::Import { into, trust_owners } => {
            let owners = if trust_owners { Owners::Trusted } else { Owners::Local };
            runtime()?.block_on(super::archive::import(&cli.settings.load()?, into.as_deref(), owners))
        }
        Command::User { command } => runtime()?.block_on(super::user::run(&cli.settings.load()?, command)),
        Command::Health => runtime()?.block_on(super::health::run(&cli.settings.load()?)),
        Command::Check => runtime()?.block_on(super::check::run(&cli.settings.load()?)),
    }
}

/// An error with its causes, each once: many of ours have the text of their cause in their own.
pub fn told(error: &anyhow::Error) -> String {
    let mut all = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if !all.contains(&cause) {
            all.push_str(if all.is_empty() { "" } else { ": " });
            all.push_str(&cause);
        }
    }
    all
}

fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread().enable_all().build()?)
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    #[test]
    fn each_cause_is_told_once() {
        #[derive(Debug, thiserror::Error)]
        #[error("the store is not available: {0}")]
        struct Outer(#[source] std::io::Error);
        let refused = || Outer(std::io::Error::other("connection refused"));
        let error = Err::<(), _>(refused()).context("the database cannot be opened").unwrap_err();
        assert_eq!(super::told(&error), "the database cannot be opened: the store is not available: connection refused");
    }
}
