use crate::{
    failure::{Done, Failure},
    output::Output,
    registry::Registry,
};

pub(crate) async fn doctor(_: &Registry, _: Output, _: Option<&str>) -> Result<Done, Failure> {
    Ok(Done::Fine)
}
