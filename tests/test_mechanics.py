"""Whole-body mechanics against brute force, against axioms, and against Pinocchio on the body."""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sandbox.bodies import Anatomy, to_urdf
from sandbox.mechanics import (
    Support,
    center_of_mass,
    centroidal_momentum,
    directional_margin,
    extrapolated_com,
    foot_patch,
    froude_number,
    margin_of_stability,
    pendulum_frequency,
    support_margin,
    support_polygon,
)
from sandbox.spatial import rotation_z

settings.register_profile("unhurried", deadline=None)  # a busy machine is no failure
settings.load_profile("unhurried")

# Contact points of some feet: millimetres, so that points coincide and line up now and then.
clouds = st.integers(1, 14).flatmap(lambda n: arrays(np.int64, (n, 2), elements=st.integers(-300, 300))).map(lambda a: a / 1000)
points = arrays(np.float64, 2, elements=st.floats(-0.6, 0.6))
angles = st.floats(-math.pi, math.pi)

DIRECTIONS = np.linspace(0, 2 * math.pi, 20_001)
COMPASS = np.array([np.cos(DIRECTIONS), np.sin(DIRECTIONS)])  # (2, k)


def brute_margin(point: np.ndarray, cloud: np.ndarray) -> float:
    """Over all directions, the least that the cloud reaches beyond the point: the signed distance to its convex hull."""
    return float(np.min(np.max((cloud - point) @ COMPASS, axis=0)))


def canonical(polygon: np.ndarray) -> np.ndarray:
    """The same polygon, beginning at its least corner."""
    return np.roll(polygon, -int(np.lexsort(polygon.T[::-1])[0]), axis=0)


# -- support -----------------------------------------------------------------------------------------------------------


def test_support_from_contacts() -> None:
    assert Support.of(False, False) is Support.NONE
    assert Support.of(True, False) is Support.LEFT
    assert Support.of(False, True) is Support.RIGHT
    assert Support.of(True, True) is Support.DOUBLE
    assert Support.LEFT | Support.RIGHT == Support.DOUBLE
    assert Support.of(np.bool_(True), np.bool_(True)) is Support.DOUBLE


def test_polygon_of_two_flat_feet() -> None:
    left = np.array([[-0.13, -0.05, 0], [-0.05, -0.05, 0], [-0.13, 0.19, 0], [-0.05, 0.19, 0]])
    right = left * [-1, 1, 1] + [0, 0.4, 0]
    polygon = support_polygon(np.vstack([left, right, [[0, 0.2, 0.01]]]))
    expected = [[-0.13, -0.05], [-0.05, -0.05], [0.13, 0.35], [0.13, 0.59], [0.05, 0.59], [-0.13, 0.19]]
    np.testing.assert_allclose(canonical(polygon), expected)


@pytest.mark.parametrize(
    ("cloud", "polygon"),
    [
        (np.empty((0, 3)), np.empty((0, 2))),
        (np.empty((0, 2)), np.empty((0, 2))),
        ([[0.1, 0.2]], [[0.1, 0.2]]),
        ([[0.1, 0.2], [0.1, 0.2]], [[0.1, 0.2]]),
        ([[0, 0], [0.1, 0.1], [0.3, 0.3], [0.2, 0.2]], [[0, 0], [0.3, 0.3]]),
        ([[0, 0.3], [0, 0.1], [0, 0.2]], [[0, 0.1], [0, 0.3]]),
    ],
)
def test_polygon_of_little_contact(cloud: object, polygon: object) -> None:
    result = support_polygon(np.array(cloud, dtype=np.float64))
    np.testing.assert_array_equal(canonical(result) if len(result) else result, polygon)


@given(clouds)
def test_polygon_is_a_convex_hull(cloud: np.ndarray) -> None:
    polygon = support_polygon(cloud)
    assert {tuple(p) for p in polygon} <= {tuple(p) for p in cloud}
    assert len({tuple(p) for p in polygon}) == len(polygon)
    if len(polygon) > 2:
        edges = np.roll(polygon, -1, axis=0) - polygon
        following = np.roll(edges, -1, axis=0)
        turns = edges[:, 0] * following[:, 1] - edges[:, 1] * following[:, 0]
        assert (turns > 0).all(), "counter-clockwise, no corner on an edge"
        for start, edge in zip(polygon, edges, strict=True):
            left = edge[0] * (cloud[:, 1] - start[1]) - edge[1] * (cloud[:, 0] - start[0])
            assert (left >= -1e-15).all(), "all points inside"


@given(clouds, st.randoms(use_true_random=False))
def test_polygon_is_unchanged_by_order_repetition_and_its_own_hull(cloud: np.ndarray, random: object) -> None:
    polygon = canonical(support_polygon(cloud))
    order = list(range(len(cloud)))
    random.shuffle(order)  # type: ignore[attr-defined]
    np.testing.assert_array_equal(canonical(support_polygon(cloud[order])), polygon)
    np.testing.assert_array_equal(canonical(support_polygon(np.vstack([cloud, cloud[::2]]))), polygon)
    np.testing.assert_array_equal(canonical(support_polygon(polygon)), polygon)
    inside = np.vstack([cloud, [cloud.mean(axis=0)]])
    assert len(support_polygon(inside)) <= len(polygon) + (len(polygon) < 3)


@given(clouds, angles, points)
def test_polygon_moves_with_the_points(cloud: np.ndarray, angle: float, shift: np.ndarray) -> None:
    turn = rotation_z(angle)[:2, :2]
    point = np.array([0.05, -0.1])
    margin = support_margin(point, support_polygon(cloud))
    moved = support_margin(turn @ point + shift, support_polygon(cloud @ turn.T + shift))
    assert moved == pytest.approx(margin, abs=1e-9)


# -- margins -----------------------------------------------------------------------------------------------------------


@given(clouds, points)
@example(np.array([[0.0, 0.0]]), np.array([0.3, 0.4]))
@example(np.array([[0.0, 0.0], [0.1, 0.0]]), np.array([0.05, 0.0]))
@example(np.array([[0.0, 0.0], [0.1, 0.0], [0.0, 0.1]]), np.array([0.0, 0.0]))
def test_margin_is_the_brute_force_one(cloud: np.ndarray, point: np.ndarray) -> None:
    margin = support_margin(point, support_polygon(cloud))
    # The finest step of direction misses an edge's normal by 1.6e-4 rad, at most 1.5 m away.
    assert margin == pytest.approx(brute_margin(point, cloud), abs=2.5e-4)


def test_margin_of_a_square() -> None:
    square = support_polygon(np.array([[0, 0], [2, 0], [2, 2], [0, 2]], dtype=np.float64))
    for point, margin in (((1, 1), 1), ((0.5, 1), 0.5), ((2, 1), 0), ((3, 1), -1), ((5, 6), -5), ((1, -0.25), -0.25)):
        assert support_margin(np.array(point, dtype=np.float64), square) == pytest.approx(margin, abs=1e-15)


def test_margin_without_support_is_none() -> None:
    nothing = support_polygon(np.empty((0, 3)))
    assert support_margin(np.zeros(2), nothing) is None
    assert directional_margin(np.zeros(2), nothing, np.array([0, 1])) is None
    assert margin_of_stability(np.zeros(3), np.ones(3), 1.0, nothing) is None


@given(clouds, points)
def test_a_support_without_area_has_no_inside(cloud: np.ndarray, point: np.ndarray) -> None:
    polygon = support_polygon(cloud)
    margin = support_margin(point, polygon)
    assert margin is not None
    if len(polygon) < 3:
        assert margin <= 0


@given(clouds, points, angles)
def test_directional_margin_is_the_reach_of_the_points(cloud: np.ndarray, point: np.ndarray, angle: float) -> None:
    direction = np.array([math.cos(angle), math.sin(angle)])
    polygon = support_polygon(cloud)
    margin = directional_margin(point, polygon, 7 * direction)
    assert margin == pytest.approx(max(float(p @ direction) for p in cloud) - float(point @ direction), abs=1e-12)
    distance = support_margin(point, polygon)
    assert distance is not None
    assert distance <= margin + 1e-12, "no direction has less than the distance to the boundary"


def test_directional_margin_refuses_no_direction() -> None:
    with pytest.raises(ValueError, match="longer than zero"):
        directional_margin(np.zeros(2), np.zeros((1, 2)), np.zeros(2))


# -- centre of mass, XCoM, Froude --------------------------------------------------------------------------------------


def test_center_of_mass() -> None:
    masses = np.array([1.0, 3.0])
    positions = np.array([[[0.0, 0, 0], [4, 8, -4]], [[1, 1, 1], [1, 1, 1]]])
    np.testing.assert_allclose(center_of_mass(masses, positions), [[3, 6, -3], [1, 1, 1]])
    np.testing.assert_allclose(center_of_mass(masses, positions[0]), [3, 6, -3])


def test_xcom_is_where_the_pendulum_comes_to_rest() -> None:
    """Hof's definition: an inverted pendulum that is put down with its foot at the XCoM ends above it, at rest."""
    length, com, velocity = 0.95, np.array([0.1, -0.2, 0.95]), np.array([-0.15, 0.6, 0.3])
    foot = extrapolated_com(com, velocity, length)
    x, v, step = com[:2].copy(), velocity[:2].copy(), 1e-5
    for _ in range(int(1.5 / step)):
        v += step * 9.81 / length * (x - foot)
        x += step * v
    np.testing.assert_allclose(x, foot, atol=0.01 * np.linalg.norm(com[:2] - foot) + 1e-3)
    assert np.linalg.norm(v) < 0.02


def test_xcom_of_many_instants() -> None:
    com, velocity = np.random.default_rng(0).normal(size=(2, 6, 3))
    many = extrapolated_com(com, velocity, 0.9)
    assert many.shape == (6, 2)
    for i in range(6):
        np.testing.assert_array_equal(many[i], extrapolated_com(com[i], velocity[i], 0.9))
    np.testing.assert_array_equal(many, extrapolated_com(com[:, :2], velocity[:, :2], 0.9))
    np.testing.assert_allclose(many, com[:, :2] + velocity[:, :2] / math.sqrt(9.81 / 0.9))


def test_margin_of_stability_is_that_of_the_xcom() -> None:
    square = support_polygon(np.array([[-0.1, -0.1], [0.1, -0.1], [0.1, 0.1], [-0.1, 0.1]]))
    still, forward = np.zeros(3), np.array([0.0, math.sqrt(9.81), 0.0])  # with l = 1 m the XCoM is 1 m ahead
    assert margin_of_stability(np.zeros(3), still, 1.0, square) == pytest.approx(0.1)
    assert margin_of_stability(np.zeros(3), forward, 1.0, square) == pytest.approx(-0.9)


def test_pendulum_and_froude_by_hand() -> None:
    assert pendulum_frequency(1.02) == pytest.approx(3.1013, abs=1e-4)
    assert froude_number(1.245, 0.878) == pytest.approx(0.180, abs=5e-4)
    assert froude_number(math.sqrt(9.81 * 0.9), 0.9) == pytest.approx(1)
    assert froude_number(-1.0, 1.0) == froude_number(1.0, 1.0)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan])
def test_lengths_must_be_positive(bad: float) -> None:
    with pytest.raises(ValueError, match="must be positive"):
        pendulum_frequency(bad)
    with pytest.raises(ValueError, match="must be positive"):
        froude_number(1.0, bad)


# -- momentum ----------------------------------------------------------------------------------------------------------


def links_in_motion(anatomy: Anatomy, seed: int) -> tuple[tuple[np.ndarray, ...], pin.Force]:
    """Arguments of centroidal_momentum for the body in some motion, and Pinocchio's momentum of the same motion."""
    model = pin.buildModelFromXML(to_urdf(anatomy), pin.JointModelFreeFlyer())
    data = model.createData()
    rng = np.random.default_rng(seed)
    q = pin.integrate(model, pin.neutral(model), rng.normal(size=model.nv))
    v = rng.normal(scale=2, size=model.nv)
    pin.forwardKinematics(model, data, q, v)
    rows = []
    for link in anatomy.links:
        frame = model.frames[model.getFrameId(link.name, pin.FrameType.BODY)]
        placed = data.oMi[frame.parentJoint]
        motion = pin.getVelocity(model, data, frame.parentJoint, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
        arm = placed.rotation @ link.mass_properties.com
        rows.append(
            (
                link.mass_properties.mass,
                placed.translation + arm,
                motion.linear + np.cross(motion.angular, arm),
                placed.rotation,
                link.mass_properties.inertia,
                motion.angular,
            )
        )
    return tuple(np.array(column) for column in zip(*rows, strict=True)), pin.computeCentroidalMomentum(model, data, q, v)


@pytest.mark.parametrize("anatomy", [Anatomy(), Anatomy(55.0, 1.6, "female")], ids=["default", "female"])
@pytest.mark.parametrize("seed", range(4))
def test_centroidal_momentum_is_pinocchios(anatomy: Anatomy, seed: int) -> None:
    arguments, wanted = links_in_motion(anatomy, seed)
    momentum = centroidal_momentum(*arguments)
    np.testing.assert_allclose(momentum.linear, wanted.linear, rtol=1e-10)
    np.testing.assert_allclose(momentum.angular, wanted.angular, rtol=1e-9)


def test_centroidal_momentum_of_many_instants() -> None:
    anatomy = Anatomy()
    instants = [links_in_motion(anatomy, seed)[0] for seed in range(3)]
    masses, inertias = instants[0][0], instants[0][4]
    positions, velocities, rotations, spins = (np.array([instant[i] for instant in instants]) for i in (1, 2, 3, 5))
    many = centroidal_momentum(masses, positions, velocities, rotations, inertias, spins)
    for i, instant in enumerate(instants):
        one = centroidal_momentum(*instant)
        np.testing.assert_allclose(many.linear[i], one.linear, rtol=1e-12)
        np.testing.assert_allclose(many.angular[i], one.angular, rtol=1e-12)


@given(arrays(np.float64, 3, elements=st.floats(-5, 5)), arrays(np.float64, 3, elements=st.floats(-5, 5)))
def test_momentum_about_the_centre_of_mass_does_not_see_translation(shift: np.ndarray, drift: np.ndarray) -> None:
    arguments, wanted = ARGUMENTS
    masses, positions, velocities, *rest = arguments
    momentum = centroidal_momentum(masses, positions + shift, velocities + drift, *rest)
    np.testing.assert_allclose(momentum.angular, wanted.angular, atol=1e-9)
    np.testing.assert_allclose(momentum.linear, wanted.linear + masses.sum() * drift, atol=1e-9)


ARGUMENTS = links_in_motion(Anatomy(), 9)


@given(angles)
def test_momentum_turns_with_the_world(angle: float) -> None:
    arguments, wanted = ARGUMENTS
    masses, positions, velocities, rotations, inertias, spins = arguments
    turn = rotation_z(angle)
    momentum = centroidal_momentum(masses, positions @ turn.T, velocities @ turn.T, turn @ rotations, inertias, spins @ turn.T)
    np.testing.assert_allclose(momentum.angular, turn @ wanted.angular, atol=1e-10)
    np.testing.assert_allclose(momentum.linear, turn @ wanted.linear, atol=1e-10)


def test_a_point_on_a_line_but_for_rounding_is_no_corner() -> None:
    """0.0007, 0.0008 lies on the line, and rounding had it on both sides."""
    polygon = support_polygon(np.array([[-0.002, -0.001], [0.001, 0.001], [0.0007, 0.0008]]))
    np.testing.assert_array_equal(polygon, [[-0.002, -0.001], [0.001, 0.001]])


def test_foot_patch_is_a_rectangle_about_the_foot() -> None:
    patch = foot_patch(np.array([1.0, 2.0, 0.0]), np.array([1.0, 2.2, 0.0]), 0.05)
    np.testing.assert_allclose(patch, [[0.95, 2.0], [1.05, 2.0], [1.05, 2.2], [0.95, 2.2]], atol=1e-15)
    turned = foot_patch(np.zeros(3), np.array([0.2, 0.2]), 0.05)
    assert support_margin(np.array([0.1, 0.1]), support_polygon(turned)) == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("toe", "half_width", "said"), [((0.0, 0.0), 0.05, "lie apart"), ((0.0, 0.2), -0.1, "-0.1 m"), ((0.0, 0.2), np.nan, "nan m")]
)
def test_a_foot_without_size_has_no_patch(toe, half_width, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        foot_patch(np.zeros(2), np.array(toe), half_width)
