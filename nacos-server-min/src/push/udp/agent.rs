use crate::ops::Switches;

/// The families of clients that read pushes by UDP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    Java,
    Go,
    C,
    CSharp,
    Dns,
}

const PREFIXES: [(&str, Family); 6] = [
    ("Nacos-Java-Client", Family::Java),
    ("Nacos-Go-Client", Family::Go),
    ("Nacos-C-Client", Family::C),
    ("vip-client4cpp", Family::C),
    ("Nacos-CSharp-Client", Family::CSharp),
    ("Nacos-DNS", Family::Dns),
];

/// The family that an agent names, if it is one of these.
pub(super) fn family(agent: &str) -> Option<Family> {
    PREFIXES.iter().find(|(prefix, _)| agent.starts_with(prefix)).map(|(_, family)| *family)
}

/// Whether the recorded servers push to this agent: they know few, and want each to be new enough.
pub(super) fn is_known(agent: &str, switches: &Switches) -> bool {
    let Some(family) = family(agent) else { return false };
    let Some((_, version)) = agent.split_once(":v") else { return false };
    numbers(version) >= numbers(switches.push_version(family))
}

/// The first three numbers of a version; what is none is 0.
fn numbers(version: &str) -> [u32; 3] {
    let mut parts = version.split(['-', '_', '.', '/', ';', ':']).map(|part| part.trim().parse().unwrap_or_default());
    std::array::from_fn(|_| parts.next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_known_as_the_recorded_servers_know_them() {
        let switches = Switches::default();
        for (agent, known) in [
            ("Nacos-Java-Client:v1.4.8", true),
            ("Nacos-Java-Client:v2.x-SNAPSHOT", true),
            ("Nacos-Java-Client", false),
            ("Nacos-Go-Client:v1.0.0", true),
            ("Nacos-CSharp-Client:v0.8.0", false),
            ("Nacos-DNS:v0.4.3", true),
            ("nacos-rust-client 0.3", false),
            ("Nacos-Server:v1.4.8", false),
            ("", false),
        ] {
            assert_eq!(is_known(agent, &switches), known, "{agent}");
        }
    }
}
