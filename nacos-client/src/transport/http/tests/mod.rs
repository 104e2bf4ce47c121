mod beats;
mod calls;
mod edges;
mod epochs;
mod rounds;
