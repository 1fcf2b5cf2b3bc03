"""What is remembered from one making of rows to the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...core.model import Body, Joint
from .geoms import Geoms
from .notes import Note
from .rows import LinkRow
from .steps import Step
from .values import Remarks


@dataclass
class Made:
    """What was made of a body and of the joint that it hangs by. ``row`` is its own, ``noted`` what else its note
    depends on."""

    body: Body
    joint: Joint
    steps: list[Step]
    geoms: Geoms
    note: Note
    remarks: Remarks
    row: LinkRow | None = None
    noted: tuple[Any, ...] = ()


#: What was made of the bodies of a mechanism, by id.
Memory = dict[str, Made]
