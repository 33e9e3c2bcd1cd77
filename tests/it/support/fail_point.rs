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

    /// The service's commands of these names on a namespace do what `data` says, in the server's own
    /// words: `errorCode`, `closeConnection`, `blockConnection`, … Until [`FailPoints::off`]. Gives how
    /// often the fail point was entered before.
    pub(crate) async fn always(&self, names: &[&str], ns: &str, data: Document) -> i32 {
        self.set("alwaysOn".into(), names, ns, data).await
    }

    /// The same for the next `times` commands; waits until they have failed.
    pub(crate) async fn hit(&self, times: i32, names: &[&str], ns: &str, data: Document) {
        let mode = doc! { "times": times }.into();
        let before = self.set(mode, names, ns, data).await;
        let wait = doc! {
            "waitForFailPoint": "failCommand", "timesEntered": before + times, "maxTimeMS": 30_000,
        };
        self.configure(wait).await;
    }

    /// The same for the next `times` commands, however long that takes. Gives how often the fail point
    /// was entered before.
    pub(crate) async fn times(&self, times: i32, names: &[&str], ns: &str, data: Document) -> i32 {
        self.set(doc! { "times": times }.into(), names, ns, data).await
    }

    /// Gives how often the fail point has been entered.
    pub(crate) async fn off(&self) -> i32 {
        let off = doc! { "configureFailPoint": "failCommand", "mode": "off" };
        entered(&self.configure(off).await)
    }

    /// Commands of a name that the server has run since it started; those of a fail point are not.
    pub(crate) async fn count(&self, name: &str) -> i64 {
        let status = self.client.database("admin").run_command(doc! { "serverStatus": 1 }).await;
        let status = status.unwrap();
        let metrics = status.get_document("metrics").unwrap().get_document("commands").unwrap();
        metrics.get_document(name).unwrap().get_i64("total").unwrap()
    }

    /// Gives how often the fail point was entered before.
    async fn set(&self, mode: Bson, names: &[&str], ns: &str, more: Document) -> i32 {
        let mut data = doc! { "failCommands": names, "namespace": ns, "appName": "tailwater" };
        data.extend(more);
        let command = doc! { "configureFailPoint": "failCommand", "mode": mode, "data": data };
        entered(&self.configure(command).await)
    }

    async fn configure(&self, command: Document) -> Document {
        self.client.database("admin").run_command(command).await.unwrap()
    }
}

fn entered(answer: &Document) -> i32 {
    answer.get("count").and_then(Bson::as_i32).unwrap()
}
