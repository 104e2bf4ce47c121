use super::message::{request, response};
use super::{Instance, ServiceInfo};
use crate::lenient;

/// `type` of a registration.
pub const REGISTER: &str = "registerInstance";
/// `type` of a deregistration.
pub const DEREGISTER: &str = "deregisterInstance";
/// `type` of a batch registration.
pub const BATCH_REGISTER: &str = "batchRegisterInstance";

/// Defines a naming request: namespace, service and group, then its own fields.
macro_rules! naming_request {
    ($(#[$doc:meta])* $name:ident, { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* } $(, well_formed: $check:expr)?) => {
        request!(
            $(#[$doc])*
            $name, "naming", {
                /// Namespace id; `public` is the default one. Real servers refuse most requests without it.
                #[serde(default, deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
                namespace: Option<String>,
                /// Bare service name, without group.
                #[serde(default, deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
                service_name: Option<String>,
                /// Group.
                #[serde(default, deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
                group_name: Option<String>,
                $($(#[$field_doc])* $field: $type,)*
            } $(, well_formed: $check)?
        );
    };
}

naming_request!(
    /// Registers or deregisters one ephemeral instance.
    InstanceRequest, {
        /// [`REGISTER`] or [`DEREGISTER`].
        #[serde(default, rename = "type", deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
        kind: Option<String>,
        /// The instance.
        #[serde(default, deserialize_with = "lenient::object", skip_serializing_if = "Option::is_none")]
        instance: Option<Instance>,
    }, well_formed: |request| request.instance.as_ref().is_none_or(|instance| instance.metadata.odd() == 0)
);

naming_request!(
    /// Registers or deregisters one persistent instance; since 2.3.
    PersistentInstanceRequest, {
        /// [`REGISTER`] or [`DEREGISTER`].
        #[serde(default, rename = "type", deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
        kind: Option<String>,
        /// The instance.
        #[serde(default, deserialize_with = "lenient::object", skip_serializing_if = "Option::is_none")]
        instance: Option<Instance>,
    }, well_formed: |request| request.instance.as_ref().is_none_or(|instance| instance.metadata.odd() == 0)
);

response!(
    /// Answers both kinds of instance requests.
    InstanceResponse, {
        /// The request's `type`.
        #[serde(default, rename = "type", deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
        kind: Option<String>,
    }
);

naming_request!(
    /// Sets all instances this connection has of a service at once; since 2.1.1.
    BatchInstanceRequest, {
        /// [`BATCH_REGISTER`].
        #[serde(default, rename = "type", deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
        kind: Option<String>,
        /// The whole set; null items are kept apart from absent ones because servers refuse them.
        #[serde(default, deserialize_with = "lenient::objects", skip_serializing_if = "Option::is_none")]
        instances: Option<Vec<Option<Instance>>>,
    }, well_formed: |request| {
        request.instances.iter().flatten().flatten().all(|instance| instance.metadata.odd() == 0)
    }
);

response!(
    /// Answers a batch.
    BatchInstanceResponse, {
        /// The request's `type`.
        #[serde(default, rename = "type", deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
        kind: Option<String>,
    }
);

naming_request!(
    /// Asks for a service's list once.
    ServiceQueryRequest, {
        /// Comma list of clusters; empty for all.
        #[serde(default, deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
        cluster: Option<String>,
        /// Leaves unhealthy instances out. Some writers spell it `healthOnly`, which real servers do not read.
        #[serde(default, deserialize_with = "lenient::boolean")]
        healthy_only: bool,
        /// No meaning over gRPC; written as 0.
        #[serde(default, deserialize_with = "lenient::integer")]
        udp_port: i32,
    }
);

response!(
    /// Answers a query.
    QueryServiceResponse, {
        /// The list; absent in failures.
        #[serde(default, deserialize_with = "lenient::object", skip_serializing_if = "Option::is_none")]
        service_info: Option<ServiceInfo>,
    }
);

naming_request!(
    /// Asks for a page of the names of a group's services.
    ServiceListRequest, {
        /// From 1; 0 and less are read as 1.
        #[serde(default, deserialize_with = "lenient::integer")]
        page_no: i32,
        /// Names a page.
        #[serde(default, deserialize_with = "lenient::integer")]
        page_size: i32,
        /// Not read by real servers.
        #[serde(default, deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
        selector: Option<String>,
    }
);

response!(
    /// Answers a list request.
    ServiceListResponse, {
        /// How many services the group has, whatever the page.
        #[serde(default, deserialize_with = "lenient::integer")]
        count: i32,
        /// Bare names.
        #[serde(default, deserialize_with = "lenient::texts")]
        service_names: Vec<String>,
    }
);

naming_request!(
    /// Begins or ends the connection's one subscription of a service.
    SubscribeServiceRequest, {
        /// False ends it, whatever the clusters.
        #[serde(default, deserialize_with = "lenient::boolean")]
        subscribe: bool,
        /// Comma list of clusters; empty for all. Null is kept, as servers then leave it out of their lists.
        #[serde(default, deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
        clusters: Option<String>,
    }
);

response!(
    /// Answers a subscribe request, also one that ends the subscription, with the current list.
    SubscribeServiceResponse, {
        /// The list; absent in failures.
        #[serde(default, deserialize_with = "lenient::object", skip_serializing_if = "Option::is_none")]
        service_info: Option<ServiceInfo>,
    }
);

request!(
    /// The push: a subscribed service's whole list, on the stream.
    NotifySubscriberRequest, "naming", {
        /// Decimal counter; copied into the acknowledgement.
        #[serde(default, deserialize_with = "lenient::text_or_empty")]
        request_id: String,
        /// The list.
        #[serde(default, deserialize_with = "lenient::object", skip_serializing_if = "Option::is_none")]
        service_info: Option<ServiceInfo>,
    }
);

response!(
    /// Acknowledges a push.
    NotifySubscriberResponse, {}
);
