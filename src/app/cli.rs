//! Defines and runs the commands and flags of `recall`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use super::{archive::Owners, chats, documents::DocumentsCommand, output, user::UserCommand};
use crate::config::{Config, Flags};

/// The text below the flags in the help.
const AFTER_HELP: &str = "Flags override RECALL_* environment variables, and those override the configuration file.
docs/configuration.md lists every setting.";

/// Memory server for chat applications
///
/// Without a command, `recall` runs the server.
#[derive(Parser)]
#[command(name = "recall", version, disable_help_subcommand = true, after_help = AFTER_HELP)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    settings: Settings,
}

#[derive(Args, Default)]
struct Settings {
    /// Address and port of the HTTP server [default: 127.0.0.1:8080]
    #[arg(long, global = true, value_name = "ADDRESS:PORT")]
    listen: Option<String>,
    /// Directory for the data of this server [default: ./recall-data]
    #[arg(long, global = true, value_name = "DIR")]
    data: Option<String>,
    /// Configuration file in TOML, such as recall.example.toml [default: none]
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Database: `sqlite:PATH` or `postgres://USER:PASSWORD@HOST:PORT/DATABASE` [default: recall.db in the data directory]
    #[arg(long, global = true, value_name = "URL")]
    database_url: Option<String>,
    /// URL that browsers use for this server [default: the listen address]
    #[arg(long, global = true, value_name = "URL")]
    public_url: Option<String>,
    /// UDP address and port for WebRTC [default: the listen address and a free port]
    #[arg(long, global = true, value_name = "ADDRESS:PORT")]
    udp_listen: Option<String>,
    /// Comma-separated addresses announced to browsers for WebRTC [default: the UDP address]
    #[arg(long, global = true, value_name = "ADDRESSES")]
    udp_public_addresses: Option<String>,
    /// File with relations that replace the built-in ontology
    #[arg(long, global = true, value_name = "FILE")]
    ontology: Option<String>,
    /// Log filter, such as `info` or `recall=debug` [default: info, and only errors of the WebRTC stack]
    #[arg(long, global = true, value_name = "FILTER")]
    log: Option<String>,
    /// Log format: `text` or `json` [default: text]
    #[arg(long, global = true, value_name = "FORMAT")]
    log_format: Option<String>,
}

#[derive(Subcommand)]
enum Command {
    /// Run the server; the default command
    Serve,
    /// Extract entities and facts from messages
    ///
    /// Reads one message per line from standard input, as JSON: {"id", "speaker", "text"}. Prints the entities and facts of each message
    /// as one line of JSON. Opens no database.
    Extract {
        /// What finds facts: `local` or `model` [default: as configured]
        #[arg(long, value_name = "POLICY")]
        policy: Option<String>,
    },
    /// Show what the parser reads in a document: title, sections, pages and chunks
    ///
    /// Uses the same child process, limits and chunk size as the server. Opens no database.
    Parse {
        /// The document: PDF, DOCX, HTML, Markdown, CSV or plain text
        file: PathBuf,
        /// Print the whole result as JSON instead
        #[arg(long)]
        json: bool,
    },
    /// Parse standard input in a child process that the server starts
    #[command(name = recall_documents::child::COMMAND, hide = true)]
    ParseDocument(super::parse::ChildArgs),
    /// Print the GraphQL schema
    Schema {
        /// Print the JSON schema of the events instead
        #[arg(long)]
        events: bool,
        /// Print the reference of all settings in Markdown instead
        #[arg(long, conflicts_with = "events")]
        settings: bool,
    },
    /// Print the OpenAPI description of the HTTP endpoints
    Openapi,
    /// Apply database migrations
    ///
    /// `recall serve` also applies them, unless storage.migrate is false.
    Migrate,
    /// Re-embed all messages with the configured embedding model
    ///
    /// Works at full speed until all vectors are of that model. A running server does the same in the background, more slowly.
    Embed,
    /// Rebuild or check the graph in Neo4j
    Graph {
        #[command(subcommand)]
        command: GraphCommand,
    },
    /// Export the data of all users as JSON lines
    ///
    /// Writes the archive to standard output. Visitors are left out, unless --user names one. docs/archive.md describes the format.
    Export {
        /// Export one user: an id, `local` for the user of a server without login, or `shared` for shared memory [default: all users]
        #[arg(long, value_name = "ID")]
        user: Option<String>,
    },
    /// Import an archive that `recall export` wrote, or chats of another program
    ///
    /// Reads the archive from standard input, verifies all of it, and then writes it. An interrupted import can be repeated. By default
    /// only the data of a local user is accepted, and written for the local user of this server. With --format it reads the file that
    /// another program exported, and a running server may work meanwhile; docs/import.md describes the formats.
    Import {
        /// Import as this user: an id, `local`, or `shared` for shared memory [default: the local user]
        #[arg(long, value_name = "ID")]
        into: Option<String>,
        /// Import chats that this program exported
        #[arg(long, value_name = "FORMAT", requires = "file", conflicts_with = "trust_owners")]
        format: Option<chats::Format>,
        /// Import the chats of this user, if the file contains those of several users
        #[arg(long, value_name = "ID", requires = "format")]
        source_user: Option<String>,
        /// File that the other program exported
        #[arg(requires = "format")]
        file: Option<PathBuf>,
        /// Accept every owner that the archive names, also shared memory; only for archives that nobody else could edit
        #[arg(long, conflicts_with = "into")]
        trust_owners: bool,
    },
    /// Connect a desktop agent to the memory (Model Context Protocol)
    ///
    /// Speaks JSON-RPC over standard input and output, and forwards it to the endpoint /mcp of a server. If no server answers at the
    /// listen address, it runs one in this process, with the same settings as `recall serve`. docs/mcp.md shows how to configure agents.
    Mcp {
        /// URL of the server [default: the listen address]
        #[arg(long, value_name = "URL")]
        url: Option<String>,
        /// File with the token for the server [default: RECALL_MCP_TOKEN]
        #[arg(long, value_name = "FILE")]
        token_file: Option<PathBuf>,
    },
    /// Add, list and delete documents
    Documents {
        #[command(subcommand)]
        command: DocumentsCommand,
    },
    /// List, show and delete users, and revoke their access tokens
    User {
        #[command(subcommand)]
        command: UserCommand,
    },
    /// Ask the running server whether it is ready
    ///
    /// Uses the same configuration as the server to find it. Fails if the server does not answer or is not ready.
    Health,
    /// Check the configuration and every configured service
    ///
    /// Prints what it finds: database, graph engine, model servers, identity providers. Changes nothing.
    Check,
}

#[derive(Subcommand)]
enum GraphCommand {
    /// Rebuild the graph in Neo4j from the database; a server may run meanwhile
    Rebuild,
    /// Compare the graph in Neo4j with the database and print the differences; fails if there are any
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
        // The token of an agent is no setting of the server.
        let environment = environment.filter(|(name, _)| !super::mcp::TOKEN_VARIABLES.contains(&name.as_str()));
        Ok(Config::load(self.config.as_deref(), environment, &flags)?)
    }
}

/// Parses the command line and runs its command.
///
/// # Errors
/// The error that ended the command; [`describe_error`] gives its text for people.
pub fn run() -> anyhow::Result<()> {
    crate::allocator::limit_arenas();
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
        Command::Openapi => output::print(format_args!("{}", recall_api::openapi())),
        Command::Extract { policy } => super::extract::run(&cli.settings.load_with(policy)?),
        Command::Parse { file, json } => runtime()?.block_on(super::parse::run(&cli.settings.load()?, &file, json)),
        Command::ParseDocument(args) => args.run(),
        Command::Serve => runtime()?.block_on(super::serve::run(cli.settings.load()?)),
        Command::Graph { command: GraphCommand::Rebuild } => runtime()?.block_on(super::graph::rebuild(&cli.settings.load()?)),
        Command::Graph { command: GraphCommand::Check } => runtime()?.block_on(super::graph::check(&cli.settings.load()?)),
        Command::Embed => runtime()?.block_on(super::reembed::run(&cli.settings.load()?)),
        Command::Migrate => runtime()?.block_on(super::check::migrate(&cli.settings.load()?)),
        Command::Export { user } => runtime()?.block_on(super::archive::export(&cli.settings.load()?, user.as_deref())),
        Command::Import { into, format: Some(format), file: Some(file), source_user, .. } => {
            let import = chats::Import { format, file, into, source_user };
            runtime()?.block_on(chats::run(&cli.settings.load()?, import))
        }
        Command::Import { into, trust_owners, .. } => {
            let owners = if trust_owners { Owners::Trusted } else { Owners::Local };
            runtime()?.block_on(super::archive::import(&cli.settings.load()?, into.as_deref(), owners))
        }
        Command::Mcp { url, token_file } => {
            let runtime = runtime()?;
            let done = runtime.block_on(super::mcp::run(cli.settings.load()?, url, token_file.as_deref()));
            // A read of standard input cannot be cancelled. After a signal, the runtime would wait for the agent's next line.
            runtime.shutdown_background();
            done
        }
        Command::Documents { command } => runtime()?.block_on(super::documents::run(&cli.settings.load()?, command)),
        Command::User { command } => runtime()?.block_on(super::user::run(&cli.settings.load()?, command)),
        Command::Health => runtime()?.block_on(super::health::run(&cli.settings.load()?)),
        Command::Check => runtime()?.block_on(super::check::run(&cli.settings.load()?)),
    }
}

/// Joins the texts of an error and its causes, without repetition.
///
/// Many errors of this project already contain the text of their cause.
pub fn describe_error(error: &anyhow::Error) -> String {
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
    fn error_description_names_each_cause_once() {
        #[derive(Debug, thiserror::Error)]
        #[error("the store is not available: {0}")]
        struct Outer(#[source] std::io::Error);
        let refused = || Outer(std::io::Error::other("connection refused"));
        let error = Err::<(), _>(refused()).context("the database cannot be opened").unwrap_err();
        assert_eq!(super::describe_error(&error), "the database cannot be opened: the store is not available: connection refused");
    }
}
