"""Split learners: the contract, the registry and the built-in learners."""
