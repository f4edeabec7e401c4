"""Seeds of fits that were given none."""

from __future__ import annotations

import numpy as np


def drawn_seed() -> int:
    """Draw a seed, which the model keeps: its call gives the same model again."""
    return int(np.random.SeedSequence().generate_state(1)[0])
