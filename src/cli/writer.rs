//! The sample writer of `dev`: orders that are placed, change and go.

use std::time::Duration;

use bson::{DateTime, Document, doc, oid::ObjectId};
use mongodb::{Client, Collection, options::WriteConcern};
use rand::{Rng, seq::IndexedRandom};
use tokio_util::sync::CancellationToken;

/// Time between writes: an event shows within a second.
const PACE: Duration = Duration::from_millis(700);

/// Orders kept; older ones are deleted.
const KEPT: usize = 20;

const TENANTS: [&str; 3] = ["acme", "globex", "initech"];
const STATUSES: [&str; 3] = ["placed", "paid", "shipped"];

/// Writes until told to stop.
pub(super) async fn run(client: Client, stop: CancellationToken) -> anyhow::Result<()> {
    let orders = client.database("demo").collection::<Document>("orders");
    let mut placed: Vec<ObjectId> = Vec::new();
    loop {
        tokio::select! {
            () = tokio::time::sleep(PACE) => {}
            () = stop.cancelled() => return Ok(()),
        }
        if let Err(error) = write(&orders, &mut placed).await {
            tracing::warn!(%error, "the sample writer could not write");
        }
    }
}

async fn write(
    orders: &Collection<Document>,
    placed: &mut Vec<ObjectId>,
) -> mongodb::error::Result<()> {
    let majority = WriteConcern::majority();
    if placed.len() > KEPT {
        let oldest = placed.remove(0);
        orders.delete_one(doc! { "_id": oldest }).write_concern(majority).await?;
        return Ok(());
    }
    let chosen = placed.choose(&mut rand::rng()).copied();
    match chosen.filter(|_| rand::rng().random_bool(0.4)) {
        Some(order) => {
            let status = *STATUSES.choose(&mut rand::rng()).unwrap_or(&"paid");
            let change = doc! { "$set": { "status": status, "_etag": ObjectId::new() } };
            orders.update_one(doc! { "_id": order }, change).write_concern(majority).await?;
        }
        None => {
            let order = order();
            placed.extend(order.get_object_id("_id"));
            orders.insert_one(order).write_concern(majority).await?;
        }
    }
    Ok(())
}

fn order() -> Document {
    let mut random = rand::rng();
    doc! {
        "_id": ObjectId::new(),
        "tenantId": *TENANTS.choose(&mut random).unwrap_or(&"acme"),
        "status": "placed",
        "total": random.random_range(5..500),
        "placedAt": DateTime::now(),
        "_etag": ObjectId::new(),
    }
}
