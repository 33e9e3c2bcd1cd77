// Reads an AsyncAPI document from standard input and prints what the specification's own parser has
// against it, one line a finding. Nothing printed: the document is sound.
import { readFileSync } from "node:fs";
import { Parser } from "@asyncapi/parser";

const { document, diagnostics } = await new Parser().parse(readFileSync(0, "utf8"));
// Severity 0 is an error, 1 a warning; hints about style are not findings.
for (const found of diagnostics.filter((found) => found.severity <= 1)) {
  console.log(`${found.severity} ${found.path.join(".")}: ${found.message}`);
}
if (!document) console.log("the document could not be read");
