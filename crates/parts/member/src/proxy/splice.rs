//! Two upgraded connections as one.

use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use runtime::CancellationToken;
use telemetry::chain;

/// Carries bytes both ways until one side ends or everything is stopped.
pub(super) async fn splice(
    cluster: String,
    ours: OnUpgrade,
    theirs: OnUpgrade,
    stop: CancellationToken,
) {
    let carrying = async {
        let (ours, theirs) = tokio::try_join!(ours, theirs)?;
        let (mut ours, mut theirs) = (TokioIo::new(ours), TokioIo::new(theirs));
        // How the streams end is their users' business; an end is an end.
        _ = tokio::io::copy_bidirectional(&mut ours, &mut theirs).await;
        Ok::<(), hyper::Error>(())
    };
    let carried = tokio::select! {
        biased;
        () = stop.cancelled() => return,
        carried = carrying => carried,
    };
    if let Err(error) = carried {
        tracing::debug!(cluster, error = %chain(&error), "an upgraded connection did not come about");
    }
}
