use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use ipnet::IpNet;

use super::error::ConfigError;
use super::settings::Settings;

/// Where connections are accepted, and from whom forwarded addresses are believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenConfig {
    pub address: SocketAddr,
    /// A listener of their own for the resources under `/_/`.
    pub admin: Option<SocketAddr>,
    pub trusted_proxies: TrustedProxies,
}

/// The networks whose `X-Forwarded-For` is believed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustedProxies(Vec<IpNet>);

impl ListenConfig {
    pub(crate) fn read(settings: &mut Settings) -> Self {
        let fallback = SocketAddr::from((Ipv4Addr::LOCALHOST, 8080));
        let address = settings.address("listen").unwrap_or(fallback);
        let admin = settings.address("admin_listen");
        if admin == Some(address) && address.port() != 0 {
            let reason = format!("is {address}, as listen is; give it a port of its own");
            settings.refuse_set("admin_listen", reason);
        }
        Self { address, admin, trusted_proxies: TrustedProxies::read(settings) }
    }

    /// Refuses every address that others than this machine can reach.
    pub(crate) fn check_loopback(&self) -> Result<(), ConfigError> {
        let listeners = [("listen", Some(self.address)), ("admin_listen", self.admin)];
        for (key, address) in listeners {
            match address {
                Some(address) if !address.ip().is_loopback() => {
                    return Err(ConfigError::Exposed { address, key });
                }
                _ => {}
            }
        }
        Ok(())
    }
}

impl TrustedProxies {
    /// Whether a peer's forwarded addresses are believed. An IPv4 peer on an IPv6 socket counts as
    /// IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
    }

    fn read(settings: &mut Settings) -> Self {
        const KEY: &str = "trusted_proxies";
        let mut networks = Vec::new();
        for text in settings.list(KEY) {
            match network(&text) {
                Some(network) => networks.push(network),
                None => settings.refuse_set(
                    KEY,
                    format!("holds `{text}`; write addresses and networks like 10.0.0.0/8"),
                ),
            }
        }
        Self(networks)
    }
}

fn network(text: &str) -> Option<IpNet> {
    text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from))
}
