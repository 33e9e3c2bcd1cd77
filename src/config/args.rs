use std::path::PathBuf;

use clap::Args;

use super::keys;
use super::origin::Origin;
use super::secret::Secret;
use super::settings::Layer;
use super::tree::Value;

/// The flags that every command takes. They win over the environment and the file.
///
/// The environment is read by [`Config::load`](super::Config::load), not by the parser of flags, so
/// that each value knows which of the two it came from.
#[derive(Debug, Clone, Default, Args)]
pub struct CommonArgs {
    /// Configuration file (YAML) [env: TAILWATER_CONFIG]
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,

    /// Connection string of MongoDB [env: TAILWATER_MONGODB_URI] [default:
    /// mongodb://127.0.0.1:27017]
    #[arg(long, value_name = "URI", global = true)]
    pub mongodb_uri: Option<Secret>,

    /// Address and port to listen on [env: TAILWATER_LISTEN] [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDR:PORT", global = true)]
    pub listen: Option<String>,

    /// Let every caller do everything [env: TAILWATER_INSECURE_NO_AUTH]
    #[arg(long, global = true)]
    pub insecure_no_auth: bool,

    /// Folder of entity and subscription declarations [env: TAILWATER_ENTITIES]
    #[arg(long, value_name = "FOLDER", global = true)]
    pub entities: Option<PathBuf>,

    /// Send exactly the frames of another server [env: TAILWATER_COMPAT]
    #[arg(long, value_name = "SERVER", value_parser = ["restheart", "off"], global = true)]
    pub compat: Option<String>,
}

impl CommonArgs {
    /// What the flags say.
    pub(crate) fn layer(&self) -> Layer {
        let folder = self.entities.as_ref().map(|path| path.to_string_lossy().into_owned());
        let given = [
            ("mongodb.uri", self.mongodb_uri.as_ref().map(|uri| uri.expose().to_owned())),
            ("listen", self.listen.clone()),
            ("auth.insecure_no_auth", self.insecure_no_auth.then(|| "true".to_owned())),
            ("entities", folder),
            ("compat", self.compat.clone()),
        ];
        let setting = |(name, text): (&str, Option<String>)| {
            let key = keys::find(name)?;
            Some((key, Value::Text(text?), Origin::Flag(key.flag?)))
        };
        given.into_iter().filter_map(setting).collect()
    }
}
