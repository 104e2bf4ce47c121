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
    TestAgainstAFailingRegistry = "docs/test-against-a-failing-registry.md";
}
