use std::collections::BTreeMap;

use regex_lite::Regex;
use serde_json::{Value, json};

use super::asked::{Asked, Outcome, refuse};
use crate::api::http::reply;
use crate::context::Context;
use crate::ops;
use crate::registry::{Page, PageError};

/// `GET /v1/ns/service/list`: a number that is none is 0.
pub(super) fn list(context: &Context, asked: &Asked) -> Outcome {
    let number = |name| asked.required(name).map(|text| text.trim().parse().unwrap_or(0));
    let (page_no, page_size) = (number("pageNo")?, number("pageSize")?);
    let (namespace, group) = (asked.namespace()?, asked.group()?);
    let page = match Page::new(page_no, page_size) {
        Ok(page) => page,
        Err(PageError { size }) => {
            let (count, _) = ops::page(context, namespace, group, Page::empty());
            return if count == 0 {
                listed(0, Vec::new())
            } else {
                Err(refuse(format!("fromIndex(0) > toIndex({size})")))
            };
        }
    };
    let (count, services) = ops::page(context, namespace, group, page);
    listed(count, services.iter().map(|service| service.name.to_string()).collect())
}

fn listed(count: usize, names: Vec<String>) -> Outcome {
    Ok(reply::json_of(200, &json!({ "count": count, "doms": names })))
}

/// `/v1/ns/service/names`
pub(super) fn names(context: &Context, asked: &Asked) -> Outcome {
    let namespace = asked.get("namespaceId").map(|_| asked.namespace()).transpose()?;
    let expression = asked.get("expr").unwrap_or_default();
    let wanted = Regex::new(&format!("^(?:.*{expression}.*)$"))
        .map_err(|error| refuse(format!("Param 'expr' is illegal, {error}")))?;
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    // A namespace that was asked for is named, even if there is nothing in it.
    found.extend(namespace.map(|namespace| (namespace.to_owned(), Vec::new())));
    let mut count = 0;
    for service in ops::names(context, namespace, |_| true) {
        let name = format!("{}@@{}", service.group, service.name);
        if wanted.is_match(&name) {
            count += 1;
            found.entry(service.namespace.to_string()).or_default().push(name);
        }
    }
    // The real server has called it otherwise since a slip in 2.2.4; callers look for either.
    Ok(reply::json_of(200, &json!({ "META-INF/services": found, "services": found, "count": count })))
}

/// `GET /v1/ns/service/subscribers`
pub(super) fn subscribers(context: &Context, asked: &Asked) -> Outcome {
    let service = asked.service()?;
    let page = asked.integer("pageNo")?.unwrap_or(1);
    let size = asked.integer("pageSize")?.unwrap_or(1_000);
    let (skip, take) = Page::new(page, size).map_or((0, 0), Page::bounds);
    let all = ops::subscribers(context, &service.namespace, &service.group, &service.name);
    let shown: Vec<Value> = all
        .iter()
        .skip(skip)
        .take(take)
        .map(|subscriber| {
            json!({
                "addrStr": subscriber.address,
                "agent": subscriber.agent,
                "app": subscriber.app,
                "ip": subscriber.ip,
                "port": subscriber.port,
                "namespaceId": subscriber.namespace,
                "serviceName": format!("{}@@{}", subscriber.group, subscriber.service),
                "cluster": subscriber.cluster,
            })
        })
        .collect();
    Ok(reply::json_of(200, &json!({ "subscribers": shown, "count": all.len() })))
}

/// `GET /v1/ns/service/selector/types`
pub(super) fn selector_types(_: &Context, _: &Asked) -> Outcome {
    Ok(reply::json_of(200, &json!({ "code": 200, "message": null, "data": ["label", "none"] })))
}
