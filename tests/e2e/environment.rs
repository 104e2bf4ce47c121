//! What is set in code holds, whatever the environment and the files of the machine say; and both stay as they are.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use nacos_client::{ConfigError, NamingService};

use crate::support::client::{connected, mine};
use crate::support::consumer::{lists, service};
use crate::support::world::{World, unique};

/// Set in the process that runs the test itself, among settings that would lead it astray.
const ASTRAY: &str = "NACOS_TEST_ASTRAY";

/// Files that other clients and their frameworks read by themselves.
const DECOYS: [&str; 6] = [
    ".env",
    "nacos.properties",
    "bootstrap.yml",
    "application.properties",
    "nacos/naming/public/DEFAULT_GROUP%40%40orders",
    ".config/nacos.toml",
];

const DECOY: &str =
    "NACOS_SERVER_ADDR=127.0.0.1:1\nNACOS_NAMESPACE=astray\nspring.cloud.nacos.server-addr=127.0.0.1:1\n";

#[test]
fn cg54_code_is_overridden_by_nothing_and_the_environment_stays_as_it_is() {
    if env::var_os(ASTRAY).is_some() {
        return astray();
    }
    let home = Home::new();
    let this = env::current_exe().expect("a running test has a file");
    let test = "environment::cg54_code_is_overridden_by_nothing_and_the_environment_stays_as_it_is";
    let output = Command::new(this)
        .args(["--exact", test, "--nocapture"])
        .current_dir(&home.0)
        .envs([
            (ASTRAY, "1"),
            ("NACOS_SERVER_ADDR", "127.0.0.1:1"),
            ("NACOS_NAMESPACE", "astray"),
            ("NACOS_REQUEST_TIMEOUT_MS", "1"),
            ("NACOS_APP_NAME", "astray"),
        ])
        .env("HOME", &home.0)
        .env("XDG_CONFIG_HOME", home.0.join(".config"))
        .output()
        .expect("the test can be run again");
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(told.contains("1 passed"), "it was run: {told}");
    home.is_untouched();
}

/// The test itself, in a process whose environment and folders are full of traps.
fn astray() {
    let before: BTreeMap<_, _> = env::vars_os().collect();
    // Without being asked, nothing is taken from anywhere.
    assert_eq!(NamingService::builder().build().map(drop), Err(ConfigError::NoServers));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let registry = World::Standard.registry().await;
        let witness = registry.witness().await;
        for asked in [false, true] {
            let mut builder = registry.config().namespace("").app_name("mine").timeouts(Default::default());
            if asked {
                builder = builder.from_env().expect("the variables are valid");
            }
            let nacos = builder.build().expect("the settings are valid");
            connected(&nacos).await;
            let name = unique("orders");
            nacos.register_instance(&name, mine(1)).await.expect("it is acknowledged");
            lists(&service(&nacos, &name), &[1]).await;
            witness.sees(&name, &[1]).await;
            let apps: Vec<_> = registry.server().connections().into_iter().map(|c| c.app).collect();
            assert!(apps.contains(&"mine".to_owned()) && !apps.contains(&"astray".to_owned()), "{apps:?}");
        }
    });
    assert_eq!(env::vars_os().collect::<BTreeMap<_, _>>(), before);
}

/// A folder full of files that nobody is to read or write.
struct Home(PathBuf);

impl Home {
    fn new() -> Self {
        let home = env::temp_dir().join(unique("nacos-home"));
        for decoy in DECOYS {
            let path = home.join(decoy);
            fs::create_dir_all(path.parent().expect("it lies in the folder")).expect("temporary folders can be made");
            fs::write(path, DECOY).expect("temporary files can be written");
        }
        Self(home)
    }

    fn is_untouched(&self) {
        let mut found = Vec::new();
        list(&self.0, &self.0, &mut found);
        found.sort_unstable();
        let mut expected: Vec<_> = DECOYS.iter().map(|decoy| (*decoy).to_owned()).collect();
        expected.sort_unstable();
        assert_eq!(found, expected, "no file came or went");
        for decoy in DECOYS {
            assert_eq!(fs::read_to_string(self.0.join(decoy)).expect("it is there"), DECOY);
        }
    }
}

fn list(root: &Path, folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() {
            list(root, &path, found);
        } else {
            found.push(path.strip_prefix(root).expect("it lies in the folder").to_string_lossy().into_owned());
        }
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // Left behind only if something still writes there.
        drop(fs::remove_dir_all(&self.0));
    }
}
