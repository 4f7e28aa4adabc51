"""The operations of an OpenAPI 3 document as functions."""

from __future__ import annotations

from collections.abc import Iterator

from oospec_async.request import Json
from oospec_async.training.records import Object

_DEEPEST = 4  # levels of references that are followed


def functions_of(document: Json) -> Iterator[Object]:
    """A function for each operation that has an id; its parameters are those of path, query and JSON body.

    A malformed part of the document means fewer parameters, never an error.
    """
    for path in _dict(_dict(document).get("paths")).values():
        for operation in _dict(path).values():
            name = _dict(operation).get("operationId")
            if isinstance(name, str) and name:
                yield _function(name, operation, _dict(document))


def _function(name: str, operation: Object, document: Object) -> Object:
    properties: Object = {}
    required: list[str] = []
    listed = operation.get("parameters")
    for raw in listed if isinstance(listed, list) else []:
        parameter = _dict(_resolved(raw, document))
        if isinstance(key := parameter.get("name"), str):
            properties[key] = _described(_dict(_resolved(parameter.get("schema"), document)), parameter)
            required += [key] if parameter.get("required") is True else []
    content = _dict(_dict(_resolved(operation.get("requestBody"), document)).get("content"))
    body = _dict(_resolved(_dict(content.get("application/json")).get("schema"), document))
    properties |= _dict(body.get("properties"))
    needs = body.get("required")
    required += [key for key in needs if isinstance(key, str)] if isinstance(needs, list) else []
    about = next((text for key in ("description", "summary") if isinstance(text := operation.get(key), str)), "")
    parameters = {"type": "object", "properties": properties, "required": list(dict.fromkeys(required))}
    return {"name": name, "description": about, "parameters": parameters}


def _described(schema: Object, parameter: Object) -> Object:
    about = parameter.get("description")
    return {**schema, "description": about} if isinstance(about, str) and "description" not in schema else schema


def _resolved(part: Json, document: Object, depth: int = 0) -> Json:
    """A part with its references (``#/components/…``) replaced by what they name, down to ``_DEEPEST`` levels."""
    if isinstance(part, list):
        return [_resolved(item, document, depth) for item in part]
    if not isinstance(part, dict):
        return part
    if isinstance(name := part.get("$ref"), str):
        if depth >= _DEEPEST or not name.startswith("#/"):
            return {}
        found: Json = document
        for key in name[2:].split("/"):
            found = _dict(found).get(key)
        return _resolved(found, document, depth + 1)
    return {key: _resolved(value, document, depth) for key, value in part.items()}


def _dict(value: Json) -> Object:
    return value if isinstance(value, dict) else {}
