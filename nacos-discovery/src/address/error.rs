/// Why no address was chosen to be registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressChoiceError {
    /// There is no interface of the name.
    #[error("there is no interface {name:?} as spring.cloud.nacos.discovery.network-interface says, only {present}")]
    NoInterface {
        /// The name.
        name: String,
        /// Those there are.
        present: String,
    },
    /// The interface has no address that could be registered.
    #[error("the interface {name:?} of spring.cloud.nacos.discovery.network-interface has no address to register")]
    NoAddress {
        /// The interface.
        name: String,
    },
    /// The system does not tell its interfaces.
    #[error("cannot list the interfaces: {reason}; set spring.cloud.nacos.discovery.ip")]
    Interfaces {
        /// What it says.
        reason: String,
    },
}
