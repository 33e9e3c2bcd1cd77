//! `tailwater tail`: a stream or an entity feed of a running service, one event a line.

mod events;

use std::{process::ExitCode, time::Duration};

use anyhow::bail;
use clap::Args;
use http_body_util::BodyExt;
use hyper::{Response, StatusCode, body::Incoming, header};
use tokio::time::timeout;

use self::events::{Event, Events};
use super::{
    load, print, report,
    service::{Service, ServiceArgs, refusal},
    signals,
};
use crate::{backoff::Backoff, config::CommonArgs};

/// Frames about the stream. All others are events of it.
const CONTROL: &[&str] = &["ready", "status", "reset", "skipped", "expiring", "close", "heartbeat"];

#[derive(Debug, Args)]
pub(super) struct TailArgs {
    /// What to watch, like /shop/orders/_streams/by-tenant?tid=acme
    path: String,
    #[command(flatten)]
    service: ServiceArgs,
    /// Begin after this event
    #[arg(long, value_name = "ID")]
    last_event_id: Option<String>,
    /// End after so many events
    #[arg(long, value_name = "N")]
    count: Option<u64>,
    /// Print every frame, `ready` and `reset` included, as {"id", "event", "data"}
    #[arg(long)]
    frames: bool,
}

pub(super) async fn run(common: &CommonArgs, args: &TailArgs) -> anyhow::Result<ExitCode> {
    let config = load(common)?;
    let mut tail = Tail {
        args,
        service: Service::new(&args.service, &config)?,
        last_id: args.last_event_id.clone(),
        left: args.count,
        patience: Duration::MAX,
    };
    tokio::select! {
        ended = tail.follow() => ended.map(|()| ExitCode::SUCCESS),
        () = signals::shutdown() => Ok(ExitCode::SUCCESS),
    }
}

/// One run of the command, over as many connections as it takes.
struct Tail<'a> {
    args: &'a TailArgs,
    service: Service,
    /// Where the next connection begins.
    last_id: Option<String>,
    /// Events still to be printed.
    left: Option<u64>,
    /// A connection that is silent for longer is taken for dead.
    patience: Duration,
}

/// How a connection ended.
enum End {
    Enough,
    Cut,
}

impl Tail<'_> {
    /// Prints events until there are enough, or the stream cannot be opened.
    async fn follow(&mut self) -> anyhow::Result<()> {
        let mut backoff = Backoff::new(Duration::from_millis(250), Duration::from_secs(15));
        let mut opened = false;
        loop {
            tokio::time::sleep(backoff.wait()).await;
            match self.open().await {
                Ok(answer) => {
                    opened = true;
                    backoff.reset();
                    if matches!(self.print_all(answer).await?, End::Enough) {
                        return Ok(());
                    }
                    report("tailwater: the connection ended; opening it again");
                    // The first wait is none: a service that ends every connection is not hurried.
                    backoff.wait();
                }
                // A service that was there before comes back; one that never was is a slip.
                Err(Refused::Later(error)) if opened => report(&format!("tailwater: {error:#}")),
                Err(Refused::Later(error) | Refused::Final(error)) => return Err(error),
            }
        }
    }

    async fn open(&self) -> Result<Response<Incoming>, Refused> {
        let mut headers = vec![(header::ACCEPT.as_str(), "text/event-stream")];
        headers.extend(self.last_id.as_deref().map(|id| ("last-event-id", id)));
        let answer = self.service.get(&self.args.path, &headers).await.map_err(Refused::Later)?;
        match answer.status() {
            StatusCode::OK => Ok(answer),
            StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS => {
                Err(Refused::Later(anyhow::anyhow!(refusal(answer).await)))
            }
            _ => Err(Refused::Final(anyhow::anyhow!(refusal(answer).await))),
        }
    }

    async fn print_all(&mut self, answer: Response<Incoming>) -> anyhow::Result<End> {
        let (mut body, mut events) = (answer.into_body(), Events::default());
        while let Ok(Some(Ok(frame))) = timeout(self.patience, body.frame()).await {
            let Ok(bytes) = frame.into_data() else { continue };
            events.push(&bytes)?;
            while let Some(event) = events.next() {
                self.print_one(&event)?;
                if self.left == Some(0) {
                    return Ok(End::Enough);
                }
            }
        }
        Ok(End::Cut)
    }

    fn print_one(&mut self, event: &Event) -> anyhow::Result<()> {
        if let Some(id) = &event.id {
            self.last_id = (!id.is_empty()).then(|| id.clone());
        }
        let Some(data) = &event.data else { return Ok(()) };
        if let Some(heartbeat) = event.heartbeat() {
            self.patience = heartbeat * 3;
        }
        let control = CONTROL.contains(&event.name.as_str());
        match (self.args.frames, control) {
            (true, _) => print(&event.to_json()),
            (false, false) => print(data),
            (false, true) if event.name == "ready" => {}
            (false, true) => report(&format!("tailwater: {}: {data}", event.name)),
        }
        if !control {
            self.left = self.left.map(|left| left.saturating_sub(1));
        }
        if event.name == "close" && !event.reconnect() {
            bail!("the stream was closed for good");
        }
        Ok(())
    }
}

/// Why a stream was not opened.
enum Refused {
    /// It may be opened a little later.
    Later(anyhow::Error),
    Final(anyhow::Error),
}
