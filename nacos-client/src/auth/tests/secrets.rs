use crate::{
    ClientConfig, Credentials, LoginError, NamingService,
    auth::{Scheme, Token},
};

#[test]
fn cg47_nothing_shows_a_password_or_a_token() {
    let builder = ClientConfig::builder().servers(["127.0.0.1"]).username("nacos").password("hunter2");
    let config = builder.clone().build().unwrap();
    let naming = NamingService::builder().servers(["127.0.0.1"]).username("nacos").password("hunter2");
    let credentials = Credentials::new("nacos", "hunter2");
    let token = Token::new(1, "hunter2", Scheme::Bearer).unwrap();
    let shown = format!(
        "{builder:?} {config:?} {naming:?} {:?} {credentials:?} {token:?} {:?}",
        NamingService::new(config.clone()),
        token.header()
    );
    assert!(!shown.contains("hunter2"), "{shown}");
    assert!(shown.contains("nacos"), "the user may be seen");
}

#[test]
fn cg47_a_server_that_repeats_the_password_is_not_quoted() {
    let credentials = Credentials::new("nacos", "hunter2");
    let message = credentials.hidden_in("wrong password hunter2 for nacos");
    let error = LoginError::Refused { username: "nacos".to_owned(), status: 403, message };
    assert!(!format!("{error} {error:?}").contains("hunter2"));
    assert_eq!(Credentials::new("nacos", "").hidden_in("a text"), "a text");
}

#[test]
fn cg47_a_password_is_not_quoted_in_any_form_that_it_is_sent_in() {
    let credentials = Credentials::new("nacos", "a b&%41ü/+x");
    for form in [
        "a b&%41ü/+x",
        "a+b%26%2541%C3%BC%2F%2Bx",
        "a%20b%26%2541%c3%bc%2f%2bx",
        "a%20b&%2541ü/%2Bx",
        "%61%20%62%26%25%34%31%C3%BC%2F%2B%78",
    ] {
        let echo = format!("ü: username=nacos&password={form}&%");
        assert_eq!(credentials.hidden_in(&echo), "ü: username=nacos&password=***&%", "{form}");
    }
    let other = "a+b&%4ü%2G a b&%41%C3";
    assert_eq!(credentials.hidden_in(other), other, "what is something else stays as it is");
}
