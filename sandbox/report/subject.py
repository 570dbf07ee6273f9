"""One gait on a page, with everything that is shown of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sandbox.measure.analysis import Analysis
from sandbox.measure.dynamics import Dynamics
from sandbox.measure.flow import Pop
from sandbox.measure.people import Scores
from sandbox.measure.turns import Turn
from sandbox.recording import Recording

COLOURS = ("#2f6fb5", "#d8602c", "#7b3fa0", "#1b9e57", "#b3861e", "#0f8b8d", "#c2185b", "#5d4037")


@dataclass(frozen=True)
class Subject:
    """One gait on the page.

    Attributes:
        name: shown, for instance ``virtual-leg, physical``.
        analysis: of its recording.
        scores: against people, where they can be had.
        dynamics: where there are forces.
        flow: figures of :data:`sandbox.measure.flow.FLOW_FIELDS`; pops: its jerks.
        turns: of its path.
        dash: line style of its curves.
        colour: of its curves.
    """

    name: str
    analysis: Analysis
    scores: Scores | None = None
    dynamics: Dynamics | None = None
    flow: Mapping[str, Any] = field(default_factory=dict)
    pops: Sequence[Pop] = ()
    turns: Sequence[Turn] = ()
    dash: str = "solid"
    colour: str = COLOURS[0]

    @property
    def recording(self) -> Recording:
        return self.analysis.recording
