"""What arrays are called, and who is told of progress."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

Array = NDArray[Any]

IntArray = NDArray[np.intp]
AnyFloat = NDArray[np.floating]  # float32 or float64

Float32Array = NDArray[np.float32]
BoolArray = NDArray[np.bool_]


Tick = Callable[[int, int], object]

Text = NDArray[np.object_]

PhaseTick = Callable[[str, int, int], object]
