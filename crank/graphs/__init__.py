"""Graphs: ONNX graphs built by hand; they know columns and rules, but no models."""
