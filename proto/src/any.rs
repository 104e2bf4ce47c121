use bytes::Bytes;

/// `google.protobuf.Any` with a shared buffer as its value, so that one encoded list can serve many pushes.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Any {
    /// Left empty by most peers and read by none.
    #[prost(string, tag = "1")]
    pub type_url: String,
    /// The JSON text.
    #[prost(bytes = "bytes", tag = "2")]
    pub value: Bytes,
}
