//! The filter of senders, and the lookup of the machine's own address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// The senders whose datagrams the port accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Senders {
    /// All senders.
    Any,
    /// This machine, to any of its addresses.
    ThisMachine,
}

impl Senders {
    /// Returns the address to bind for the configured address `listen`.
    pub(crate) fn bind_to(self, listen: SocketAddr) -> SocketAddr {
        match (self, listen) {
            (Self::Any, _) => listen,
            (Self::ThisMachine, SocketAddr::V4(_)) => SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), listen.port()),
            (Self::ThisMachine, SocketAddr::V6(_)) => SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), listen.port()),
        }
    }

    /// Whether a datagram is accepted.
    ///
    /// A datagram from this machine to one of its own addresses has that address as its source, unless
    /// the sender chose another one. A loopback address cannot be reached from outside. The kernel drops
    /// datagrams from outside that claim to come from this machine.
    pub(super) fn accept(self, from: IpAddr, to: Option<IpAddr>) -> bool {
        let (from, to) = (from.to_canonical(), to.map(|to| to.to_canonical()));
        self == Self::Any || from.is_loopback() || to.is_some_and(|to| to.is_loopback() || to == from)
    }
}

/// Returns the address that this machine uses towards other networks, if it has a network.
///
/// Browsers use the same address for their peers. Connecting a UDP socket looks up the route and sends
/// nothing. The target is a documentation address, which no host has (RFC 5737, RFC 3849).
pub(crate) fn own_address(is_ipv6: bool) -> Option<IpAddr> {
    let (any, elsewhere): (IpAddr, IpAddr) = if is_ipv6 {
        (Ipv6Addr::UNSPECIFIED.into(), Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into())
    } else {
        (Ipv4Addr::UNSPECIFIED.into(), Ipv4Addr::new(203, 0, 113, 1).into())
    };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect((elsewhere, 9)).ok()?;
    let ip = socket.local_addr().ok()?.ip();
    (!ip.is_loopback() && !ip.is_unspecified()).then_some(ip)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_filter_refuses_other_machines() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        for (from, to, accepted) in [
            ("127.0.0.1", "127.0.0.1", true),
            ("192.168.1.5", "127.0.0.1", true),
            ("192.168.1.5", "192.168.1.5", true),
            ("fd00::2", "fd00::2", true),
            ("::ffff:192.168.1.5", "192.168.1.5", true),
            ("192.168.1.6", "192.168.1.5", false),
            ("203.0.113.9", "192.168.1.5", false),
            ("fd00::3", "fd00::2", false),
        ] {
            assert_eq!(Senders::ThisMachine.accept(ip(from), Some(ip(to))), accepted, "{from} to {to}");
            assert!(Senders::Any.accept(ip(from), Some(ip(to))));
        }
        assert!(!Senders::ThisMachine.accept(ip("192.168.1.5"), None), "the destination address is unknown");
        assert!(Senders::ThisMachine.accept(ip("127.0.0.1"), None));
    }
}
