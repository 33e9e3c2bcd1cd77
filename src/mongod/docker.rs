//! A mongod in a container, by the `docker` client: no library of ours speaks to the engine.

use std::{
    ffi::OsString,
    path::Path,
    process,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use sha2::{Digest, Sha256};
use tokio::{process::Command, time::timeout};

use super::{
    builder::MongodBuilder,
    program::{Launch, common_args},
};

/// The image that is run.
pub(super) const IMAGE: &str = "mongo:7.0";

/// The port inside the container.
pub(super) const PORT: u16 = 27017;

/// An engine that takes longer than this to say its version is as good as none.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// A first pull brings some 300 MB.
const PULL_TIMEOUT: Duration = Duration::from_secs(300);

/// Whether an engine answers and has, or can get, the image; else the reason.
pub(super) async fn answers() -> Result<(), String> {
    docker(&["version", "--format", "{{.Server.Version}}"], ANSWER_TIMEOUT)
        .await
        .map_err(|reason| format!("no Docker engine answers ({reason})"))?;
    if docker(&["image", "inspect", IMAGE], ANSWER_TIMEOUT).await.is_ok() {
        return Ok(());
    }
    tracing::info!(docker.image = IMAGE, "pulling the image");
    docker(&["pull", "--quiet", IMAGE], PULL_TIMEOUT)
        .await
        .map_err(|reason| format!("Docker cannot pull {IMAGE} ({reason})"))
}

async fn docker(args: &[&str], limit: Duration) -> Result<(), String> {
    let run = Command::new("docker").args(args).kill_on_drop(true).output();
    let output = match timeout(limit, run).await {
        Err(_) => return Err(format!("no answer within {} s", limit.as_secs())),
        Ok(Err(error)) => return Err(error.to_string()),
        Ok(Ok(output)) => output,
    };
    if output.status.success() {
        return Ok(());
    }
    Err(super::log::last_line(&output.stderr))
}

/// `docker run` in the foreground, so that the guard's child ends when the container does.
pub(super) fn launch(settings: &MongodBuilder, port: u16) -> Launch {
    let container = container_name();
    let mut args: Vec<OsString> = ["run", "--rm", "--name", &container].map(Into::into).into();
    args.extend(["--publish".into(), format!("127.0.0.1:{port}:{PORT}").into()]);
    if let Some(folder) = &settings.data_dir {
        args.extend(["--volume".into(), format!("{}:/data/db", volume_name(folder)).into()]);
    }
    // Published ports arrive from the container's own network, so it must listen on all of its own.
    args.extend([IMAGE, "--bind_ip_all"].map(Into::into));
    args.extend(common_args(settings));
    Launch {
        program: "docker".into(),
        args,
        environment: Vec::new(),
        container: Some(container),
        remove: None,
    }
}

fn container_name() -> String {
    static STARTED: AtomicU32 = AtomicU32::new(0);
    format!("tailwater-mongod-{}-{}", process::id(), STARTED.fetch_add(1, Ordering::Relaxed))
}

/// A named volume per data folder: a folder of the host mounted into the container would end up
/// owned by the image's user, and is slow or unsafe for databases where Docker runs in a VM.
fn volume_name(folder: &Path) -> String {
    let digest = Sha256::digest(folder.as_os_str().as_encoded_bytes());
    let hex: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("tailwater-{hex}")
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    fn line(settings: &MongodBuilder) -> String {
        launch(settings, 4711).args.join(OsStr::new(" ")).into_string().unwrap()
    }

    #[test]
    fn a_container_is_published_on_loopback_only() {
        let line = line(&MongodBuilder::default());
        assert!(
            line.contains(" --publish 127.0.0.1:4711:27017 mongo:7.0 --bind_ip_all "),
            "{line}"
        );
        assert!(!line.contains("--volume"), "{line}");
    }

    #[test]
    fn a_data_folder_is_a_volume_of_its_own_each_time_the_same() {
        let kept = |folder: &str| line(&MongodBuilder::default().data_dir(folder));
        let volume = |line: &str| {
            line.split_once("--volume ").unwrap().1.split(' ').next().unwrap().to_owned()
        };
        assert_eq!(volume(&kept("/a")), volume(&kept("/a")));
        assert_ne!(volume(&kept("/a")), volume(&kept("/b")));
    }
}
