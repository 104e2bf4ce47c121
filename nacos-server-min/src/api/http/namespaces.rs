use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use nacos_proto::param::{self, ParamError, Rule};
use serde_json::{Value, json};

use super::api_error::ApiError;
use super::negotiate::escaped;
use super::params::Params;
use super::reply::{self, Refusal, settle};
use super::service::Shared;
use crate::context::Context;
use crate::namespaces::Namespace;

const DEFAULT: &str = "public";
const DEFAULT_DESCRIPTION: &str = "Default Namespace";
const MAX_SHOW_NAME: usize = 256;
/// A number that nothing enforces.
const QUOTA: u32 = 200;

type Outcome = Result<Response, Refusal>;

/// Declaring namespaces, in the ways of all generations.
pub(super) fn routes() -> Router<Shared> {
    let v1 = get(v1_read).post(v1_create).put(v1_update).delete(v1_delete);
    let v2 = get(async |context, params| read(&V2, context, params).await)
        .post(async |context, params| create(&V2, context, params).await)
        .put(update)
        .delete(delete);
    let v3 = get(async |context, params| read(&V3, context, params).await)
        .post(async |context, params| create(&V3, context, params).await)
        .put(update)
        .delete(delete);
    Router::new()
        .route("/v1/console/namespaces", v1)
        .route("/v2/console/namespace", v2)
        .route("/v2/console/namespace/list", get(async |context| list(&V2, context).await))
        .route("/v3/admin/core/namespace", v3)
        .route("/v3/admin/core/namespace/list", get(async |context| list(&V3, context).await))
        .route("/v3/admin/core/namespace/check", get(check))
}

/// The same for the console of 3.x, which has no context path.
pub(super) fn console_routes() -> Router<Shared> {
    let all = get(async |context, params| read(&V3_CONSOLE, context, params).await)
        .post(async |context, params| create(&V3_CONSOLE, context, params).await)
        .put(update)
        .delete(delete);
    Router::new()
        .route("/v3/console/core/namespace", all)
        .route("/v3/console/core/namespace/list", get(async |context| list(&V3_CONSOLE, context).await))
        .route("/v3/console/core/namespace/exist", get(exist))
}

/// What differs between the generations.
struct Dialect {
    /// How the namespace that always exists is called.
    default_id: &'static str,
    /// The number that stands for a declared namespace.
    declared: u8,
    /// The parameter that holds the id on creation.
    id: &'static str,
    exists: ApiError,
}

const V2: Dialect = Dialect { default_id: "", declared: 2, id: "namespaceId", exists: ApiError::NamespaceIllegal };
const V3: Dialect = Dialect { default_id: DEFAULT, declared: 1, id: "namespaceId", exists: ApiError::NamespaceExists };
const V3_CONSOLE: Dialect = Dialect { id: "customNamespaceId", ..V3 };

impl Dialect {
    fn default_namespace(&self) -> Value {
        json!({
            "namespace": self.default_id, "namespaceShowName": DEFAULT, "namespaceDesc": DEFAULT_DESCRIPTION,
            "quota": QUOTA, "configCount": 0, "type": 0,
        })
    }

    fn json(&self, namespace: &Namespace) -> Value {
        json!({
            "namespace": namespace.id, "namespaceShowName": namespace.name, "namespaceDesc": namespace.description,
            "quota": QUOTA, "configCount": 0, "type": self.declared,
        })
    }

    fn all(&self, context: &Context) -> Value {
        let declared = context.namespaces.list();
        std::iter::once(self.default_namespace()).chain(declared.iter().map(|one| self.json(one))).collect()
    }

    fn one(&self, context: &Context, id: &str) -> Option<Value> {
        if id.is_empty() || id == self.default_id {
            return Some(self.default_namespace());
        }
        context.namespaces.get(id).map(|one| self.json(&one))
    }
}

/// The parameter filter's part, under whatever name the id and the show name come.
fn filter(params: &Params) -> Result<(), Refusal> {
    let first = |names: &[&str]| names.iter().find_map(|name| params.get(name)).unwrap_or_default().to_owned();
    show_name(&first(&["namespaceName", "namespaceShowName"]))
        .and_then(|()| param::namespace(&first(&["namespaceId", "customNamespaceId", "namespace"])))
        .map_err(|error| reply::filtered(&error))
}

fn show_name(text: &str) -> Result<(), ParamError> {
    let param = "namespaceShowName";
    if text.encode_utf16().count() > MAX_SHOW_NAME {
        Err(ParamError { param, rule: Rule::TooLong(MAX_SHOW_NAME) })
    } else if text.contains(['@', '#', '$', '%', '^', '&', '*']) {
        Err(ParamError { param, rule: Rule::IllegalCharacters })
    } else {
        Ok(())
    }
}

/// The id asked for; a blank one is made up.
fn id_or_new(text: &str) -> String {
    let text = text.trim();
    if !text.is_empty() {
        return text.to_owned();
    }
    let random = fastrand::u128(..) & !(0xf << 76) & !(0x3 << 62) | (0x4 << 76) | (0x2 << 62);
    let digits = format!("{random:032x}");
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|range| digits.get(range).unwrap_or_default().to_owned());
    parts.join("-")
}

fn description(params: &Params) -> Option<String> {
    params.raw("namespaceDesc").map(|text| text.trim().to_owned())
}

// === v1 ===

/// What the console of 1.x and 2.x says about a parameter that is not there.
fn v1_required<'a>(params: &'a Params, name: &str) -> Result<&'a str, Refusal> {
    params.raw(name).map(str::trim).ok_or_else(|| {
        v1_failure(&format!("Required request parameter '{name}' for method parameter type String is not present"))
    })
}

fn v1_failure(text: &str) -> Refusal {
    Box::new(reply::text(500, format!("caused: {};", escaped(text))))
}

async fn v1_read(State(context): State<Shared>, params: Params) -> Response {
    settle((|| {
        filter(&params)?;
        if params.get("checkNamespaceIdExist").is_some_and(|text| text.trim().eq_ignore_ascii_case("true")) {
            let id = v1_required(&params, "customNamespaceId")?;
            return Ok(reply::json_of(200, &context.namespaces.get(id).is_some()));
        }
        if params.get("show").is_some_and(|text| text.trim() == "all") {
            let id = v1_required(&params, "namespaceId")?;
            let one = V2.one(&context, id).ok_or_else(|| v1_failure(&format!("namespaceId [ {id} ] not exist")))?;
            return Ok(reply::json_of(200, &one));
        }
        Ok(reply::json_of(200, &json!({ "code": 200, "message": null, "data": V2.all(&context) })))
    })())
}

async fn v1_create(State(context): State<Shared>, params: Params) -> Response {
    settle((|| {
        filter(&params)?;
        let id = id_or_new(v1_required(&params, "customNamespaceId")?);
        let name = v1_required(&params, "namespaceName")?.to_owned();
        let free = id != DEFAULT;
        let created = free && context.namespaces.create(Namespace { id, name, description: description(&params) });
        Ok(reply::json_of(200, &created))
    })())
}

async fn v1_update(State(context): State<Shared>, params: Params) -> Response {
    settle((|| {
        filter(&params)?;
        let id = v1_required(&params, "namespace")?.to_owned();
        let name = v1_required(&params, "namespaceShowName")?.to_owned();
        context.namespaces.update(Namespace { id, name, description: description(&params) });
        Ok(reply::json_of(200, &true))
    })())
}

async fn v1_delete(State(context): State<Shared>, params: Params) -> Response {
    settle((|| {
        filter(&params)?;
        context.namespaces.delete(v1_required(&params, "namespaceId")?);
        Ok(reply::json_of(200, &true))
    })())
}

// === v2 and v3 ===

fn required<'a>(params: &'a Params, name: &str) -> Result<&'a str, Refusal> {
    let missing = || ApiError::ParameterMissing.refuse(400, &format!("required parameter '{name}' is missing"));
    params.raw(name).map(str::trim).ok_or_else(missing)
}

/// As [`required`], where the framework looks for the parameter itself.
fn required_request<'a>(params: &'a Params, name: &str) -> Result<&'a str, Refusal> {
    let text = format!("Required request parameter '{name}' for method parameter type String is not present");
    params.raw(name).map(str::trim).ok_or_else(|| ApiError::ParameterMissing.refuse(400, &text))
}

async fn list(dialect: &Dialect, State(context): State<Shared>) -> Response {
    reply::success(&dialect.all(&context))
}

async fn read(dialect: &Dialect, State(context): State<Shared>, params: Params) -> Response {
    settle((|| -> Outcome {
        filter(&params)?;
        let id = required_request(&params, "namespaceId")?;
        let missing = || ApiError::NamespaceMissing.refuse(404, &format!("namespaceId [ {id} ] not exist"));
        Ok(reply::success(&dialect.one(&context, id).ok_or_else(missing)?))
    })())
}

async fn create(dialect: &Dialect, State(context): State<Shared>, params: Params) -> Response {
    settle((|| -> Outcome {
        filter(&params)?;
        let given = required(&params, dialect.id)?;
        let name = required(&params, "namespaceName")?.to_owned();
        let id = id_or_new(given);
        let taken = match dialect.exists {
            ApiError::NamespaceExists => format!("namespaceId [{id}] already exist."),
            _ => format!("the namespaceId is existed, namespaceId: {id}"),
        };
        let free = id != DEFAULT;
        if free && context.namespaces.create(Namespace { id, name, description: description(&params) }) {
            Ok(reply::success(&true))
        } else {
            Err(dialect.exists.refuse(400, &taken))
        }
    })())
}

async fn update(State(context): State<Shared>, params: Params) -> Response {
    settle((|| -> Outcome {
        filter(&params)?;
        let id = required(&params, "namespaceId")?.to_owned();
        let name = required(&params, "namespaceName")?.to_owned();
        context.namespaces.update(Namespace { id, name, description: description(&params) });
        Ok(reply::success(&true))
    })())
}

async fn delete(State(context): State<Shared>, params: Params) -> Response {
    settle((|| -> Outcome {
        filter(&params)?;
        context.namespaces.delete(required_request(&params, "namespaceId")?);
        Ok(reply::success(&true))
    })())
}

/// 1 or 0, as the number of namespaces with that id.
async fn check(State(context): State<Shared>, params: Params) -> Response {
    settle((|| -> Outcome {
        filter(&params)?;
        let id = required_request(&params, "namespaceId")?;
        Ok(reply::success(&u8::from(context.namespaces.get(id).is_some())))
    })())
}

async fn exist(State(context): State<Shared>, params: Params) -> Response {
    settle((|| -> Outcome {
        filter(&params)?;
        let id = required_request(&params, "customNamespaceId")?;
        Ok(reply::success(&context.namespaces.get(id).is_some()))
    })())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_made_up_id_looks_like_all_made_up_ids() {
        let id = id_or_new(" ");
        let lengths: Vec<usize> = id.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12]);
        assert_eq!(id.get(14..15), Some("4"));
        assert!(matches!(id.get(19..20), Some("8" | "9" | "a" | "b")), "{id}");
        assert_eq!(param::namespace(&id), Ok(()));
        assert_ne!(id, id_or_new(""));
    }
}
