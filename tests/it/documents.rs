//! What the documents show works.

use crate::support::tailwater::{Folder, run};

/// Each definition of the recipes is one that `check` accepts; a warning is advice.
#[tokio::test]
async fn the_recipes_are_sound() {
    let blocks = blocks(include_str!("../../docs/recipes.md"), "yaml");
    assert!(blocks.len() >= 6, "{}", blocks.len());
    for block in blocks {
        let folder = Folder::new().with("recipe.yaml", block);
        let (code, out, err) = run(&["check", folder.path()]).await;
        assert_eq!(code, 0, "{block}\n{out}{err}");
        assert!(out.contains("shop.orders: would install"), "{out}");
    }
}

/// The fenced blocks of one language.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("```{language}\n");
    let rest = text.split(fence.as_str()).skip(1);
    rest.filter_map(|rest| rest.split_once("\n```").map(|(block, _)| block)).collect()
}
