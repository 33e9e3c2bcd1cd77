//! The plan of a stream, for its caller, for anybody an administrator asks about, and on the command line.

use bson::{bson, doc};
use serde_json::{Value, json};

use super::{
    deployment::{Deployment, hashed, permission, sse_as},
    tokens::{basic, bearer_of},
};
use crate::support::{TestApp, http::Answer, tailwater::run};

async fn started() -> TestApp {
    let deployment = Deployment::new().await;
    deployment.user(doc! { "_id": "noroles", "password": hashed("noroles") }).await;
    let filter = doc! { "readFilter": { "owner": "@user._id" }, "projectResponse": { "cost": 0 } };
    let app = deployment.permissions([
        doc! { "_id": "own", "roles": ["user"], "predicate": "path-prefix('/')", "mongo": filter },
        permission("team", "path-prefix('/')", doc! { "readFilter": { "team": "@user.team" } }),
        permission("$unauthenticated", "path-suffix('/open')", doc! {}),
    ]);
    let app = app.await.start().await;
    let client = bson!([{ "$match": { "operationType": "insert" } }, { "$match": { "fullDocument.x": { "$var": "x" } } }]);
    let computing = bson!([{ "$match": { "fullDocument.x": { "$var": "x" } } }, { "$set": { "y": { "$add": ["$fullDocument.n", 1] } } }]);
    let streams =
        [("all", bson!([])), ("open", bson!([])), ("x", client), ("computing", computing)];
    let streams = streams.map(|(uri, stages)| doc! { "uri": uri, "stages": stages });
    app.declare("c", streams.to_vec()).await;
    app
}

async fn explain(app: &TestApp, user: &str, stream: &str, more: &str) -> Answer {
    let path = app.path(stream).replace('?', "%3F").replace('&', "%26");
    app.as_user(user, "GET", &format!("/_/explain?path={path}{more}")).await
}

fn holds(list: &Value, text: &str) -> bool {
    list.as_array().unwrap().iter().any(|it| it.as_str().unwrap().contains(text))
}

/// A caller is told what is sent to MongoDB, what is decided in process and why, what it is shown, and what
/// may surprise.
#[tokio::test]
async fn a_caller_is_told_its_plan() {
    let app = started().await;
    let _open = sse_as(&app, &basic("bob", "bob"), "c/all").await;
    let plan = explain(&app, "ann", "c/all", "").await.json();
    assert_eq!(plan["allowed"], true);
    assert_eq!(plan["permission"], "own");
    assert_eq!(plan["principal"], json!({ "user": "ann", "roles": ["user"] }));
    assert_eq!(
        (&plan["cursor"]["shared"], &plan["cursor"]["pipeline"]),
        (&true.into(), &json!([]))
    );
    assert_eq!(plan["cursor"]["subscribers"], 1, "bob's stream is on it");
    assert_eq!(plan["projection"], json!({ "cost": 0 }));
    assert!(
        holds(&plan["in_process"], "readFilter") && holds(&plan["in_process"], "projectResponse")
    );
    assert!(holds(&plan["scope"], "ann"), "{plan}");
    assert!(holds(&plan["warnings"], "deletes will be withheld: no pre-images"));
    assert!(
        holds(&plan["words"], "deletes will be withheld")
            && holds(&plan["words"], "shared with every")
    );

    let plan = explain(&app, "root", "c/x?x=1", "").await.json();
    assert_eq!(plan["cursor"]["pipeline"], json!([{ "$match": { "operationType": "insert" } }]));
    assert!(holds(&plan["in_process"], "variables of the client"), "{plan}");
    assert_eq!((&plan["scope"], &plan["permission"]), (&json!([]), &Value::Null));

    let plan = explain(&app, "ann", "c/computing?x=1", "").await.json();
    let sent = plan["cursor"]["pipeline"].to_string();
    assert!(sent.contains("fullDocument.cost") && sent.contains("fullDocument.owner"), "{sent}");
    let plan = explain(&app, "root", "c/computing?x=1", "").await.json();
    assert_eq!(
        (&plan["cursor"]["shared"], plan["cursor"]["pipeline"].as_array().unwrap().len()),
        (&false.into(), 2)
    );
    assert!(holds(&plan["warnings"], "only equal bindings share this cursor"), "{plan}");
    for (user, stream, more, status) in [
        ("ann", "c/none", "", 404),
        ("ann", "c/x", "", 400),
        ("ann", "c/all", "&user=bob", 403),
        ("ann", "c/all", "&role=admin", 403),
        ("ann", "c/all", "&claims={}", 403),
        ("nobody", "c/all", "", 401),
        ("root", "c/all", "&user=nobody", 404),
        ("root", "c/all", "&claims=[]", 400),
    ] {
        assert_eq!(
            explain(&app, user, stream, more).await.status,
            status,
            "{user} {stream} {more}"
        );
    }
}

/// An administrator asks for anybody: a stored user, one with other roles, a token's user, a stranger; also why
/// they see nothing.
#[tokio::test]
async fn an_administrator_asks_for_anybody() {
    let app = started().await;
    let ask = async |more: &str| explain(&app, "root", "c/all", more).await.json();
    let ann = ask("&user=ann").await;
    assert_eq!(ann["principal"], json!({ "user": "ann", "roles": ["user"] }));
    assert_eq!(ann, explain(&app, "ann", "c/all", "").await.json(), "what ann is told");
    let other = ask("&user=ann&role=admin").await;
    assert_eq!((&other["scope"], &other["permission"]), (&json!([]), &Value::Null));
    let token = ask("&user=jo&role=team&claims=%7B%22team%22:%22red%22%7D").await;
    assert!(holds(&token["scope"], "red"), "{token}");
    let unknown = ask("&user=jo&role=user").await;
    assert!(holds(&unknown["scope"], "jo"), "{unknown}");
    for (more, reason) in [
        ("&user=noroles", "no permission of this caller matches"),
        ("&role=$unauthenticated", "no permission lets strangers do this"),
    ] {
        let denied = ask(more).await;
        assert_eq!(
            (&denied["allowed"], &denied["cursor"]),
            (&false.into(), &Value::Null),
            "{more}"
        );
        assert!(denied["reason"].as_str().unwrap().contains(reason), "{more}: {denied}");
        assert!(holds(&denied["words"], reason));
    }
    let missing = ask("&user=jo&role=team").await;
    assert_eq!(missing["allowed"], true);
    assert!(holds(&missing["warnings"], "nothing is shown"), "{missing}");
    let open = explain(&app, "root", "c/open", "&role=$unauthenticated").await.json();
    assert_eq!(open["principal"], json!({ "user": null, "roles": [] }));
    assert_eq!(open["allowed"], true);
    let bearer = bearer_of("jo", &["admin"]);
    let headers = [("authorization", bearer.as_str())];
    let asked =
        app.with("GET", &format!("/_/explain?path={}&user=ann", app.path("c/all")), &headers).await;
    assert_eq!(asked.status, 200, "{}", asked.body);
}

/// The command line tells the same from MongoDB, in words and as JSON, without a running service.
#[tokio::test]
async fn the_command_line_explains() {
    let app = started().await;
    let uri = crate::support::mongod::shared_uri().await;
    let db = app.db.name();
    let yaml = format!(
        "mongodb: {{ uri: \"{uri}\", settings: {db}.own }}\nauth: {{ basic: {{ database: {db} }} }}\nacl: {{ database: {db} }}\n"
    );
    let folder = crate::support::tailwater::Folder::new().with("t.yaml", &yaml);
    let config = format!("{}/t.yaml", folder.path());
    let path = app.path("c/all");
    let explain = async |more: &[&str]| {
        let mut args = vec!["explain", "--config", &config];
        args.extend(more);
        run(&args).await
    };
    let (code, out, err) = explain(&[&path, "--user", "ann"]).await;
    assert_eq!(code, 0, "{err}");
    for words in [
        "for ann, with the roles [\"user\"], by permission own",
        "MongoDB sends every change",
        "deletes will be withheld: no pre-images",
        "readFilter { \"owner\": { \"$eq\": \"ann\" } }",
    ] {
        assert!(out.contains(words), "{words}: {out}");
    }
    let (code, out, _) = explain(&[&path, "--user", "ann", "--json"]).await;
    let plan: Value = serde_json::from_str(&out).unwrap();
    let mut told = explain_over_http(&app, &path).await;
    told["cursor"]["subscribers"] = 0.into();
    assert_eq!((code, plan), (0, told));
    let (code, out, _) = explain(&[&path]).await;
    assert!(
        code == 0 && out.contains("a stranger") && out.contains("may not open the stream"),
        "{out}"
    );
    let (code, out, _) =
        explain(&[&path, "--user", "jo", "--role", "team", "--claims", "{team: 'red'}"]).await;
    assert!(code == 0 && out.contains("red"), "{out}");
    for (more, expected, said) in [
        (vec![path.as_str(), "--user", "nobody"], 1, "user nobody does not exist"),
        (vec!["/a", "--user", "ann"], 1, "the path names no stream"),
        (vec![path.as_str(), "--claims", "x"], 1, "--claims is no JSON object"),
        (vec![], 2, "Usage"),
    ] {
        let (code, out, err) = explain(&more).await;
        assert_eq!((code, out.as_str()), (expected, ""), "{more:?}");
        assert!(err.contains(said), "{more:?}: {err}");
    }
    let names = app.db.list_collection_names().await.unwrap();
    assert!(!names.contains(&"own".to_owned()), "nothing is written: {names:?}");
}

async fn explain_over_http(app: &TestApp, path: &str) -> Value {
    app.as_user("ann", "GET", &format!("/_/explain?path={path}")).await.json()
}
