use std::io;

/// Waits for Ctrl-C or, where the system has it, SIGTERM. From the first poll on these do not kill the process any more.
///
/// # Errors
/// If the signals cannot be listened to.
///
/// # Cancel safety
/// Cancel safe, but a signal that comes while nobody waits is lost.
pub async fn stop_signal() -> io::Result<()> {
    #[cfg(unix)]
    {
        let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
        tokio::select! {
            signal = tokio::signal::ctrl_c() => signal,
            _ = terminate.recv() => Ok(()),
        }
    }
    #[cfg(not(unix))]
    tokio::signal::ctrl_c().await
}
