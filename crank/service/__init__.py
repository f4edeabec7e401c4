"""A model behind HTTP: one row or many in, scores out; health, model card, schema, metrics."""

from __future__ import annotations

from crank.service.app import create_app

__all__ = ["create_app"]
