"""What many records hold alike, kept once and not to be written to. To change it of one record, give that record an
array or a dictionary of its own: ``body.com = body.com + step``, ``shape.size = shape.size | {"x": 2.0}``."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from .records import Array


def frozen(array: Array) -> Array:
    """Return an array that is not to be written to from now on."""
    array.flags.writeable = False
    return array


#: The pose of no move, the middle, and the tensors of unit moments and of none.
HERE, MIDDLE, UNIT, NOTHING = frozen(np.eye(4)), frozen(np.zeros(3)), frozen(np.eye(3)), frozen(np.zeros((3, 3)))


class Shared(dict[str, Any]):
    """A dictionary that cannot be changed: TypeError where somebody tries. Its copies can."""

    __slots__ = ()

    def _refuse(self, *_given: Any, **_more: Any) -> NoReturn:
        raise TypeError("this is shared by many records; give the record one of its own")

    __setitem__ = __delitem__ = __ior__ = _refuse  # type: ignore[assignment]
    update = setdefault = pop = popitem = clear = _refuse  # type: ignore[assignment]

    def copy(self) -> dict[str, Any]:
        """One that can be changed."""
        return dict(self)

    __copy__ = copy

    def __deepcopy__(self, _memo: dict[int, Any]) -> dict[str, Any]:
        return dict(self)  # which holds nothing that can be changed

    def __reduce__(self) -> tuple[type, tuple[dict[str, Any]]]:
        return Shared, (dict(self),)  # many records have it there as well
