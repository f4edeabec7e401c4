"""Reports: whatever a person reads of a model."""
