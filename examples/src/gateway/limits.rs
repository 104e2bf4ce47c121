use std::time::Duration;

/// What a gateway waits for, and for how long.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct GatewayLimits {
    /// How long a connection to an instance may take to come about, in milliseconds; then another instance is asked.
    #[arg(long = "connect-ms", value_name = "MS", default_value = "2000", value_parser = milliseconds)]
    pub connect: Duration,
    /// How long an instance has for the head of its answer once it has the whole request, in milliseconds; then the caller
    /// gets a 504. How long bodies take is not limited.
    #[arg(long = "answer-ms", value_name = "MS", default_value = "60000", value_parser = milliseconds)]
    pub answer: Duration,
    /// How long a WebSocket may be without a byte in either direction, in milliseconds; then both of its connections are
    /// closed. It may take half as long again.
    #[arg(long = "tunnel-idle-ms", value_name = "MS", default_value = "600000", value_parser = milliseconds)]
    pub tunnel_idle: Duration,
}

impl Default for GatewayLimits {
    fn default() -> Self {
        Self { connect: Duration::from_secs(2), answer: Duration::from_secs(60), tunnel_idle: Duration::from_secs(600) }
    }
}

fn milliseconds(text: &str) -> Result<Duration, std::num::ParseIntError> {
    text.parse().map(Duration::from_millis)
}
