//! Telling the families of servers apart by their first answer.

use std::net::SocketAddr;

use nacos_proto::grpc::ServerCheckResponse;

use crate::transport::Dialect;

/// r-nacos names a connection `<number>_<ip>:<port>` and announces nothing; Nacos writes `<milliseconds>_<ip>_<port>`.
pub(super) fn detect(check: &ServerCheckResponse) -> Dialect {
    let id = check.connection_id.split_once('_');
    let address = id.and_then(|(_, address)| address.parse::<SocketAddr>().ok());
    if address.is_some() && !check.support_ability_negotiation { Dialect::Adding } else { Dialect::Replacing }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dialect(connection_id: &str, support_ability_negotiation: bool) -> Dialect {
        let connection_id = connection_id.to_owned();
        detect(&ServerCheckResponse { connection_id, support_ability_negotiation, ..Default::default() })
    }

    #[test]
    fn connection_ids_tell_the_families_apart() {
        assert_eq!(dialect("1_127.0.0.1:37728", false), Dialect::Adding);
        assert_eq!(dialect("12_[::1]:37728", false), Dialect::Adding);
        assert_eq!(dialect("1_127.0.0.1:37728", true), Dialect::Replacing);
        assert_eq!(dialect("1700000000000_10.0.0.9_50000", false), Dialect::Replacing);
        assert_eq!(dialect("1700000000000_0:0:0:0:0:0:0:1_50000", false), Dialect::Replacing);
        assert_eq!(dialect("", false), Dialect::Replacing);
        assert_eq!(dialect("_", false), Dialect::Replacing);
    }
}
