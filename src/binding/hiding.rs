//! Hidden fields, taken out on the server: for pipelines whose stages could copy them elsewhere.

use bson::{Bson, Document, doc};

use super::{Cut, Scope};

const IMAGES: [&str; 2] = ["fullDocument", "fullDocumentBeforeChange"];

/// The stages that go before those of the definition.
pub(super) fn stages(scope: &Scope, cut: Option<&Cut>) -> Vec<Document> {
    let mut stages = Vec::new();
    if scope.read_filter.is_some() {
        stages.push(doc! { "$unset": ["updateDescription", "fullDocumentBeforeChange"] });
    }
    stages.extend(scope.secrets.stages());
    let Some(projection) = &scope.project_response else { return stages };
    let paths = outermost(projection);
    stages.push(doc! { "$unset": "updateDescription" });
    if cut.is_some_and(Cut::is_inclusive) {
        stages.push(including(&paths));
    } else {
        stages.push(doc! { "$unset": under_images(&paths).collect::<Vec<_>>() });
        stages.extend(without_literal_names(&paths));
    }
    stages
}

/// Paths that lie in no other one: MongoDB refuses a projection that names both.
fn outermost(projection: &Document) -> Vec<&str> {
    let lies_in = |path: &str, other: &str| {
        path.strip_prefix(other).is_some_and(|rest| rest.starts_with('.'))
    };
    let paths = projection.keys().map(String::as_str);
    paths.filter(|path| !projection.keys().any(|other| lies_in(path, other))).collect()
}

fn under_images(paths: &[&str]) -> impl Iterator<Item = String> {
    IMAGES.iter().flat_map(move |image| paths.iter().map(move |path| format!("{image}.{path}")))
}

fn including(paths: &[&str]) -> Document {
    let own = ["operationType", "ns", "to", "documentKey", "clusterTime", "wallTime"];
    let shown = under_images(paths).chain(own.map(str::to_owned));
    doc! { "$project": shown.map(|path| (path, Bson::from(1))).collect::<Document>() }
}

/// Fields whose names hold dots: no path reaches them, and a copy of the whole image would.
fn without_literal_names(paths: &[&str]) -> Option<Document> {
    let dotted: Vec<_> = paths.iter().filter(|path| path.contains('.')).collect();
    let without = |image: &str| {
        let image = format!("${image}");
        let cut = dotted.iter().fold(Bson::from(image.as_str()), |input, path| {
            let field = doc! { "$literal": path };
            doc! { "$unsetField": { "field": field, "input": input } }.into()
        });
        let is_document = doc! { "$eq": [{ "$type": &image }, "object"] };
        doc! { "$cond": [is_document, cut, &image] }
    };
    let set: Document =
        IMAGES.iter().map(|image| ((*image).to_owned(), without(image).into())).collect();
    (!dotted.is_empty()).then(|| doc! { "$set": set })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stages_of(projection: Document) -> Vec<Document> {
        let cut = Cut::parse(&projection).unwrap();
        let scope = Scope { project_response: Some(projection), ..Scope::default() };
        stages(&scope, Some(&cut))
    }

    #[test]
    fn paths_in_one_another_are_named_once() {
        let hidden = vec!["fullDocument.a", "fullDocumentBeforeChange.a"];
        let expected = vec![doc! { "$unset": "updateDescription" }, doc! { "$unset": hidden }];
        assert_eq!(stages_of(doc! { "a.b": 0, "a": 0 }), expected);
        let shown = stages_of(doc! { "a": 1, "a.b": 1 });
        let project = shown[1].get_document("$project").unwrap();
        assert!(
            project.contains_key("fullDocument.a") && !project.contains_key("fullDocument.a.b")
        );
    }

    #[test]
    fn names_with_dots_are_hidden_like_paths() {
        let stages = stages_of(doc! { "p.secret": 0 });
        assert!(stages[2].to_string().contains(r#""$unsetField""#), "{stages:?}");
        assert_eq!(stages_of(doc! { "p": 0 }).len(), 2);
    }
}
