//! The `heartbeat` parameter of entity feeds.

use std::{fmt, time::Duration};

/// How often a quiet feed says that it is alive: between one second and five minutes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Heartbeat(Duration);

/// A `heartbeat` that is no duration: `400`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "heartbeat `{0}` is not a duration; write it like 45s, 1m30s or 45 (seconds), from 1s to 5m"
)]
pub struct HeartbeatError(String);

const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(300);

/// Units of Go's durations, in nanoseconds, longer names first.
const UNITS: &[(&str, f64)] = &[
    ("ns", 1.0),
    ("us", 1e3),
    ("\u{b5}s", 1e3),
    ("\u{3bc}s", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("m", 60e9),
    ("h", 3600e9),
];

impl Default for Heartbeat {
    /// Below the idle timeouts that reverse proxies usually have.
    fn default() -> Self {
        Self(Duration::from_secs(30))
    }
}

impl Heartbeat {
    /// Reads a duration as Go writes it (`45s`, `1m30s`, `1.5m`) or a number of seconds. What is
    /// shorter or longer than allowed becomes the shortest or the longest; absent is 30 s.
    ///
    /// # Errors
    /// Anything else.
    pub fn from_query(heartbeat: Option<&str>) -> Result<Self, HeartbeatError> {
        let Some(text) = heartbeat else { return Ok(Self::default()) };
        let refused = || HeartbeatError(text.chars().take(64).collect());
        let nanoseconds = seconds(text).or_else(|| go_duration(text)).ok_or_else(refused)?;
        let duration = Duration::try_from_secs_f64(nanoseconds / 1e9).unwrap_or(LONGEST);
        Ok(Self(duration.clamp(SHORTEST, LONGEST)))
    }

    /// The time between two beats.
    pub fn duration(self) -> Duration {
        self.0
    }
}

impl fmt::Display for Heartbeat {
    /// As it may be sent back: `45s`, `1m30s`, `5m`, `1.5s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (minutes, millis) = (self.0.as_secs() / 60, self.0.as_millis() % 60_000);
        if minutes > 0 {
            write!(f, "{minutes}m")?;
        }
        if millis > 0 || minutes == 0 {
            write!(f, "{}s", millis as f64 / 1000.0)?;
        }
        Ok(())
    }
}

fn seconds(text: &str) -> Option<f64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse::<f64>().ok()).flatten().map(|seconds| seconds * 1e9)
}

fn go_duration(text: &str) -> Option<f64> {
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    let mut total = 0.0;
    while !rest.is_empty() {
        let length = rest.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
        let (amount, tail) = rest.split_at(length);
        let amount = amount.bytes().any(|byte| byte.is_ascii_digit()).then_some(amount)?;
        let length = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(length);
        let (_, size) = UNITS.iter().find(|(name, _)| *name == unit)?;
        total += amount.parse::<f64>().ok()? * size;
        rest = tail;
    }
    (text.len() > 1).then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_reads_them() {
        for (text, millis, shown) in [
            ("45s", 45_000, "45s"),
            ("1m", 60_000, "1m"),
            ("1m30s", 90_000, "1m30s"),
            ("45", 45_000, "45s"),
            ("1.5s", 1500, "1.5s"),
            ("1.5m", 90_000, "1m30s"),
            (".5m", 30_000, "30s"),
            ("2500ms", 2500, "2.5s"),
            ("+10s", 10_000, "10s"),
            ("5000000us", 5000, "5s"),
            ("5000000\u{b5}s", 5000, "5s"),
            ("30s1m", 90_000, "1m30s"),
            // Out of bounds is brought into them.
            ("0", 1000, "1s"),
            ("0s", 1000, "1s"),
            ("1ms", 1000, "1s"),
            ("6m", 300_000, "5m"),
            ("1h", 300_000, "5m"),
            ("99999999999999999999", 300_000, "5m"),
            ("9999999999999999999999999h", 300_000, "5m"),
        ] {
            let found = Heartbeat::from_query(Some(text)).unwrap();
            assert_eq!(found.duration(), Duration::from_millis(millis), "{text}");
            assert_eq!(found.to_string(), shown, "{text}");
        }
        assert_eq!(Heartbeat::from_query(None).unwrap().to_string(), "30s");
    }

    #[test]
    fn everything_else_is_refused() {
        let long = "x".repeat(1000);
        for text in [
            "",
            " ",
            "s",
            "m",
            "+",
            "abc",
            "45x",
            "45 s",
            "-5s",
            "-5",
            "1e3s",
            "1..5s",
            ".s",
            "45s ",
            "S",
            "45S",
            "named",
            "NaN",
            "inf",
            "infs",
            "1_0s",
            "1d",
            long.as_str(),
        ] {
            let error = Heartbeat::from_query(Some(text)).unwrap_err().to_string();
            assert!(error.contains("45s, 1m30s") && error.len() < 200, "{text}: {error}");
        }
    }
}
