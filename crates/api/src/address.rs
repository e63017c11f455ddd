//! Finds the client's address: the peer, or the address that a trusted proxy names.

use std::net::{IpAddr, Ipv6Addr};

use axum::http::HeaderMap;
use ipnet::IpNet;

/// The client's address, as an extension of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClientAddress(pub(crate) IpAddr);

const FORWARDED_FOR: &str = "x-forwarded-for";

/// Finds the client's address.
///
/// Each proxy appends the address of its peer to the header. The function therefore reads from the end, and accepts an address
/// only if all proxies after it are trusted. What the client itself wrote comes first and never counts.
pub(crate) fn client_address(peer: IpAddr, headers: &HeaderMap, proxies: &[IpNet]) -> IpAddr {
    let mut client = peer.to_canonical();
    let lines: Vec<&str> = headers.get_all(FORWARDED_FOR).iter().map(|line| line.to_str().unwrap_or_default()).collect();
    let mut names = lines.iter().rev().flat_map(|line| line.rsplit(','));
    while is_in_any(client, proxies) {
        match names.next().and_then(parse_address) {
            Some(named) => client = named,
            None => break,
        }
    }
    client
}

/// Whether an address belongs to one of the networks, in either IPv4 notation.
pub(crate) fn is_in_any(address: IpAddr, networks: &[IpNet]) -> bool {
    let address = address.to_canonical();
    networks.iter().any(|network| network.contains(&address))
}

/// Whether the request claims to come through a proxy.
pub(crate) fn is_forwarded(headers: &HeaderMap) -> bool {
    headers.contains_key(FORWARDED_FOR)
}

/// The IPv4 address, or the IPv6 /64, that limits count as one client.
///
/// A household gets a whole /64 and could use another address for each request.
pub(crate) fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(four) => IpAddr::V4(four),
        IpAddr::V6(six) => IpAddr::V6(Ipv6Addr::from_bits(six.to_bits() & !u128::from(u64::MAX))),
    }
}

/// Reads an address as proxies write it: bare, in brackets or with a port.
fn parse_address(text: &str) -> Option<IpAddr> {
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

    fn resolved(peer: &str, lines: &[&str], proxies: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(FORWARDED_FOR, line.parse().unwrap());
        }
        let proxies: Vec<IpNet> = proxies.iter().map(|p| p.parse().unwrap()).collect();
        client_address(peer.parse().unwrap(), &headers, &proxies).to_string()
    }

    #[test]
    fn only_addresses_from_trusted_proxies_are_accepted() {
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
            assert_eq!(resolved(peer, lines, &inner), expected, "{peer} {lines:?}");
        }
        assert_eq!(resolved("10.0.0.1", &["198.51.100.1"], &[]), "10.0.0.1");
    }

    #[test]
    fn addresses_of_one_ipv6_network_count_as_one() {
        let same = |a: &str, b: &str| network_of(a.parse().unwrap()) == network_of(b.parse().unwrap());
        assert!(same("2001:db8::1", "2001:db8::ffff:1") && !same("2001:db8::1", "2001:db8:0:1::1"));
        assert!(same("::ffff:192.0.2.1", "192.0.2.1") && !same("192.0.2.1", "192.0.2.2"));
    }

    proptest::proptest! {
        #[test]
        fn client_cannot_forge_its_address_in_front_of_a_proxy(said in "[ -~]{0,60}") {
            let line = format!("{said}, 198.51.100.1");
            proptest::prop_assert_eq!(resolved("10.0.0.1", &[&line], &["10.0.0.0/8"]), "198.51.100.1");
        }
    }
}
