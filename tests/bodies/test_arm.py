"""The analytic arm against forward kinematics."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.bodies import Anatomy
from sandbox.bodies.arm import chain_distance, solve_arm
from sandbox.bodies.standing import StandingSolver
from sandbox.spatial import rotation_x, rotation_y, rotation_z

BODY = Anatomy()
SOLVER = StandingSolver(BODY)
AT = {name: k for k, name in enumerate(BODY.points)}
UPPER, FORE = BODY.length("upper_arm"), BODY.length("forearm")


def reached(side: str, wrist: np.ndarray, rotation: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Elbow and wrist in the world after solving for ``wrist``, relative to the shoulder; and the miss."""
    sign = 1.0 if side == "right" else -1.0
    q = np.zeros(len(BODY.joints))
    first = BODY.joint_index[f"{side}_shoulder_flexion"]
    miss = solve_arm(rotation, np.zeros(3), wrist, rotation @ (0.3 * sign, -1.0, 0.0), UPPER, FORE, sign, q[first : first + 4])
    points = SOLVER.points(np.zeros(3), rotation, q)
    shoulder = points[AT[f"{side}_shoulder"]]
    return points[AT[f"{side}_elbow"]] - shoulder, points[AT[f"{side}_wrist"]] - shoulder, miss


@given(
    st.sampled_from(["left", "right"]),
    st.floats(0.05, 0.99),
    st.floats(-1.2, 1.2),
    st.floats(-0.9, 0.9),
    st.floats(-math.pi, math.pi),
)
def test_the_hand_goes_where_it_is_asked_to(side: str, reach: float, ahead: float, out: float, turn: float) -> None:
    distance = abs(UPPER - FORE) + reach * (UPPER + FORE - abs(UPPER - FORE))
    rotation = rotation_z(turn) @ rotation_x(0.1)
    wrist = rotation @ rotation_x(ahead) @ rotation_y(out) @ (0.0, 0.0, -distance)
    elbow, found, miss = reached(side, wrist, rotation)
    np.testing.assert_allclose(found, wrist, atol=1e-9)
    assert np.linalg.norm(elbow) == pytest.approx(UPPER, abs=1e-12)
    assert miss < 1e-8
    # the elbow lies behind the line
    line = wrist / distance
    off = elbow - (elbow @ line) * line
    pole = rotation @ (0.3 if side == "right" else -0.3, -1.0, 0.0)
    assert off @ (pole - (pole @ line) * line) >= -1e-12


def test_out_of_reach_is_the_nearest_point_on_the_line() -> None:
    _, found, miss = reached("right", np.array([0.0, 0.3, -0.9]), np.eye(3))
    assert np.linalg.norm(found) == pytest.approx(UPPER + FORE, abs=1e-8)
    assert np.cross(found, [0.0, 0.3, -0.9]) == pytest.approx(np.zeros(3), abs=1e-8)
    assert miss == pytest.approx(math.hypot(0.3, 0.9) - UPPER - FORE, abs=1e-8)


def test_elbow_flexion_gives_the_distance_and_back() -> None:
    for flexion in (0.2, 1.0, 2.0):
        distance = chain_distance(UPPER, FORE, flexion)
        q = np.zeros(4)
        solve_arm(np.eye(3), np.zeros(3), np.array([0.0, 0.0, -distance]), np.array([0.0, -1.0, 0.0]), UPPER, FORE, 1.0, q)
        assert q[3] == pytest.approx(flexion, abs=1e-7)
    assert chain_distance(UPPER, FORE, 0.0) == pytest.approx(UPPER + FORE)
