//! `recall health`: asks the server of this configuration whether it is ready. For containers, which hold no other program that
//! could ask.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    time::Duration,
};

use anyhow::{Context, bail};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// Longest wait for all of it.
const PATIENCE: Duration = Duration::from_secs(5);
/// Longest answer that is read; a problem document is far shorter.
const LONGEST: u64 = 16 * 1024;

/// Succeeds when the server on `listen` is ready.
pub(super) async fn run(listen: SocketAddr) -> anyhow::Result<()> {
    let answer = tokio::time::timeout(PATIENCE, ask(reachable(listen))).await.context("the server does not answer")??;
    let (head, body) = answer.split_once("\r\n\r\n").context("not an HTTP answer")?;
    let status = head.split_ascii_whitespace().nth(1).context("not an HTTP answer")?;
    if status != "200" {
        bail!("not ready ({status}): {}", body.trim());
    }
    println!("ready");
    Ok(())
}

async fn ask(address: SocketAddr) -> anyhow::Result<String> {
    let mut connection = TcpStream::connect(address).await.with_context(|| format!("nothing answers on {address}"))?;
    let request = format!("GET /readyz?exclude=optional HTTP/1.0\r\nHost: {address}\r\n\r\n");
    connection.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    connection.take(LONGEST).read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// Who listens everywhere is asked on the loopback address.
fn reachable(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_listens_everywhere_is_asked_here() {
        for (listen, asked) in [("0.0.0.0:8080", "127.0.0.1:8080"), ("[::]:80", "[::1]:80"), ("10.0.0.1:80", "10.0.0.1:80")] {
            assert_eq!(reachable(listen.parse().unwrap()).to_string(), asked);
        }
    }
}
