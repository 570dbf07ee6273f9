"""Rotations against their axioms and against SciPy, which shares the order x, y, z, w."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.transform import Rotation

from sandbox.spatial import (
    matrix_from_quaternion,
    normalized,
    quaternion_about,
    quaternion_conjugate,
    quaternion_from_matrix,
    quaternion_multiply,
    quaternion_rotate,
    rotation_x,
    rotation_y,
    rotation_z,
    skew,
    yaw,
    yaws,
)

settings.register_profile("unhurried", deadline=None)  # a busy machine is no failure
settings.load_profile("unhurried")

angles = st.floats(-2 * math.pi, 2 * math.pi)
vectors = arrays(np.float64, 3, elements=st.floats(-10, 10))
quaternions = (
    arrays(np.float64, 4, elements=st.floats(-1, 1)).filter(lambda q: np.linalg.norm(q) > 0.1).map(lambda q: q / np.linalg.norm(q))
)


def same(a: np.ndarray, b: np.ndarray, tolerance: float = 1e-12) -> bool:
    return bool(np.allclose(a, b, rtol=0, atol=tolerance))


def same_rotation(a: np.ndarray, b: np.ndarray) -> bool:
    return same(a, b, 1e-9) or same(a, -b, 1e-9)


@given(quaternions)
def test_matrix_is_scipys_and_a_rotation(q: np.ndarray) -> None:
    matrix = matrix_from_quaternion(q)
    assert same(matrix, Rotation.from_quat(q).as_matrix())
    assert same(matrix @ matrix.T, np.eye(3))
    assert np.linalg.det(matrix) == pytest.approx(1)
    assert same(matrix, matrix_from_quaternion(-q))


@given(quaternions)
def test_matrix_and_quaternion_are_inverse(q: np.ndarray) -> None:
    back = quaternion_from_matrix(matrix_from_quaternion(q))
    assert back[3] >= 0
    assert np.linalg.norm(back) == pytest.approx(1, abs=1e-15)
    assert same_rotation(back, q)
    assert same_rotation(back, Rotation.from_matrix(matrix_from_quaternion(q)).as_quat())


@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (0, -1, 1), (1, 2, -3)])
@pytest.mark.parametrize("angle", [math.pi, math.pi - 1e-9, math.pi - 1e-4, 1e-9, 0.0, -1e-4])
def test_quaternion_of_half_turns_and_tiny_angles(axis: tuple[int, int, int], angle: float) -> None:
    """Where a formula that always divides by w, or by the angle, fails."""
    q = quaternion_about(axis, angle)
    assert same_rotation(quaternion_from_matrix(matrix_from_quaternion(q)), q)


@given(vectors.filter(lambda v: np.linalg.norm(v) > 1e-3), angles)
def test_about_is_the_rotation_vector(axis: np.ndarray, angle: float) -> None:
    unit = axis / np.linalg.norm(axis)
    assert same_rotation(quaternion_about(axis, angle), Rotation.from_rotvec(angle * unit).as_quat())


@given(quaternions, quaternions, vectors)
def test_products_and_inverse_act_like_the_matrices(a: np.ndarray, b: np.ndarray, v: np.ndarray) -> None:
    product = quaternion_multiply(a, b)
    assert same_rotation(product, (Rotation.from_quat(a) * Rotation.from_quat(b)).as_quat())
    assert same(quaternion_rotate(product, v), quaternion_rotate(a, quaternion_rotate(b, v)), 1e-11)
    assert same(quaternion_rotate(a, v), Rotation.from_quat(a).apply(v), 1e-11)
    assert same(quaternion_rotate(quaternion_conjugate(a), quaternion_rotate(a, v)), v, 1e-11)
    assert same(quaternion_multiply(a, quaternion_conjugate(a)), np.array([0, 0, 0, 1]))


@given(angles)
def test_elementary_rotations(angle: float) -> None:
    for name, function, axis in (("x", rotation_x, (1, 0, 0)), ("y", rotation_y, (0, 1, 0)), ("z", rotation_z, (0, 0, 1))):
        assert same(function(angle), Rotation.from_euler(name, angle).as_matrix())
        assert same(function(angle), matrix_from_quaternion(quaternion_about(axis, angle)))


@given(vectors, vectors)
def test_skew_is_the_cross_product(a: np.ndarray, b: np.ndarray) -> None:
    assert same(skew(a) @ b, np.cross(a, b), 1e-11)


@given(st.floats(-3.1, 3.1), st.floats(-1.5, 1.5), st.floats(-math.pi, math.pi))
def test_yaw_is_where_the_forward_axis_points(heading: float, pitch: float, roll: float) -> None:
    """Turned about up, then pitched about its own right, then rolled about its own forward: only the first is heading."""
    q = Rotation.from_euler("ZXY", [heading, pitch, roll]).as_quat()
    assert yaw(q) == pytest.approx(heading, abs=1e-9)
    assert yaw(-q) == pytest.approx(heading, abs=1e-9)
    assert yaws(q) == pytest.approx(yaw(q), abs=1e-12)


def test_stacks_give_what_their_members_give() -> None:
    rng = np.random.default_rng(0)
    a, b = (normalized(rng.normal(size=(5, 2, 4))) for _ in range(2))
    v = rng.normal(size=(5, 2, 3))
    for index in np.ndindex(5, 2):
        assert same(matrix_from_quaternion(a)[index], matrix_from_quaternion(a[index]), 1e-15)
        assert same(quaternion_multiply(a, b)[index], quaternion_multiply(a[index], b[index]), 1e-15)
        assert same(quaternion_rotate(a, v)[index], quaternion_rotate(a[index], v[index]), 1e-15)
        assert same(quaternion_conjugate(a)[index], quaternion_conjugate(a[index]), 0)
        assert same(normalized(3 * a)[index], a[index], 1e-15)
        assert yaws(a)[index] == pytest.approx(yaw(a[index]), abs=1e-15)
    # One with many
    assert same(quaternion_multiply(a[0, 0], b)[3, 1], quaternion_multiply(a[0, 0], b[3, 1]), 1e-15)
    assert same(quaternion_rotate(a[0, 0], v)[3, 1], quaternion_rotate(a[0, 0], v[3, 1]), 1e-15)


def test_inputs_are_left_alone() -> None:
    q, v = np.array([0.0, 0.6, 0.0, -0.8]), np.array([1.0, 2.0, 3.0])
    q.flags.writeable = v.flags.writeable = False
    matrix = matrix_from_quaternion(q)
    matrix.flags.writeable = False
    for result in (quaternion_from_matrix(matrix), quaternion_rotate(q, v), quaternion_multiply(q, q), normalized(q)):
        result[0] = 7.0
    assert q.tolist() == [0.0, 0.6, 0.0, -0.8]
    assert v.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("bad", [[0, 0, 0, 0], [0, 0, 0, math.nan], [math.inf, 0, 0, 0]])
def test_normalized_refuses_what_is_no_rotation(bad: list[float]) -> None:
    with pytest.raises(ValueError, match="finite and longer than zero"):
        normalized(np.array(bad, dtype=np.float64))


def test_about_refuses_an_axis_of_length_zero() -> None:
    with pytest.raises(ValueError, match="longer than zero"):
        quaternion_about((0, 0, 0), 1.0)
