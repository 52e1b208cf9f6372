//! Puts the parts together, and takes them apart in the right order.

use std::io::Write;
use std::num::NonZero;
use std::sync::Arc;
#[cfg(feature = "embedded")]
use std::time::Duration;

use bytes::Bytes;
use hyper::header::HeaderValue;
use tokio::signal::unix::{SignalKind, signal};

use crate::assets::Pages;
use crate::auth::{LiveTokens, Tokens, check_exposure, plaintext_warning};
use crate::caretaker::Caretaker;
use crate::cells::Cells;
use crate::metrics::Metrics;
use crate::service::{Service, fresh_key};
use crate::settings::{Hosting, Serve};
use crate::transport::{Shutdown, ShutdownTrigger, TlsReloader, TransportStats, bind, serve};
use crate::{openapi, page};
#[cfg(feature = "embedded")]
use lockless_client::backend::Embedded;
use lockless_client::backend::{Backend, Redis};
use lockless_client::wakes::Wakes;
use lockless_client::workers::Workers;

/// Serves until SIGINT or SIGTERM. The error is a sentence for the user.
pub async fn run(settings: &Serve) -> Result<(), String> {
    let hosting = settings.hosting()?;
    let cells = Cells::new(&settings.cells)?;
    let tokens = Arc::new(tokens(settings)?);
    check_exposure(settings.listen, &tokens.current())?;
    let threads = match settings.threads {
        Some(threads) => usize::from(threads),
        None => std::thread::available_parallelism().map_or(1, NonZero::get),
    };
    let workers =
        Workers::start(threads).map_err(|error| format!("threads can't be started: {error}"))?;
    let transport = settings.transport();
    let listener = bind(&transport)?;
    let backend = backend(hosting, &workers)?;
    let address = listener.addr();
    let scheme = if transport.tls.is_some() {
        "https"
    } else {
        "http"
    };

    let (trigger, shutdown) = Shutdown::new();
    let stats = Arc::new(TransportStats::default());
    let caretaker = Caretaker::start(&backend, cells.known().to_vec(), fresh_key(), &shutdown);
    let wait_limit_ms = settings.limits.max_wait_ms;
    let service = Service {
        wakes: Arc::new(Wakes::new(backend.clone())),
        caretaker,
        tokens: Arc::clone(&tokens),
        cells,
        metrics: Metrics::new(&backend),
        backend: backend.clone(),
        transport: Arc::clone(&stats),
        limits: transport.body_limits(),
        durability: settings.redis.durability.into(),
        wait_limit_ms,
        request_time: transport.request_timeout,
        shutdown: shutdown.clone(),
        pages: Pages::new(settings.pages.clone()),
        openapi: Bytes::from(openapi::document(wait_limit_ms).to_string()),
        page: Bytes::from(page::page(wait_limit_ms)),
        page_policy: HeaderValue::try_from(page::content_security_policy())
            .map_err(|error| format!("the page has no policy: {error}"))?,
    };
    on_signals(trigger, tokens.clone(), listener.tls_reloader())
        .map_err(|error| format!("signals can't be listened for: {error}"))?;

    announce(
        &format!("{scheme}://{address}"),
        settings,
        &tokens.current(),
    );
    let dropped = serve(
        listener,
        Arc::new(service),
        transport,
        shutdown,
        stats,
        workers,
    )
    .await;
    let closed = backend.close().await;
    if dropped > 0 {
        tracing::warn!(
            dropped,
            "requests were still under way when the time was up"
        );
    }
    tracing::info!("stopped");
    closed
}

/// Begins to connect to Redis, or hosts the library here.
fn backend(hosting: Hosting, workers: &Arc<Workers>) -> Result<Backend, String> {
    match hosting {
        Hosting::Redis(settings) => {
            let redis = Redis::start(*settings, workers);
            Ok(redis.map_err(|error| error.to_string())?.into())
        }
        #[cfg(feature = "embedded")]
        Hosting::Embedded(settings) => {
            let embedded = Embedded::start(settings);
            Ok(embedded.map_err(|error| error.to_string())?.into())
        }
    }
}

/// Says where it listens and for whom. Whoever started it may have stopped listening to it.
fn announce(address: &str, settings: &Serve, tokens: &Tokens) {
    let mut text = format!(
        "lockless-gateway {} listens on {address}",
        env!("CARGO_PKG_VERSION")
    );
    text.push_str(&host(settings));
    text.push('\n');
    if tokens.is_open() {
        text.push_str(
            "No tokens are configured: it serves this machine only, and every caller is an operator (--tokens FILE).\n",
        );
    }
    let _ = std::io::stdout().write_all(text.as_bytes());
    let has_tls = settings.callers.tls_cert.is_some();
    if let Some(warning) = plaintext_warning(settings.listen, tokens, has_tls) {
        tracing::warn!("{warning}");
    }
}

/// What is to be known about where the state is.
fn host(settings: &Serve) -> String {
    #[cfg(feature = "embedded")]
    if settings.redis.url.is_none() {
        let kept = match &settings.embedded.state {
            Some(file) => format!(
                "the state is kept in {}, saved every {} s and at the end",
                file.display(),
                Duration::from_millis(settings.embedded.every_ms).as_secs_f32()
            ),
            None => "all is gone when it ends (--state FILE keeps it)".to_owned(),
        };
        return format!(
            " with an embedded scheduler\nIt is one process without replicas, and {kept}; --redis URL uses a Redis instead."
        );
    }
    let _ = settings;
    String::new()
}

fn tokens(settings: &Serve) -> Result<LiveTokens, String> {
    let callers = &settings.callers;
    match (&callers.file, &callers.text) {
        (Some(file), _) => LiveTokens::from_file(file),
        (None, Some(text)) => LiveTokens::from_variable(text),
        (None, None) => Ok(LiveTokens::none()),
    }
}

/// SIGINT and SIGTERM end it, a second one at once; SIGHUP reads the tokens and the certificate again.
fn on_signals(
    trigger: ShutdownTrigger,
    tokens: Arc<LiveTokens>,
    certificate: Option<TlsReloader>,
) -> std::io::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::spawn(async move {
        let mut asked = false;
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hangup.recv() => {
                    reload(&tokens, certificate.as_ref());
                    continue;
                }
            }
            if asked {
                std::process::exit(130);
            }
            asked = true;
            tracing::info!("shutting down; once more to stop at once");
            trigger.request();
        }
    });
    Ok(())
}

fn reload(tokens: &LiveTokens, certificate: Option<&TlsReloader>) {
    let outcomes = [
        ("tokens", Some(tokens.reload())),
        ("certificate", certificate.map(TlsReloader::reload)),
    ];
    for (what, outcome) in outcomes {
        match outcome {
            Some(Ok(())) => tracing::info!(what, "read again"),
            Some(Err(error)) => {
                tracing::error!(what, error, "not read again; what was there stays");
            }
            None => {}
        }
    }
}
