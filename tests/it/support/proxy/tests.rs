use std::{io::ErrorKind, time::Instant};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::timeout,
};

use super::{super::eventually, *};

/// Long enough for loopback to deliver what is going to be delivered.
const QUIET: Duration = Duration::from_millis(100);

/// A proxy before a server that sends everything back.
async fn echo() -> Proxy {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let (mut read, mut write) = socket.split();
                drop(tokio::io::copy(&mut read, &mut write).await);
            });
        }
    });
    Proxy::start(address).await
}

/// A connection through the proxy that has carried a byte each way.
async fn connected(proxy: &Proxy) -> TcpStream {
    let mut client = TcpStream::connect(proxy.address()).await.unwrap();
    check_echo(&mut client, b"!").await;
    client
}

async fn check_echo(client: &mut TcpStream, bytes: &[u8]) {
    client.write_all(bytes).await.unwrap();
    check_arrives(client, bytes).await;
}

async fn check_arrives(client: &mut TcpStream, expected: &[u8]) {
    let mut read = vec![0; expected.len()];
    client.read_exact(&mut read).await.unwrap();
    assert_eq!(read, expected);
}

async fn check_quiet(client: &mut TcpStream) {
    let mut byte = [0];
    let read = timeout(QUIET, client.read(&mut byte)).await;
    assert!(read.is_err(), "{read:?} {byte:?}");
}

#[tokio::test]
async fn a_stall_holds_bytes_back_and_loses_none() {
    for direction in [Direction::Up, Direction::Down] {
        let proxy = echo().await;
        let mut client = connected(&proxy).await;
        proxy.set_flow(direction, Flow::Stall);
        client.write_all(b"held").await.unwrap();
        check_quiet(&mut client).await;
        proxy.set_flow(direction, Flow::Pass);
        check_arrives(&mut client, b"held").await;
    }
}

#[tokio::test]
async fn a_half_open_connection_loses_bytes_and_ends_alike() {
    let proxy = echo().await;
    let mut client = connected(&proxy).await;
    proxy.set_both(Flow::Swallow);
    client.write_all(b"lost").await.unwrap();
    check_quiet(&mut client).await;
    proxy.set_both(Flow::Pass);
    check_echo(&mut client, b"kept").await;
    proxy.set_both(Flow::Swallow);
    client.shutdown().await.unwrap();
    check_quiet(&mut client).await;
    assert_eq!(proxy.connections(), 1);
}

#[tokio::test]
async fn a_delay_is_added_in_each_direction() {
    let proxy = echo().await;
    let mut client = connected(&proxy).await;
    proxy.set_delay(QUIET);
    let start = Instant::now();
    check_echo(&mut client, b"late").await;
    assert!(start.elapsed() >= 2 * QUIET, "{:?}", start.elapsed());
}

#[tokio::test]
async fn the_bandwidth_is_limited() {
    let proxy = echo().await;
    let mut client = connected(&proxy).await;
    proxy.set_bandwidth(Some(64 * 1024));
    let start = Instant::now();
    check_echo(&mut client, &[b'x'; 16 * 1024]).await;
    assert!(start.elapsed() >= Duration::from_millis(250), "{:?}", start.elapsed());
}

#[tokio::test]
async fn a_cut_ends_connections_and_a_reset_breaks_them() {
    let proxy = echo().await;
    let (mut client, mut byte) = (connected(&proxy).await, [0]);
    proxy.cut_all();
    assert_eq!(client.read(&mut byte).await.unwrap(), 0);
    let mut client = connected(&proxy).await;
    proxy.reset_all();
    assert_eq!(client.read(&mut byte).await.unwrap_err().kind(), ErrorKind::ConnectionReset);
    eventually("no connection is left", async || proxy.connections() == 0).await;
    let mut client = connected(&proxy).await;
    drop(proxy);
    assert_eq!(client.read(&mut byte).await.unwrap(), 0);
}

#[tokio::test]
async fn a_refusing_proxy_closes_new_connections_only() {
    let proxy = echo().await;
    let mut old = connected(&proxy).await;
    proxy.set_refuse(true);
    let mut new = TcpStream::connect(proxy.address()).await.unwrap();
    assert_eq!(new.read(&mut [0]).await.unwrap(), 0);
    check_echo(&mut old, b"still").await;
}
