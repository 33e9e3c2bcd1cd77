//! Faults inside MongoDB: commands of the service that fail as the test says.

use bson::{Bson, Document, doc};
use mongodb::Client;

use super::mongod::connect;

/// Fail points of one private mongod.
pub(crate) struct FailPoints {
    client: Client,
}

impl FailPoints {
    pub(crate) async fn of(uri: &str) -> Self {
        Self { client: connect(uri).await }
    }

    /// The service's next `times` commands of these names on a namespace do what `data` says, in the
    /// server's own words: `errorCode`, `closeConnection`, `blockConnection`, …
    pub(crate) async fn next(&self, times: i32, names: &[&str], ns: &str, data: Document) {
        self.set(doc! { "times": times }.into(), names, ns, data).await;
    }

    /// The same for every command until [`FailPoints::off`].
    pub(crate) async fn always(&self, names: &[&str], ns: &str, data: Document) {
        self.set("alwaysOn".into(), names, ns, data).await;
    }

    pub(crate) async fn off(&self) {
        self.configure(doc! { "configureFailPoint": "failCommand", "mode": "off" }).await;
    }

    /// Commands of a name that the server has run since it started, failed ones included.
    pub(crate) async fn count(&self, name: &str) -> i64 {
        let status = self.client.database("admin").run_command(doc! { "serverStatus": 1 }).await;
        let status = status.unwrap();
        let metrics = status.get_document("metrics").unwrap().get_document("commands").unwrap();
        metrics.get_document(name).unwrap().get_i64("total").unwrap()
    }

    async fn set(&self, mode: Bson, names: &[&str], ns: &str, more: Document) {
        let mut data = doc! { "failCommands": names, "namespace": ns, "appName": "tailwater" };
        data.extend(more);
        let command = doc! { "configureFailPoint": "failCommand", "mode": mode, "data": data };
        self.configure(command).await;
    }

    async fn configure(&self, command: Document) {
        self.client.database("admin").run_command(command).await.unwrap();
    }
}
