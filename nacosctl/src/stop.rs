//! When the process is asked to end.

use std::io;

/// Listens from now on for Ctrl-C, and on Unix also for the signal with which a supervisor ends a process.
#[cfg(unix)]
pub(crate) fn asked() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// Listens from now on for Ctrl-C.
#[cfg(windows)]
pub(crate) fn asked() -> io::Result<impl Future<Output = ()>> {
    let mut interrupt = tokio::signal::windows::ctrl_c()?;
    Ok(async move {
        interrupt.recv().await;
    })
}
