mod beats;
mod calls;
mod edges;
mod epochs;
mod login;
mod rounds;
