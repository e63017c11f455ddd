//! Whose datagrams the port takes, and the machine's own address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// Whose datagrams the port takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Senders {
    /// Those of everybody who reaches it.
    Everybody,
    /// Those of this machine, whichever of its addresses they are sent to.
    ThisMachine,
}

impl Senders {
    /// The address to bind for a port that is announced at `listen`.
    pub(crate) fn bind_to(self, listen: SocketAddr) -> SocketAddr {
        match (self, listen) {
            (Self::Everybody, _) => listen,
            (Self::ThisMachine, SocketAddr::V4(_)) => SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), listen.port()),
            (Self::ThisMachine, SocketAddr::V6(_)) => SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), listen.port()),
        }
    }

    /// Whether a datagram is taken. What this machine sends to one of its own addresses carries that address as its source, unless
    /// the sender chose another one; a loopback address is reached from nowhere else. The kernel drops datagrams from outside
    /// that claim to come from the machine itself.
    pub(super) fn admit(self, from: IpAddr, to: Option<IpAddr>) -> bool {
        let (from, to) = (from.to_canonical(), to.map(|to| to.to_canonical()));
        self == Self::Everybody || from.is_loopback() || to.is_some_and(|to| to.is_loopback() || to == from)
    }
}

/// The address that this machine uses towards other networks, which is the one that browsers use for peers; none without a network.
/// Connecting a UDP socket looks up the route and sends nothing; nobody has the documentation addresses (RFC 5737, RFC 3849).
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
    fn datagrams_of_other_machines_are_refused() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        for (from, to, taken) in [
            ("127.0.0.1", "127.0.0.1", true),
            ("192.168.1.5", "127.0.0.1", true),
            ("192.168.1.5", "192.168.1.5", true),
            ("fd00::2", "fd00::2", true),
            ("::ffff:192.168.1.5", "192.168.1.5", true),
            ("192.168.1.6", "192.168.1.5", false),
            ("203.0.113.9", "192.168.1.5", false),
            ("fd00::3", "fd00::2", false),
        ] {
            assert_eq!(Senders::ThisMachine.admit(ip(from), Some(ip(to))), taken, "{from} to {to}");
            assert!(Senders::Everybody.admit(ip(from), Some(ip(to))));
        }
        assert!(!Senders::ThisMachine.admit(ip("192.168.1.5"), None), "a datagram whose address nobody knows");
        assert!(Senders::ThisMachine.admit(ip("127.0.0.1"), None));
    }
}
