"""Python text in public sets: literals, and calls written as ``Name(key='value', …)``, well-formed or not."""

from __future__ import annotations

import ast
import contextlib
import json
import re
import warnings
from collections.abc import Iterator

from oospec_async.request import Json
from oospec_async.training.records import Call, Object

_BROKEN = (ValueError, TypeError, SyntaxError, MemoryError, RecursionError)
_NAME = r"[^\W\d][\w.]*"
_CALL = re.compile(rf"\s*({_NAME})\((.*)\)\s*", re.DOTALL)
_KEY = re.compile(rf"(?:^|,)\s*({_NAME})\s*=\s*", re.DOTALL)
_APOSTROPHE = re.compile(r"(?<=[^\W\d])'(?=[a-z]{1,2}\b)")  # user's, don't: quotes of a literal stand at its ends


def literal(text: str) -> Json:
    """The JSON value that a Python literal stands for; None if it is no literal or has no JSON form."""
    tree = _parsed(text)
    return None if tree is None else _as_json(tree)


def loose_literal(text: str) -> Json:
    """As ``literal``, and with bare names read as text (``{'type': str}``) and apostrophes inside words escaped."""
    for attempt in (text, _APOSTROPHE.sub(r"\\'", text)):
        if (tree := _parsed(attempt)) is not None and (value := _as_json(_Unquoted().visit(tree))) is not None:
            return value
    return None


class Unreadable(ValueError):
    """A text that is no call."""


def python_calls(text: str) -> tuple[list[Call], bool]:
    """Calls in ``[Name(key='value'), …]``, and whether the text had to be repaired.

    What is not Python is read by rule: without brackets it is one call; a value that is no literal is text, to the
    next ``, key=``. Raises Unreadable.
    """
    body = text.strip()
    bracketed = body.startswith("[") and body.endswith("]")
    tree = _parsed(body if bracketed else f"[{body}]")
    if isinstance(tree, ast.List) and tree.elts:
        with contextlib.suppress(Unreadable):
            calls = [_call(element) for element in tree.elts]
            return [call for call, _ in calls], not bracketed or any(repaired for _, repaired in calls)
    match = _CALL.fullmatch(body[1:-1] if bracketed else body)
    if match is None:
        raise Unreadable(text)
    return [Call(name=match[1], arguments=dict(_pairs(match[2])))], True


def _call(node: ast.expr) -> tuple[Call, bool]:
    """A call with keywords alone, and whether a value of it is no literal: it is kept as text. Raises Unreadable."""
    if not isinstance(node, ast.Call) or node.args or not isinstance(node.func, ast.Name | ast.Attribute):
        raise Unreadable
    arguments: Object = {}
    repaired = False
    for keyword in node.keywords:
        if keyword.arg is None:
            raise Unreadable
        value = _as_json(keyword.value)
        if value is None and not (isinstance(keyword.value, ast.Constant) and keyword.value.value is None):
            value, repaired = ast.unparse(keyword.value), True
        arguments[keyword.arg] = value
    return Call(name=ast.unparse(node.func), arguments=arguments), repaired


def _pairs(text: str) -> Iterator[tuple[str, Json]]:
    keys = list(_KEY.finditer(text))
    if text.strip() and (not keys or keys[0].start() != 0):
        raise Unreadable(text)
    ends = [key.start() for key in keys[1:]] + [len(text)]
    for key, end in zip(keys, ends, strict=True):
        raw = text[key.end() : end].strip()
        value = literal(raw)
        yield key[1], raw.strip("'\"") if value is None else value


def _parsed(text: str) -> ast.expr | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a stray backslash in a description is no concern of the reader
            return ast.parse(text.strip(), mode="eval").body
    except _BROKEN:
        return None


def _as_json(tree: ast.expr) -> Json:
    try:
        return json.loads(json.dumps(ast.literal_eval(tree), allow_nan=False))
    except _BROKEN:
        return None


class _Unquoted(ast.NodeTransformer):
    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.copy_location(ast.Constant(node.id), node)
