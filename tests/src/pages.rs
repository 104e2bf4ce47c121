//! The documents whose code is compiled, and run where it says nothing else.

macro_rules! pages {
    ($($name:ident = $file:literal;)*) => {
        $(
            #[doc = include_str!(concat!("../../", $file))]
            pub struct $name;
        )*
    };
}

pages! {
    Readme = "README.md";
    RegisterMyAxumService = "docs/register-my-axum-service.md";
    CallAService = "docs/call-a-service.md";
    LiveBesideSpringCloud = "docs/live-beside-spring-cloud.md";
    MoveFromNacosSdk = "docs/move-from-nacos-sdk.md";
    RouteRequests = "docs/route-requests.md";
    TestAgainstAFailingRegistry = "docs/test-against-a-failing-registry.md";
}
