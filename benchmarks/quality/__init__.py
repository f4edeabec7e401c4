"""How well every ranker orders real data, beside its peers: ``python -m benchmarks.quality``."""
