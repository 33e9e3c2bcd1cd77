"""Reads envelopes with packages that others wrote; prints what they hold, one JSON line for each."""

import base64
import io
import json
import sys

from cloudevents.core.formats.json import JSONFormat
from fastavro import parse_schema, schemaless_reader
from fastavro.schema import fingerprint, to_parsing_canonical_form

asked = json.load(sys.stdin)

for text in asked.get("cloudevents", []):
    event = JSONFormat().read(None, text)
    print(json.dumps({**event.get_attributes(), "data": event.get_data()}, default=str))

if "schema" in asked:
    schema = parse_schema(asked["schema"])
    digest = fingerprint(to_parsing_canonical_form(asked["schema"]), "CRC-64-AVRO")
    for text in asked["avro"]:
        record = base64.b64decode(text, validate=True)
        # The single-object encoding: a marker, the schema's fingerprint, the record.
        assert record[:2] == b"\xc3\x01", record[:2]
        assert record[2:10].hex() == digest, (record[2:10].hex(), digest)
        rest = io.BytesIO(record[10:])
        print(json.dumps(schemaless_reader(rest, schema), default=str))
        assert rest.read() == b""
