//! The fixed list of servers a client was configured with.

use super::{AddressField, AddressReason, Host, ServerAddress, ServerAddressError};

/// At least one server; entries are distinct and each has a gRPC port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerList {
    servers: Vec<ServerAddress>,
    grpc_offset: u16,
}

impl ServerList {
    /// Reads entries, each of which may itself be a list split by `,` or `;`. Empty parts and repeated servers are left out.
    ///
    /// `grpc_offset` is the distance from main to gRPC port of entries that say nothing, usually
    /// [`DEFAULT_GRPC_OFFSET`](super::DEFAULT_GRPC_OFFSET).
    ///
    /// # Errors
    ///
    /// The first entry that cannot be used, or an empty list.
    pub(crate) fn parse<T: AsRef<str>>(
        entries: impl IntoIterator<Item = T>,
        grpc_offset: u16,
    ) -> Result<Self, ServerAddressError> {
        let mut servers: Vec<ServerAddress> = Vec::new();
        for entry in entries {
            for part in entry.as_ref().split([',', ';']).map(str::trim).filter(|part| !part.is_empty()) {
                let server: ServerAddress = part.parse()?;
                server.grpc_port(grpc_offset)?;
                if !servers.contains(&server) {
                    servers.push(server);
                }
            }
        }
        if servers.is_empty() {
            let (text, field, reason) = (String::new(), AddressField::List, AddressReason::Empty);
            return Err(ServerAddressError { text, field, reason });
        }
        Ok(Self { servers, grpc_offset })
    }

    /// The number of servers, at least 1.
    pub(crate) fn len(&self) -> usize {
        self.servers.len()
    }

    /// The server at `index`, counted round the list.
    pub(crate) fn get(&self, index: usize) -> &ServerAddress {
        self.servers.get(index % self.servers.len()).expect("a list holds at least one server")
    }

    /// The gRPC port of `server`, one of this list.
    pub(crate) fn grpc_port(&self, server: &ServerAddress) -> u16 {
        server.grpc_port(self.grpc_offset).expect("checked when the list was made")
    }

    /// The entry that a server means when it names `host` and main `port`: same host and port, else same host.
    pub(crate) fn find(&self, host: &str, port: Option<u16>) -> Option<usize> {
        let wanted: Option<std::net::IpAddr> = host.trim_matches(['[', ']']).parse().ok();
        let same_host = |server: &ServerAddress| match (&server.host, wanted) {
            (Host::Name(name), None) => name.eq_ignore_ascii_case(host),
            (own, Some(ip)) => own.ip() == Some(ip),
            (_, None) => false,
        };
        let exact = self.servers.iter().position(|server| same_host(server) && Some(server.port) == port);
        exact.or_else(|| self.servers.iter().position(same_host))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(entries: &[&str]) -> ServerList {
        ServerList::parse(entries, 1000).unwrap()
    }

    #[test]
    fn entries_are_split_and_repetitions_left_out() {
        let list = list(&["a:1, b;c:3", "", "a:1", "b:8848"]);
        let texts: Vec<String> = (0..list.len()).map(|i| list.get(i).to_string()).collect();
        assert_eq!(texts, ["a:1", "b:8848", "c:3"]);
        assert_eq!(list.grpc_port(list.get(1)), 9848);
        assert_eq!(list.get(4), list.get(1), "counted round");
    }

    #[test]
    fn an_empty_list_and_an_ill_entry_are_errors() {
        let none = ServerList::parse(["", " ,; "], 1000).unwrap_err();
        assert_eq!((none.field, none.reason), (AddressField::List, AddressReason::Empty));
        let ill = ServerList::parse(["a,b:0"], 1000).unwrap_err();
        assert_eq!((ill.text.as_str(), ill.field), ("b:0", AddressField::Port));
        let overflow = ServerList::parse(["a:65000"], 1000).unwrap_err();
        assert_eq!((overflow.field, overflow.reason), (AddressField::GrpcPort, AddressReason::Overflow));
    }

    #[test]
    fn a_target_is_found_by_host_and_port_then_by_host() {
        let list = list(&["127.0.0.1:1", "127.0.0.1:2", "[::1]:3", "Nacos:4"]);
        assert_eq!(list.find("127.0.0.1", Some(2)), Some(1));
        assert_eq!(list.find("127.0.0.1", Some(9)), Some(0));
        assert_eq!(list.find("0:0:0:0:0:0:0:1", Some(9)), Some(2));
        assert_eq!(list.find("nacos", None), Some(3));
        assert_eq!(list.find("10.0.0.1", Some(1)), None);
        assert_eq!(list.find("", None), None);
    }
}
