//! Load: many clients on one stream, bursts of writes; CPU per delivered frame and the time until the
//! last client has an event, beside a bare socket writer measured in the same run.
//!
//! `cargo bench --bench load -- [clients] [bursts] [burst]`; talks to the loopback interface only and
//! stops by itself. Absolute figures are those of the machine; the ratios carry over.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a measurement that cannot be taken is not reported"
)]

use std::{
    net::SocketAddr,
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use bson::{Document, doc};
use mongodb::{Client, options::WriteConcern};
use tailwater::mongod::Mongod;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
};

/// A document of about 1 KB.
const FILLER: usize = 900;

/// How long a burst may take to reach everyone.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Clone, Copy)]
struct Load {
    clients: usize,
    bursts: usize,
    burst: usize,
}

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    if arguments.first().is_some_and(|first| first == "--bare-server") {
        return bare_server(arguments[1].parse().unwrap()).await;
    }
    let number =
        |at: usize, default| arguments.get(at).and_then(|a| a.parse().ok()).unwrap_or(default);
    let load = Load { clients: number(0, 1000), bursts: number(1, 40), burst: number(2, 16) };
    println!(
        "{} clients, {} bursts of {} documents of 1 KB",
        load.clients, load.bursts, load.burst
    );
    let bare = bare(load).await;
    let mongod = Mongod::builder().start().await.unwrap();
    let service = Service::start(&mongod).await;
    for (name, transport) in [("SSE", Transport::Sse), ("WebSocket", Transport::WebSocket)] {
        let measured = service.measure(load, transport).await;
        measured.print(name, bare.micros_per_frame);
    }
    bare.print("bare writer", bare.micros_per_frame);
    drop(service);
    mongod.stop().await.unwrap();
}

#[derive(Clone, Copy)]
enum Transport {
    Sse,
    WebSocket,
}

struct Measured {
    micros_per_frame: f64,
    frames: u64,
    /// Milliseconds from the acknowledgement of a burst to its last frame at the last client.
    last: Vec<f64>,
}

impl Measured {
    fn print(&self, name: &str, bare: f64) {
        let mut last = self.last.clone();
        last.sort_by(f64::total_cmp);
        let at = |share: f64| last[((last.len() - 1) as f64 * share) as usize];
        println!(
            "{name:12} {:8} frames  {:6.2} µs CPU per frame ({:.2} x)  last client p50 {:6.1} ms  p99 {:6.1} ms",
            self.frames,
            self.micros_per_frame,
            self.micros_per_frame / bare,
            at(0.5),
            at(0.99)
        );
    }
}

/// The service in a process of its own, so that its CPU time is its own.
struct Service {
    process: Child,
    address: SocketAddr,
    db: mongodb::Database,
}

impl Service {
    async fn start(mongod: &Mongod) -> Self {
        let client = Client::with_uri_str(mongod.uri()).await.unwrap();
        let db = client.database("load");
        let streams = vec![doc! { "uri": "all", "stages": [] }];
        let properties = doc! { "_id": "_properties.c", "streams": streams };
        db.collection::<Document>("_properties").insert_one(properties).await.unwrap();
        let address = free_address().await;
        let process = Command::new(env!("CARGO_BIN_EXE_tailwater"))
            .args(["serve", "--insecure-no-auth", "--mongodb-uri", &mongod.uri()])
            .args(["--listen", &address.to_string()])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        while TcpStream::connect(address).await.is_err() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Self { process, address, db }
    }

    async fn measure(&self, load: Load, transport: Transport) -> Measured {
        let seen = Arc::new(AtomicU64::new(0));
        let mut clients = Vec::new();
        for _ in 0..load.clients {
            let socket = self.open(transport).await;
            clients.push(tokio::spawn(count(socket, seen.clone())));
        }
        let coll = self.db.collection::<Document>("c");
        let (mut last, start) = (Vec::new(), cpu(self.process.id()));
        for burst in 0..load.bursts {
            let documents: Vec<_> = (0..load.burst).map(|n| document(burst, n)).collect();
            coll.insert_many(documents).write_concern(WriteConcern::majority()).await.unwrap();
            let acknowledged = Instant::now();
            wait(&seen, ((burst + 1) * load.burst * load.clients) as u64).await;
            last.push(acknowledged.elapsed().as_secs_f64() * 1e3);
        }
        let frames = seen.load(Ordering::Relaxed);
        let micros_per_frame = (cpu(self.process.id()) - start) * 1e6 / frames as f64;
        clients.iter().for_each(tokio::task::JoinHandle::abort);
        Measured { micros_per_frame, frames, last }
    }

    async fn open(&self, transport: Transport) -> BufReader<TcpStream> {
        let mut socket = TcpStream::connect(self.address).await.unwrap();
        let head = match transport {
            Transport::Sse => "Accept: text/event-stream",
            Transport::WebSocket => {
                "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                 Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
            }
        };
        let request = format!("GET /load/c/_streams/all HTTP/1.1\r\nHost: x\r\n{head}\r\n\r\n");
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut socket = BufReader::new(socket);
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            socket.read_line(&mut line).await.unwrap();
        }
        socket
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

fn document(burst: usize, n: usize) -> Document {
    doc! { "burst": burst as i64, "n": n as i64, "filler": "x".repeat(FILLER), "end": "~~" }
}

/// Counts frames by what occurs once in each: two tildes in a row, which no head of a frame holds.
async fn count(mut socket: BufReader<TcpStream>, seen: Arc<AtomicU64>) {
    let (mut buffer, mut last) = (vec![0; 64 * 1024], 0);
    loop {
        match socket.read(&mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(count) => {
                let mut frames = 0;
                for byte in &buffer[..count] {
                    frames += u64::from(*byte == b'~' && last == b'~');
                    last = *byte;
                }
                seen.fetch_add(frames, Ordering::Relaxed);
            }
        }
    }
}

async fn wait(seen: &AtomicU64, wanted: u64) {
    let start = Instant::now();
    while seen.load(Ordering::Relaxed) < wanted {
        assert!(start.elapsed() < PATIENCE, "{} of {wanted} frames", seen.load(Ordering::Relaxed));
        tokio::time::sleep(Duration::from_micros(200)).await;
    }
}

/// User and system time of a process, seconds.
fn cpu(process: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let fields: Vec<_> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks: f64 = [11, 12].map(|at: usize| fields[at].parse::<f64>().unwrap()).iter().sum();
    ticks / 100.0
}

async fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap()
}

/// The same frames to as many sockets, by a process that does nothing but write: one write a burst.
async fn bare(load: Load) -> Measured {
    let address = free_address().await;
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args(["--bare-server", &address.to_string()])
        .spawn()
        .unwrap();
    while TcpStream::connect(address).await.is_err() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let seen = Arc::new(AtomicU64::new(0));
    let mut clients = Vec::new();
    for _ in 0..load.clients {
        let socket = BufReader::new(TcpStream::connect(address).await.unwrap());
        clients.push(tokio::spawn(count(socket, seen.clone())));
    }
    let mut control = TcpStream::connect(address).await.unwrap();
    control.write_all(b"c").await.unwrap();
    let (mut last, start) = (Vec::new(), cpu(process.id()));
    for burst in 0..load.bursts {
        control.write_all(&[load.burst as u8]).await.unwrap();
        let told = Instant::now();
        wait(&seen, ((burst + 1) * load.burst * load.clients) as u64).await;
        last.push(told.elapsed().as_secs_f64() * 1e3);
    }
    let frames = seen.load(Ordering::Relaxed);
    let micros_per_frame = (cpu(process.id()) - start) * 1e6 / frames as f64;
    process.kill().unwrap();
    process.wait().unwrap();
    Measured { micros_per_frame, frames, last }
}

/// Sockets that say nothing are clients; the one that speaks says how many frames a burst has.
async fn bare_server(address: SocketAddr) {
    let listener = TcpListener::bind(address).await.unwrap();
    let frame = format!("{}~~", "x".repeat(1100));
    let mut sockets = Vec::new();
    loop {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut first = [0];
        let speaks =
            tokio::time::timeout(Duration::from_millis(1), socket.read_exact(&mut first)).await;
        if speaks.is_err() {
            socket.set_nodelay(true).unwrap();
            sockets.push(socket);
            continue;
        }
        while socket.read_exact(&mut first).await.is_ok() {
            let bytes = frame.repeat(usize::from(first[0]));
            for client in &mut sockets {
                drop(client.write_all(bytes.as_bytes()).await);
            }
        }
    }
}
