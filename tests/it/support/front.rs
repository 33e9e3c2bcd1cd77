//! Proxies that people run, before a service of the test: Debian's nginx and haproxy.

use std::{fs, net::SocketAddr, path::PathBuf};

use super::{
    clients::{Program, Tool},
    eventually, listens, unused_port,
};

/// A running proxy with a folder of its own; both are gone when it is dropped.
pub(crate) struct Front {
    pub(crate) address: SocketAddr,
    folder: Folder,
    _program: Program,
}

struct Folder(PathBuf);

/// A certificate for this machine's own address, good for a day; certificate and key are in one file.
pub(crate) struct Certificate(Folder);

impl Certificate {
    pub(crate) async fn new(openssl: &Tool) -> Self {
        let this = Self(Folder::new());
        let file = this.path();
        let args = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 \
                    -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1";
        let files = ["-keyout", &file, "-out", &format!("{file}.cert")];
        let made = openssl.run(args.split_whitespace().chain(files)).finish().await;
        assert!(made.success(), "openssl: {made}");
        let both = [&file, &format!("{file}.cert")].map(|file| fs::read_to_string(file).unwrap());
        fs::write(&file, both.concat()).unwrap();
        this
    }

    pub(crate) fn path(&self) -> String {
        self.0.0.join("both.pem").display().to_string()
    }
}

impl Front {
    /// nginx before a service. `listen` follows the port, `settings` stand in the block `http`, and
    /// `location` in the one that passes everything on.
    pub(crate) async fn nginx(
        nginx: &Tool,
        upstream: SocketAddr,
        listen: &str,
        settings: &str,
        location: &str,
    ) -> Self {
        let (folder, port) = (Folder::new(), unused_port());
        let at = folder.0.display();
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
        let temporary: String =
            temporary.iter().map(|kind| format!("{kind}_temp_path {at}/{kind};\n")).collect();
        let text = format!(
            "daemon off; master_process off; pid {at}/pid; error_log {at}/error.log;\n\
             events {{ worker_connections 1024; }}\n\
             http {{\n access_log off;\n {temporary} {settings}\n\
             server {{\n listen 127.0.0.1:{port} {listen};\n\
             location / {{\n proxy_pass http://{upstream};\n {location}\n }}\n }}\n}}\n"
        );
        let file = folder.write("nginx.conf", &text);
        let program = nginx.run(["-c", &file, "-e", &format!("{at}/error.log")]);
        Self::started(port, folder, program).await
    }

    /// haproxy with these sections, in which `PORT` stands for its port.
    pub(crate) async fn haproxy(haproxy: &Tool, sections: &str) -> Self {
        let (folder, port) = (Folder::new(), unused_port());
        let text = sections.replace("PORT", &port.to_string());
        let file = folder.write("haproxy.cfg", &format!("global\n  maxconn 1000\n{text}\n"));
        let program = haproxy.run(["-db", "-f", &file]);
        Self::started(port, folder, program).await
    }

    async fn started(port: u16, folder: Folder, program: Program) -> Self {
        eventually("the proxy listens", async || listens(port).await).await;
        Self { address: ([127, 0, 0, 1], port).into(), folder, _program: program }
    }

    /// What nginx complained of.
    pub(crate) fn complaints(&self) -> String {
        fs::read_to_string(self.folder.0.join("error.log")).unwrap_or_default()
    }
}

impl Folder {
    fn new() -> Self {
        let folder =
            std::env::temp_dir().join(format!("tailwater-front-{:016x}", rand::random::<u64>()));
        fs::create_dir(&folder).unwrap();
        Self(folder)
    }

    fn write(&self, name: &str, text: &str) -> String {
        let file = self.0.join(name);
        fs::write(&file, text).unwrap();
        file.display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}
