//! Namespaces.

use serde_json::{Value, json};

use crate::{
    cli::Namespaces,
    failure::{Done, Failure},
    output::{Output, Row},
    registry::Registry,
};

/// Lists or changes namespaces.
pub(super) async fn run(registry: &Registry, output: Output, command: Namespaces) -> Result<Done, Failure> {
    let operator = registry.operator()?;
    match command {
        Namespaces::List => {
            let all = operator.namespaces().await?;
            if output.json() {
                let document = |one: &nacos_client::maintain::NamespaceInfo| json!({ "id": one.id.as_str(), "name": one.name, "description": one.description, "configs": one.configs });
                output.document(&all.iter().map(document).collect::<Vec<Value>>())?;
            } else {
                let row = |one: &nacos_client::maintain::NamespaceInfo| {
                    Row::new([one.id.to_string(), one.name.clone(), one.description.clone().unwrap_or_default()])
                };
                output.table(&["id", "name", "description"], all.iter().map(row).collect())?;
            }
        }
        Namespaces::Create { id, name, description } => {
            operator.create_namespace(&id, name.as_deref().unwrap_or(&id), &description).await?;
            output.say(&json!({ "event": "created", "id": id }), &format!("created namespace {id}"))?;
        }
        Namespaces::Update { id, name, description } => {
            operator.update_namespace(&id, &name, &description).await?;
            output.say(&json!({ "event": "changed", "id": id }), &format!("changed namespace {id}"))?;
        }
        Namespaces::Delete { id } => {
            operator.delete_namespace(&id).await?;
            output.say(&json!({ "event": "deleted", "id": id }), &format!("deleted namespace {id}"))?;
        }
    }
    Ok(Done::Fine)
}
