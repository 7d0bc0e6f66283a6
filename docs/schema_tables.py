"""Tables of the keys of a JSON schema, for the page docs/json-schema.md of the site."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

Schema = dict[str, Any]

SCHEMAS = {file.name: file for file in (Path(__file__).parents[1] / "ranker").rglob("*.schema.json")}
PLACE = re.compile(r"(?m)^<!-- (\w+\.schema\.json) -->$")
"""Line of the page that the tables of a schema stand in for."""


def with_tables(page: str) -> str:
    """Return a page with the tables of each schema whose place it marks."""
    return PLACE.sub(lambda place: tables(json.loads(SCHEMAS[place[1]].read_text(encoding="utf-8"))), page)


def tables(schema: Schema) -> str:
    """Return the tables of a schema: the object itself, then each of its parts by name; a row a key."""
    lines = []
    for name, part in {"": schema, **schema["$defs"]}.items():
        lines += [f"### {name}", "", f"{part['description']}.", ""] if name else []
        lines += ["| key | type | what it is |", "|---|---|---|"]
        for key, value in part["properties"].items():
            optional = "" if key in part["required"] else " (may be left out)"
            meaning = value["description"].replace("|", r"\|")
            lines.append(f"| `{key}` | {kind(schema, value)}{optional} | {meaning} |")
            inner = value.get("properties", {})
            lines += [f"| `{key}.{k}` | {kind(schema, v)} | {v['description']} |" for k, v in inner.items()]
        lines.append("")
    return "\n".join(lines)


def kind(schema: Schema, part: Schema) -> str:
    """Return a part's type in words.

    Example:
        >>> kind({}, {"type": "array", "items": {"type": "string"}}), kind({}, {"type": ["number", "null"]})
        ('list of string', 'number or null')
    """
    if "const" in part or "enum" in part:
        return " or ".join(json.dumps(value) for value in part.get("enum", [part.get("const")]))
    whole, name, null = resolved(schema, part)
    if null or name:
        return f"{name or kind(schema, whole)}{' or null' if null else ''}"
    if "anyOf" in part:
        return " or ".join(kind(schema, option) for option in part["anyOf"])
    types = part.get("type", "any")
    words = [types] if isinstance(types, str) else types
    if (part.get("minimum"), part.get("maximum")) == (0, 1):
        words = ["fraction" if word == "number" else word for word in words]
    if "array" in words:
        words = [f"list of {kind(schema, part['items'])}" if word == "array" else word for word in words]
    if "object" in words and "additionalProperties" in part:
        words = [f"object of {kind(schema, part['additionalProperties'])}" if w == "object" else w for w in words]
    return " or ".join(words)


def resolved(schema: Schema, part: Schema) -> tuple[Schema, str, bool]:
    """Return the part that a reference stands for, its name, and whether null may stand beside it."""
    options = part.get("anyOf", [])
    null = {"type": "null"} in options
    if null:
        (part,) = [option for option in options if option != {"type": "null"}]
    name = part.get("$ref", "").rpartition("/")[2]
    return (schema["$defs"][name] if name else part), name, null
