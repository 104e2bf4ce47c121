//! Lists and details.

use nacos_client::Instance;

use super::support::{World, register, run};

#[tokio::test]
async fn services_and_their_instances_are_listed_for_people_and_for_programs() {
    for world in [World::new().await, World::old().await] {
        let client = world.client();
        let _a = register(&client, ("G", "orders"), Instance::new(("10.0.0.1", 80)).metadata("zone", "a")).await;
        let _b = register(&client, ("G", "orders"), Instance::new(("10.0.0.2", 80)).cluster("c2").weight(0.0)).await;
        let _c = register(&client, ("", "stock"), Instance::new(("10.0.0.3", 81))).await;

        let services = world.ctl(&["services"]).await.ended(0);
        let lines: Vec<Vec<&str>> = services.out.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[0], ["GROUP", "SERVICE", "CLUSTERS", "INSTANCES", "HEALTHY"]);
        assert_eq!(lines[1..], [vec!["DEFAULT_GROUP", "stock", "1", "1", "1"], vec!["G", "orders", "2", "2", "2"]]);
        let one = world.ctl(&["--json", "services", "orde"]).await.ended(0).json();
        assert_eq!((one[0]["name"].as_str(), one.as_array().map(Vec::len)), (Some("orders"), Some(1)));

        let instances = world.ctl(&["instances", "orders", "--group", "G"]).await.ended(0);
        let lines: Vec<Vec<&str>> = instances.out.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[1], ["10.0.0.1:80", "DEFAULT", "1", "healthy", "ephemeral", "zone=a"]);
        assert_eq!(lines[2], ["10.0.0.2:80", "c2", "0", "no", "weight", "ephemeral"]);
        let all = world.ctl(&["instances", "G@@orders", "--all", "--json"]).await.ended(0).json();
        assert_eq!((all[1]["ip"].as_str(), all[1]["cluster"].as_str()), (Some("10.0.0.2"), Some("c2")));
        assert_eq!(all[0]["metadata"]["zone"], "a");
    }
}

#[tokio::test]
async fn a_service_is_shown_with_its_subscribers() {
    for world in [World::new().await, World::old().await] {
        let client = world.client();
        let _one = register(&client, ("", "orders"), Instance::new(("10.0.0.1", 80))).await;
        client.service("orders").expect("a name").ready().await.expect("a list");
        let shown = world.ctl(&["show", "orders", "--json"]).await.ended(0).json();
        assert_eq!(shown["clusters"][0], "DEFAULT");
        assert_eq!(shown["subscribers"].as_array().map(Vec::len), Some(1), "{shown}");
        let text = world.ctl(&["show", "orders"]).await.ended(0).out;
        assert!(text.contains("protection  0\n") && text.contains("SUBSCRIBER"), "{text}");
    }
}

#[tokio::test]
async fn what_is_registered_cannot_steer_a_terminal_and_a_pipe_gets_no_colours() {
    let world = World::new().await;
    let client = world.client();
    let nasty = Instance::new(("10.0.0.1", 80)).metadata("k", "\u{1b}[2J\u{7}\r\nfake\u{1b}[8m\u{202e}").weight(0.0);
    let _one = register(&client, ("", "orders"), nasty).await;
    let plain = world.ctl(&["instances", "orders"]).await.ended(0).out;
    assert!(!plain.contains(['\u{1b}', '\u{7}', '\r', '\u{202e}']), "{plain:?}");
    assert_eq!(plain.lines().count(), 2, "{plain:?}");
    let coloured = world.ctl(&["instances", "orders", "--color", "always"]).await.ended(0).out;
    assert!(
        coloured.contains("\u{1b}[33m") && !coloured.contains("\u{1b}[2J") && !coloured.contains("\u{1b}[8m"),
        "{coloured:?}"
    );
}

#[tokio::test]
async fn completions_are_there_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let completions = run(&["completions", shell]).await.ended(0).out;
        assert!(completions.contains("deregister"), "{shell}");
    }
}

#[tokio::test]
async fn help_says_what_the_exit_codes_mean() {
    let help = run(&["--help"]).await.ended(0).out;
    assert!(help.contains("Exit codes:") && help.contains("no server answered in time"), "{help}");
}
