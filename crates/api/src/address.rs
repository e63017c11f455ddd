//! Where a request comes from: the other side of the connection, or whom a trusted proxy there names.

use std::net::{IpAddr, Ipv6Addr};

use axum::http::HeaderMap;
use ipnet::IpNet;

/// Where a request comes from, for those who note it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClientAddress(pub(crate) IpAddr);

const FORWARDED_FOR: &str = "x-forwarded-for";

/// The client's address. Proxies append whom they heard, so the last name is read first and each name is believed only if
/// all that stand behind it are trusted: what a client writes itself comes before and never counts.
pub(crate) fn of(peer: IpAddr, headers: &HeaderMap, proxies: &[IpNet]) -> IpAddr {
    let mut client = peer.to_canonical();
    let lines: Vec<&str> = headers.get_all(FORWARDED_FOR).iter().map(|line| line.to_str().unwrap_or_default()).collect();
    let mut names = lines.iter().rev().flat_map(|line| line.rsplit(','));
    while is_among(client, proxies) {
        match names.next().and_then(address) {
            Some(named) => client = named,
            None => break,
        }
    }
    client
}

/// Whether an address belongs to one of these networks, however it is written.
pub(crate) fn is_among(address: IpAddr, networks: &[IpNet]) -> bool {
    let address = address.to_canonical();
    networks.iter().any(|network| network.contains(&address))
}

/// Whether the request was brought by somebody who claims to be a proxy.
pub(crate) fn is_forwarded(headers: &HeaderMap) -> bool {
    headers.contains_key(FORWARDED_FOR)
}

/// Those who count as one: a household gets 64 bits of addresses of the sixth version, and could use another for each request.
pub(crate) fn neighbourhood(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(four) => IpAddr::V4(four),
        IpAddr::V6(six) => IpAddr::V6(Ipv6Addr::from_bits(six.to_bits() & !u128::from(u64::MAX))),
    }
}

/// An address as proxies write it: bare, in brackets, with a port.
fn address(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let bare = || text.parse::<IpAddr>().ok();
    let with_port = || text.parse::<std::net::SocketAddr>().ok().map(|a| a.ip());
    let bracketed = || text.strip_prefix('[')?.strip_suffix(']')?.parse::<IpAddr>().ok();
    bare().or_else(with_port).or_else(bracketed).map(|a| a.to_canonical())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn of_lines(peer: &str, lines: &[&str], proxies: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(FORWARDED_FOR, line.parse().unwrap());
        }
        let proxies: Vec<IpNet> = proxies.iter().map(|p| p.parse().unwrap()).collect();
        of(peer.parse().unwrap(), &headers, &proxies).to_string()
    }

    #[test]
    fn only_what_trusted_proxies_say_is_believed() {
        let inner = ["10.0.0.0/8", "2001:db8:1::/48"];
        for (peer, lines, expected) in [
            ("203.0.113.9", &["198.51.100.1"][..], "203.0.113.9"),
            ("10.0.0.1", &["198.51.100.1"][..], "198.51.100.1"),
            ("::ffff:10.0.0.1", &["198.51.100.1"][..], "198.51.100.1"),
            ("10.0.0.1", &["6.6.6.6, 198.51.100.1"][..], "198.51.100.1"),
            ("10.0.0.1", &["6.6.6.6, 198.51.100.1,10.0.0.2"][..], "198.51.100.1"),
            ("10.0.0.1", &["6.6.6.6", "198.51.100.1", "10.0.0.2"][..], "198.51.100.1"),
            ("10.0.0.1", &["6.6.6.6, unknown"][..], "10.0.0.1"),
            ("10.0.0.1", &["6.6.6.6, 10.0.0.2, "][..], "10.0.0.1"),
            ("10.0.0.1", &["10.0.0.3"][..], "10.0.0.3"),
            ("10.0.0.1", &[][..], "10.0.0.1"),
            ("2001:db8:1::1", &["[2001:db8:2::7]:4711"][..], "2001:db8:2::7"),
            ("2001:db8:1::1", &["198.51.100.1:80"][..], "198.51.100.1"),
        ] {
            assert_eq!(of_lines(peer, lines, &inner), expected, "{peer} {lines:?}");
        }
        assert_eq!(of_lines("10.0.0.1", &["198.51.100.1"], &[]), "10.0.0.1");
    }

    #[test]
    fn a_household_counts_as_one() {
        let same = |a: &str, b: &str| neighbourhood(a.parse().unwrap()) == neighbourhood(b.parse().unwrap());
        assert!(same("2001:db8::1", "2001:db8::ffff:1") && !same("2001:db8::1", "2001:db8:0:1::1"));
        assert!(same("::ffff:192.0.2.1", "192.0.2.1") && !same("192.0.2.1", "192.0.2.2"));
    }

    proptest::proptest! {
        #[test]
        fn whatever_a_client_writes_first_it_stays_the_one_the_proxy_heard(said in "[ -~]{0,60}") {
            let line = format!("{said}, 198.51.100.1");
            proptest::prop_assert_eq!(of_lines("10.0.0.1", &[&line], &["10.0.0.0/8"]), "198.51.100.1");
        }
    }
}
