//! Reads messages from the agent, lets the server answer them, and writes the responses. Nothing else is written to standard output.

use std::{collections::HashMap, time::Duration};

use futures_util::{
    StreamExt,
    future::{AbortHandle, abortable},
    stream::FuturesUnordered,
};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio_util::codec::{FramedRead, LinesCodec, LinesCodecError};

use super::{
    backend::Backend,
    messages::{self, Line},
};
use crate::app::output::map_output_error;

/// Longest line, in bytes. The server refuses bodies of more than a megabyte.
const MAX_LINE_BYTES: usize = 2 * 1024 * 1024;
/// Requests that are answered at the same time. While there are as many, no further line is read.
const MAX_CONCURRENT: usize = 16;
/// How long running requests may continue after the agent has closed standard input.
const GRACE: Duration = Duration::from_secs(10);

/// Answers the agent's messages until it closes its side.
///
/// # Errors
/// `OutputClosed` if the agent no longer reads.
pub(super) async fn run(backend: &Backend, input: impl AsyncRead + Unpin, mut output: impl AsyncWrite + Unpin) -> anyhow::Result<()> {
    let mut lines = FramedRead::new(input, LinesCodec::new_with_max_length(MAX_LINE_BYTES));
    let mut running = FuturesUnordered::new();
    let mut aborts: HashMap<String, AbortHandle> = HashMap::new();
    loop {
        let line = tokio::select! {
            Some(ended) = running.next() => {
                if let Ok((key, response)) = ended {
                    aborts.remove(&key);
                    write(&mut output, &response).await?;
                }
                continue;
            }
            line = lines.next(), if running.len() < MAX_CONCURRENT => line,
        };
        let line = match line {
            Some(Ok(line)) => line,
            Some(Err(LinesCodecError::MaxLineLengthExceeded)) => {
                let refusal = messages::error(&Value::Null, -32600, "The message is too long. Send less at a time.", None);
                write(&mut output, &refusal).await?;
                continue;
            }
            Some(Err(LinesCodecError::Io(_))) | None => break,
        };
        match Line::read(&line) {
            Line::Request { id, message } => {
                let key = id.to_string();
                let answer = async move { (id.to_string(), backend.respond(&id, &message).await) };
                let (answer, abort) = abortable(answer);
                aborts.insert(key, abort);
                running.push(answer);
            }
            // Closing the connection to the server cancels the call there. A cancelled request gets no response.
            Line::Cancelled(id) => {
                if let Some(abort) = aborts.remove(&id.to_string()) {
                    abort.abort();
                }
            }
            Line::Ignored => {}
            Line::Malformed(refusal) => write(&mut output, &refusal).await?,
        }
    }
    let rest = async {
        while let Some(ended) = running.next().await {
            if let Ok((_, response)) = ended {
                write(&mut output, &response).await?;
            }
        }
        Ok(())
    };
    tokio::time::timeout(GRACE, rest).await.unwrap_or(Ok(()))
}

async fn write(output: &mut (impl AsyncWrite + Unpin), response: &Value) -> anyhow::Result<()> {
    output.write_all(format!("{response}\n").as_bytes()).await.map_err(map_output_error)?;
    output.flush().await.map_err(map_output_error)
}
