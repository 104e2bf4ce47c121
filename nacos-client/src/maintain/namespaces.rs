//! Declared namespaces. Naming works in any namespace, declared or not.

use http::Method;
use nacos_proto::param;
use serde_json::Value;

use super::{
    client::Maintain,
    error::MaintainError,
    model::{Generation, NamespaceInfo},
    read,
};
use crate::{error::InvalidArgument, model::Namespace, transport::http::Query};

const V1: &str = "/v1/console/namespaces";
const V3: &str = "/v3/admin/core/namespace";

impl Maintain {
    /// All declared namespaces, the default one included.
    ///
    /// # Errors
    ///
    /// [`MaintainError`].
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: it only asks.
    pub async fn namespaces(&self) -> Result<Vec<NamespaceInfo>, MaintainError> {
        let path = match self.generation().await? {
            Generation::V1 => V1.to_owned(),
            Generation::V3 => format!("{V3}/list"),
        };
        let answer = self.call(Method::GET, Query::of(&path), "namespace").await;
        let answer = answer.map_err(|error| error.of_list(&path))?;
        Ok(read::list(&answer, &[]).unwrap_or_default().iter().map(info).collect())
    }

    /// Declares a namespace.
    ///
    /// # Errors
    ///
    /// [`MaintainError::Exists`] if the id is taken, and others.
    ///
    /// # Cancel safety
    ///
    /// A dropped call may have been carried out.
    pub async fn create_namespace(&self, id: &str, name: &str, description: &str) -> Result<(), MaintainError> {
        check(id)?;
        if self.declares(id).await? {
            return Err(MaintainError::Exists { what: what(id) });
        }
        let (path, parameter) = match self.generation().await? {
            Generation::V1 => (V1, "customNamespaceId"),
            Generation::V3 => (V3, "namespaceId"),
        };
        let query = Query::of(path).with(parameter, id).with("namespaceName", name).with("namespaceDesc", description);
        done(&self.call(Method::POST, query, &what(id)).await?)
    }

    /// Gives a namespace another name and description.
    ///
    /// # Errors
    ///
    /// [`MaintainError::NotFound`] if it is not declared, and others.
    ///
    /// # Cancel safety
    ///
    /// A dropped call may have been carried out.
    pub async fn update_namespace(&self, id: &str, name: &str, description: &str) -> Result<(), MaintainError> {
        self.must_declare(id).await?;
        let query = match self.generation().await? {
            Generation::V1 => Query::of(V1).with("namespace", id).with("namespaceShowName", name),
            Generation::V3 => Query::of(V3).with("namespaceId", id).with("namespaceName", name),
        };
        done(&self.call(Method::PUT, query.with("namespaceDesc", description), &what(id)).await?)
    }

    /// Takes the declaration back. What is registered in the namespace stays.
    ///
    /// # Errors
    ///
    /// [`MaintainError::NotFound`] if it is not declared, and others.
    ///
    /// # Cancel safety
    ///
    /// A dropped call may have been carried out.
    pub async fn delete_namespace(&self, id: &str) -> Result<(), MaintainError> {
        self.must_declare(id).await?;
        let path = match self.generation().await? {
            Generation::V1 => V1,
            Generation::V3 => V3,
        };
        done(&self.call(Method::DELETE, Query::of(path).with("namespaceId", id), &what(id)).await?)
    }

    /// Servers say yes to a change of what they do not know.
    async fn must_declare(&self, id: &str) -> Result<(), MaintainError> {
        check(id)?;
        if self.declares(id).await? { Ok(()) } else { Err(MaintainError::NotFound { what: what(id) }) }
    }

    async fn declares(&self, id: &str) -> Result<bool, MaintainError> {
        let id = Namespace::new(id);
        Ok(self.namespaces().await?.iter().any(|namespace| namespace.id == id))
    }
}

fn check(id: &str) -> Result<(), InvalidArgument> {
    if id.trim().is_empty() {
        return Err(InvalidArgument::new("namespace", "is blank"));
    }
    param::namespace(id).map_err(|error| InvalidArgument::new("namespace", error.to_string()))
}

fn what(id: &str) -> String {
    format!("namespace with the id {id}")
}

fn info(row: &Value) -> NamespaceInfo {
    NamespaceInfo {
        id: Namespace::new(read::text(row, "namespace").unwrap_or_default()),
        name: read::text(row, "namespaceShowName").unwrap_or_default().to_owned(),
        description: read::text(row, "namespaceDesc").filter(|text| !text.is_empty()).map(str::to_owned),
        configs: read::count(row, "configCount"),
    }
}

/// 1.x and 2.x say with a boolean whether they did it.
fn done(answer: &Value) -> Result<(), MaintainError> {
    if *answer == Value::Bool(false) {
        return Err(MaintainError::Protocol("false, without a reason".to_owned()));
    }
    Ok(())
}
