use std::sync::Arc;

use nacos_proto::code;
use nacos_proto::grpc::{
    QueryServiceResponse, ServiceListRequest, ServiceListResponse, ServiceQueryRequest, SubscribeServiceRequest,
    SubscribeServiceResponse,
};
use nacos_proto::param;

use super::answer::{Answer, query_answer, subscribe_answer};
use super::dispatch::Caller;
use super::params::{Names, filtered, no_client, refused};
use crate::context::ListRequest;
use crate::registry::{NameForm, Page, PageError, Service};

/// `ServiceQueryRequest`: the list, once.
pub(super) fn query(caller: &Caller<'_>, request: ServiceQueryRequest) -> Answer {
    let names = Names::new(&request.namespace, &request.service_name, &request.group_name);
    let clusters = request.cluster.as_deref().unwrap_or_default();
    if let Err(error) = names.check().and_then(|()| param::clusters(clusters)) {
        return filtered::<QueryServiceResponse>(&error);
    }
    let namespace = match names.namespace(caller) {
        Ok(namespace) => namespace,
        Err(refusal) => return refusal,
    };
    let context = &caller.connection.context;
    let service = context.registry.find(names.key(&namespace));
    let list = context.answer_list(
        service.as_ref(),
        ListRequest {
            group: names.group(),
            name: names.service(),
            form: NameForm::Bare,
            clusters: Some(clusters),
            healthy_only: request.healthy_only,
        },
    );
    query_answer(&list)
}

/// `SubscribeServiceRequest`: begins or ends the connection's subscription; answers with the list either way.
pub(super) fn subscribe(caller: &Caller<'_>, request: SubscribeServiceRequest) -> Answer {
    let names = Names::new(&request.namespace, &request.service_name, &request.group_name);
    let clusters = request.clusters.as_deref();
    if let Err(error) = names.check().and_then(|()| param::clusters(clusters.unwrap_or_default())) {
        return filtered::<SubscribeServiceResponse>(&error);
    }
    if let Err(refusal) = names.require() {
        return refusal;
    }
    let Some(client) = &caller.registration.client else { return no_client(caller) };
    let namespace = names.subscribed_namespace(caller);
    let key = names.key(&namespace);
    let context = &caller.connection.context;
    let list = |service: Option<&Arc<Service>>| {
        let form = NameForm::Bare;
        context.answer_list(
            service,
            ListRequest { group: names.group(), name: names.service(), form, clusters, healthy_only: false },
        )
    };
    if !request.subscribe {
        context.registry.unsubscribe(client, key);
        return subscribe_answer(&list(context.registry.find(key).as_ref()));
    }
    match context.registry.subscribe(client, key, clusters) {
        Ok((service, first)) => {
            let mut answer = subscribe_answer(&list(Some(&service)));
            answer.subscribed = first.then_some(service);
            answer
        }
        Err(error) => refused(caller, key, "be subscribed to", &error),
    }
}

/// `ServiceListRequest`: a page of the group's service names.
pub(super) fn page(caller: &Caller<'_>, request: ServiceListRequest) -> Answer {
    let names = Names::new(&request.namespace, &request.service_name, &request.group_name);
    if let Err(error) = names.check() {
        return filtered::<ServiceListResponse>(&error);
    }
    let namespace = match names.namespace(caller) {
        Ok(namespace) => namespace,
        Err(refusal) => return refusal,
    };
    let page = match Page::new(request.page_no, request.page_size) {
        Ok(page) => page,
        Err(PageError { size }) => return Answer::error(code::FAIL, format!("fromIndex(0) > toIndex({size})")),
    };
    let (count, services) = caller.connection.context.registry.list_page(&namespace, names.group(), page);
    Answer::of(&ServiceListResponse {
        count: i32::try_from(count).unwrap_or(i32::MAX),
        service_names: services.iter().map(|service| service.name.to_string()).collect(),
        ..ServiceListResponse::default()
    })
}
