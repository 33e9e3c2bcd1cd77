use std::time::{Duration, SystemTime};

use super::*;

#[track_caller]
fn check(telemetry: &Telemetry, line: &str) {
    let page = telemetry.prometheus();
    assert!(page.lines().any(|found| found == line), "no {line:?} in\n{page}");
}

#[test]
fn every_family_is_there_from_the_start() {
    let telemetry = Telemetry::knowing([Cause::reason("service restart")]);
    for line in [
        r#"tailwater_connections{transport="sse",surface="streams"} 0"#,
        r#"tailwater_connections{transport="websocket",surface="entities"} 0"#,
        r#"tailwater_connections_closed_total{cause="client gone"} 0"#,
        r#"tailwater_connections_closed_total{cause="service restart"} 0"#,
        r#"tailwater_refused_total{cap="own_cursors"} 0"#,
        r#"tailwater_cursors{sharing="shared"} 0"#,
        "tailwater_cursors_degraded 0",
        "tailwater_catch_ups 0",
        "# TYPE tailwater_source_lag_seconds gauge",
        "tailwater_events_read_total 0",
        r#"tailwater_events_filtered_total{surface="entities",by="script"} 0"#,
        r#"tailwater_resets_total{surface="streams"} 0"#,
    ] {
        check(&telemetry, line);
    }
    let page = telemetry.prometheus();
    assert!(!page.contains("\ntailwater_source_lag_seconds"), "unknown is absent, not zero");
    for line in page.lines().filter(|line| line.starts_with("# TYPE")) {
        assert_eq!(line.ends_with("_total counter"), line.ends_with(" counter"), "{line}");
    }
}

/// What a subscriber was not asked about counts as kept by what its index stands for.
#[test]
fn what_is_not_visited_follows_from_the_cursor() {
    let meter = Arc::new(CursorMeter::new("d.c".to_owned(), false));
    let tally = Tally::new(meter.clone(), Some(Sieve::NotifyWhen));
    tally.looked(None);
    tally.looked(Some(Sieve::Scope));
    (0..10).for_each(|_| meter.published());
    tally.routed();
    (0..100).for_each(|_| meter.published());
    tally.brought();
    tally.kept(Sieve::Stage);
    let counts = tally.counts();
    assert_eq!((counts.seen, counts.filtered), (102, [1, 98, 1, 0]));
    tally.unrouted();
    (0..5).for_each(|_| meter.published());
    assert_eq!(tally.counts(), counts, "until it looks again, it has not seen them");
    tally.unrouted();
    tally.looked(Some(Sieve::NotifyWhen));
    assert_eq!(tally.counts().filtered, [1, 99, 1, 0]);
}

/// Totals keep what subscribers counted that are gone, and gauges forget them.
#[test]
fn totals_outlive_subscribers() {
    let telemetry = Telemetry::default();
    let open = |topic: &str| Connection::open(&telemetry, Transport::Sse, Surface::Streams, topic);
    let (first, mut second) = (open("a"), open("b"));
    assert!(first.subscriber().id() < second.subscriber().id());
    [&first, &second].iter().for_each(|connection| connection.subscriber().delivered());
    first.subscriber().sent(10);
    check(&telemetry, r#"tailwater_connections{transport="sse",surface="streams"} 2"#);
    check(&telemetry, r#"tailwater_topics{surface="streams"} 2"#);
    second.ends(Cause::PROTOCOL);
    second.ends(Cause::CLIENT_CLOSED);
    drop((first, second));
    check(&telemetry, r#"tailwater_connections{transport="sse",surface="streams"} 0"#);
    check(&telemetry, r#"tailwater_subscribers{surface="streams"} 0"#);
    check(&telemetry, r#"tailwater_events_delivered_total{surface="streams"} 2"#);
    check(&telemetry, r#"tailwater_sent_bytes_total{surface="streams"} 10"#);
    check(&telemetry, r#"tailwater_connections_closed_total{cause="protocol error"} 1"#);
    check(&telemetry, r#"tailwater_connections_closed_total{cause="client gone"} 1"#);
}

/// Lag is the distance from the newest moment that was read; it is absent until there is one.
#[test]
fn lag_is_known_once_something_was_read() {
    let telemetry = Telemetry::default();
    let cursors =
        [("d.a", false), ("d.b", true)].map(|(ns, own)| telemetry.cursor(ns.to_owned(), own));
    assert_eq!(telemetry.status().lag(), None);
    let hour = Duration::from_secs(3600);
    cursors[0].meter().reached(SystemTime::now());
    cursors[1].meter().reached(SystemTime::now() - hour);
    cursors[1].meter().set_degraded(true);
    assert!(telemetry.status().lag().is_some_and(|lag| lag >= hour && lag < hour * 2));
    check(&telemetry, r#"tailwater_cursors{sharing="own"} 1"#);
    check(&telemetry, "tailwater_cursors_degraded 1");
    drop(cursors);
    assert_eq!(telemetry.status().lag(), None);
    let running = telemetry.catch_up();
    check(&telemetry, "tailwater_catch_ups 1");
    drop(running);
    check(&telemetry, "tailwater_catch_ups 0");
}
