use serde_json::json;

use super::asked::{Asked, Outcome, refuse};
use crate::api::http::{reply, values};
use crate::context::Context;
use crate::ops::{self, MetadataChange, Shown};

/// `PUT /v1/ns/instance/metadata/batch`
pub(super) fn set(context: &Context, asked: &Asked) -> Outcome {
    asked.service()?;
    asked.required("metadata")?;
    change(context, asked, &MetadataChange::Set(asked.metadata(context)?))
}

/// `DELETE /v1/ns/instance/metadata/batch`: the values do not matter.
pub(super) fn remove(context: &Context, asked: &Asked) -> Outcome {
    asked.service()?;
    asked.required("metadata")?;
    change(context, asked, &MetadataChange::Remove(asked.metadata(context)?.into_keys().collect()))
}

fn change(context: &Context, asked: &Asked, change: &MetadataChange) -> Outcome {
    let service = asked.service()?;
    let wanted = values::instances(asked.get("instances").unwrap_or_default())
        .map_err(|values::Broken| refuse("Param 'instances' is illegal, it should be a JSON list of instances"))?;
    let changed = ops::batch_metadata(context, &service, wanted.as_deref(), change);
    let updated: Vec<String> = changed.iter().map(described).collect();
    Ok(reply::json_of(200, &json!({ "updated": updated })))
}

fn described(Shown { instance, kind, .. }: &Shown) -> String {
    format!("{}:{}:unknown:{}:{kind}", instance.host, instance.port, instance.cluster)
}
