//! Headless Chromium, driven by the scripts in `tests/browser`.

use std::path::Path;

use serde_json::{Value, json};

use super::clients::{Program, Tool, skip};

/// The package that the scripts belong to.
const PACKAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/browser");

/// What the scripts need.
#[derive(Debug)]
pub(crate) struct Browser {
    node: Tool,
    chromium: Tool,
}

impl Browser {
    /// Without Node.js, Chromium or the scripts' package, a line that says so: the test then returns.
    pub(crate) fn require() -> Option<Self> {
        let (node, chromium) = (Tool::require("node")?, Tool::require("chromium")?);
        if !Path::new(PACKAGE).join("node_modules/playwright-core").is_dir() {
            return skip("playwright-core (npm ci in tests/browser)");
        }
        Some(Self { node, chromium })
    }

    /// Runs `eventsource.mjs`; its arguments are described there.
    pub(crate) fn event_source(&self, args: Value) -> BrowserRun {
        self.run("eventsource.mjs", args)
    }

    /// Runs `console.mjs`; its arguments are described there.
    pub(crate) fn console(&self, args: Value) -> BrowserRun {
        self.run("console.mjs", args)
    }

    /// Runs `eventsources.mjs`; its arguments are described there.
    pub(crate) fn event_sources(&self, args: Value) -> BrowserRun {
        self.run("eventsources.mjs", args)
    }

    /// Runs `websocket.mjs`; its arguments are described there.
    pub(crate) fn websocket(&self, args: Value) -> BrowserRun {
        self.run("websocket.mjs", args)
    }

    /// Runs `tailwater.mjs` with the client module; its arguments are described there.
    pub(crate) fn watch(&self, mut args: Value) -> BrowserRun {
        args["module"] = json!(include_str!("../../../clients/js/tailwater.js"));
        self.run("tailwater.mjs", args)
    }

    fn run(&self, script: &str, mut args: Value) -> BrowserRun {
        args["chromium"] = json!(self.chromium.path());
        let script = format!("{PACKAGE}/{script}");
        BrowserRun { program: self.node.run([script.as_str(), &args.to_string()]) }
    }
}

/// A page that runs.
#[derive(Debug)]
pub(crate) struct BrowserRun {
    program: Program,
}

impl BrowserRun {
    /// What the page reports next; `None` when the run is over.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let line = self.program.line().await?;
        Some(serde_json::from_str(&line).unwrap_or_else(|_| panic!("no report: {line}")))
    }

    /// The next report of this type; others are passed over.
    pub(crate) async fn next_of(&mut self, kind: &str) -> Value {
        loop {
            let report = self.next().await.unwrap_or_else(|| panic!("ended before {kind}"));
            if report["type"] == kind {
                return report;
            }
        }
    }

    /// Sends a line to the script: `websocket.mjs` says it, `tailwater.mjs` fires that event.
    pub(crate) async fn send(&mut self, text: &str) {
        self.program.send(text).await;
    }

    /// Closes the browser.
    pub(crate) async fn finish(self) {
        assert!(self.program.finish().await.success());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use axum::{Router, http::HeaderMap, routing::get};
    use tokio::net::TcpListener;

    use super::{super::clients::mirror, *};

    type Seen = Arc<Mutex<Vec<Option<String>>>>;

    /// Serves `/page`, and `/events`: each response holds one event and ends, so that the browser
    /// comes back, and tells where it was.
    async fn serve(seen: Seen) -> String {
        let events = move |headers: HeaderMap| async move {
            let last = headers.get("last-event-id").map(|id| id.to_str().unwrap().to_owned());
            let mut seen = seen.lock().unwrap();
            seen.push(last);
            let body = format!("retry: 1\nid: p{0}\nevent: change\ndata: {0}\n\n", seen.len());
            ([("content-type", "text/event-stream")], body)
        };
        let router = Router::new().route("/page", get(async || "")).route("/events", get(events));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        tokio::spawn(async { axum::serve(listener, router).await.unwrap() });
        host
    }

    #[tokio::test]
    async fn an_event_source_reports_events_and_comes_back_by_itself() {
        let Some(browser) = Browser::require() else { return };
        let seen = Seen::default();
        let host = serve(seen.clone()).await;
        let (page, url) = (format!("http://{host}/page"), format!("http://{host}/events"));
        let args = json!({ "page": page, "url": url, "events": ["change"], "count": 2 });
        let mut run = browser.event_source(args);
        assert_eq!(run.next().await, Some(json!({ "type": "open" })));
        let event = run.next_of("event").await;
        assert_eq!((&event["data"], &event["lastEventId"]), (&json!("1"), &json!("p1")));
        assert_eq!(run.next_of("error").await["readyState"], 0);
        assert_eq!(run.next_of("event").await["lastEventId"], "p2");
        assert_eq!(run.next().await, None);
        run.finish().await;
        assert_eq!(*seen.lock().unwrap(), [None, Some("p1".to_owned())]);
    }

    #[tokio::test]
    async fn a_websocket_sends_and_reports_messages() {
        let Some(browser) = Browser::require() else { return };
        let Some(websocat) = Tool::require("websocat") else { return };
        let (url, _server) = mirror(&websocat).await;
        let host = serve(Seen::default()).await;
        let page = format!("http://{host}/page");
        let args = json!({ "page": page, "url": url });
        let mut run = browser.websocket(args);
        assert_eq!(run.next().await, Some(json!({ "type": "open", "protocol": "" })));
        run.send("hello").await;
        assert_eq!(run.next_of("message").await["data"], "hello");
        run.finish().await;
    }
}
