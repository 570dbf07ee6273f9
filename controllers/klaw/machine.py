"""State machine of each leg: stance on heel, sole and ball, then the three phases of swing.

Events drive it. On the kinematic body the clock makes them; on a physical one touchdown and toe-off are contacts, which the clock only
predicts.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple

from sandbox.controllers.klaw.parameters import Timing


class LegState(IntEnum):
    """Where a leg is in its cycle."""

    HEEL = 0
    FLAT = 1
    BALL = 2
    SWING_1 = 3
    SWING_2 = 4
    SWING_3 = 5


class Event(IntEnum):
    """What takes a leg from one state to the next."""

    HEEL_STRIKE = 0
    FOOT_FLAT = 1
    HEEL_OFF = 2
    TOE_OFF = 3
    CLEARANCE = 4
    EXTENSION = 5


NEXT: Final[dict[tuple[LegState, Event], LegState]] = {
    (LegState.SWING_3, Event.HEEL_STRIKE): LegState.HEEL,
    (LegState.HEEL, Event.FOOT_FLAT): LegState.FLAT,
    (LegState.FLAT, Event.HEEL_OFF): LegState.BALL,
    (LegState.BALL, Event.TOE_OFF): LegState.SWING_1,
    (LegState.SWING_1, Event.CLEARANCE): LegState.SWING_2,
    (LegState.SWING_2, Event.EXTENSION): LegState.SWING_3,
    # a foot may meet the ground early, with its sole, and leave it early
    (LegState.SWING_2, Event.HEEL_STRIKE): LegState.HEEL,
    (LegState.FLAT, Event.TOE_OFF): LegState.SWING_1,
    (LegState.HEEL, Event.TOE_OFF): LegState.SWING_1,
}
LOWERED: Final = 0.08  # of the cycle: the sole is flat (clinical: 0.08 to 0.12)
HEEL_OFF: Final = 0.32  # of the cycle: the heel leaves (clinical: 0.30 to 0.40)
SWINGS: Final = (0.34, 0.33, 0.33)  # of the swing that its phases take (clinical thirds, assumed)


class LegMachine:
    """One leg.

    Attributes:
        state: present one; since: when it was entered [s].

    Raises:
        ValueError: an event that the state does not know, from :meth:`on`.
    """

    def __init__(self, state: LegState = LegState.FLAT, since: float = 0.0) -> None:
        self.state, self.since = state, since

    @property
    def stands(self) -> bool:
        return self.state <= LegState.BALL

    def on(self, event: Event, time: float) -> LegState:
        """Take an event at a time [s], and return the new state."""
        after = NEXT.get((self.state, event))
        if after is None:
            raise ValueError(f"a leg in {self.state.name} knows no {event.name}: {expected(self.state).name} comes next")
        self.state, self.since = after, time
        return after


def expected(state: LegState) -> Event:
    """The event that ends a state in undisturbed walking."""
    return next(event for (before, event) in NEXT if before == state)


class Appointment(NamedTuple):
    """An event of a leg at a time [s]."""

    time: float
    event: Event


def schedule(time: Timing, heel_strike: float = 0.0) -> tuple[Appointment, ...]:
    """Events of one leg in a cycle of steady walking that begins with its heel strike."""
    off = heel_strike + time.stance
    swing = time.swing
    return (
        Appointment(heel_strike, Event.HEEL_STRIKE),
        Appointment(heel_strike + LOWERED * time.cycle, Event.FOOT_FLAT),
        Appointment(heel_strike + HEEL_OFF * time.cycle, Event.HEEL_OFF),
        Appointment(off, Event.TOE_OFF),
        Appointment(off + SWINGS[0] * swing, Event.CLEARANCE),
        Appointment(off + (SWINGS[0] + SWINGS[1]) * swing, Event.EXTENSION),
        Appointment(heel_strike + time.cycle, Event.HEEL_STRIKE),
    )
