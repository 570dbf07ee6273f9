"""Mass properties against clouds of point masses, whose inertia is a plain sum."""

from __future__ import annotations

import numpy as np
import pytest

from sandbox.bodies import MassProperties


def of_points(masses: np.ndarray, points: np.ndarray) -> MassProperties:
    com = masses @ points / masses.sum()
    d = points - com
    return MassProperties(float(masses.sum()), com, np.einsum("n,nij->ij", masses, _square(d)))


def _square(d: np.ndarray) -> np.ndarray:
    """Inertia of unit masses at ``d`` (n, 3): sum of squares off the axis, minus products."""
    return np.einsum("nk,nk->n", d, d)[:, None, None] * np.eye(3) - np.einsum("ni,nj->nij", d, d)


def cloud(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.uniform(0.1, 1.0, n), rng.normal(size=(n, 3))


def assert_same(a: MassProperties, b: MassProperties) -> None:
    assert a.mass == pytest.approx(b.mass, rel=1e-12)
    np.testing.assert_allclose(a.com, b.com, rtol=0, atol=1e-12)
    np.testing.assert_allclose(a.inertia, b.inertia, rtol=0, atol=1e-11)


@pytest.mark.parametrize("seed", range(3))
def test_sum_and_difference_are_those_of_the_points(seed: int) -> None:
    masses, points = cloud(seed, 12)
    whole = of_points(masses, points)
    a, b = of_points(masses[:5], points[:5]), of_points(masses[5:], points[5:])
    assert_same(a + b, whole)
    assert_same(whole - b, a)


@pytest.mark.parametrize("seed", range(3))
def test_about_a_point_is_the_sum_over_the_points(seed: int) -> None:
    masses, points = cloud(seed, 7)
    origin = np.array([0.3, -1.2, 0.7])
    expected = np.einsum("n,nij->ij", masses, _square(points - origin))
    np.testing.assert_allclose(of_points(masses, points).about(origin), expected, rtol=0, atol=1e-12)


def test_moved_shifts_the_centre_of_mass_only() -> None:
    masses, points = cloud(1, 6)
    offset = np.array([0.1, 0.2, -0.3])
    assert_same(of_points(masses, points).moved(offset), of_points(masses, points + offset))


@pytest.mark.parametrize(
    ("mass", "moments", "physical"),
    [
        (1.0, (1.0, 1.0, 1.0), True),
        (1.0, (0.6, 0.5, 1.0), True),
        (1.0, (0.4, 0.5, 1.0), False),  # triangle inequality
        (1.0, (-0.1, 1.0, 1.0), False),
        (0.0, (1.0, 1.0, 1.0), False),
        (-1.0, (1.0, 1.0, 1.0), False),
    ],
)
def test_is_physical(mass: float, moments: tuple[float, float, float], physical: bool) -> None:
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    assert MassProperties(mass, np.zeros(3), turn @ np.diag(moments) @ turn.T).is_physical is physical
