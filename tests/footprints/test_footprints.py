"""Gait from footprints: derivatives, reach, limits, prints that are hit, and what is said about bad input."""

import dataclasses
import math
from importlib.resources import files

import numpy as np
import pytest

from sandbox.footprints import AnatomyError, PrintError, Problem, Reach, Step, human, solve
from sandbox.footprints.anatomy import parse, read, shipped
from sandbox.footprints.curves import SAMPLES, Bending, symmetric
from sandbox.footprints.generate import generate, straight_prints
from sandbox.footprints.initial import boulic_start, read_start
from sandbox.footprints.model import Body
from sandbox.footprints.objectives import OBJECTIVES
from sandbox.footprints.prints import Print, read_prints, steps_of
from sandbox.footprints.priority import prioritised
from sandbox.footprints.reach import UnreachableError
from sandbox.footprints.solver import Solver
from sandbox.footprints.walk import columns

TINY = 1e-6


@pytest.fixture(scope="module")
def body():
    return human()


@pytest.fixture(scope="module")
def start(body):
    return boulic_start(body, 1.1, 1.2)


def difference(function, x):
    """Central differences of a function (n,) -> any."""
    return np.stack([(function(x + TINY * e) - function(x - TINY * e)) / (2 * TINY) for e in np.eye(len(x))], axis=-1)


def test_momentum_and_energy_have_the_derivatives_that_differences_give(body):
    model, rng = Body(body), np.random.default_rng(0)
    q, rate = rng.normal(0, 0.3, 11), rng.normal(0, 1, 11)
    for quantity in (model.momentum, lambda q, v: model.energy(q, v, 0), lambda q, v: model.energy(q, v, 1)):
        found = quantity(q, rate)
        np.testing.assert_allclose(found.by_angle, difference(lambda x: np.asarray(quantity(x, rate).value), q), atol=1e-5)  # noqa: B023
        np.testing.assert_allclose(found.by_rate, difference(lambda x: np.asarray(quantity(q, x).value), rate), atol=1e-5)  # noqa: B023
    np.testing.assert_allclose(model.ankles(q).jacobian, difference(lambda x: model.ankles(x).position, q), atol=1e-8)


def test_momentum_is_the_sum_over_the_segments(body):
    """Against the formula of Herr and Popovic, with velocities by differences of Pinocchio's placements."""
    from sandbox.mechanics import centroidal_momentum

    model, rng = Body(body), np.random.default_rng(3)
    q, rate = rng.normal(0, 0.3, 11), rng.normal(0, 1, 11)

    def placed(angles):
        at, out = model.placements(angles), []
        for side, sign in (("", 1.0), ("right_", 1.0), ("left_", -1.0)):
            for name in ("pelvis",) if not side else ("thigh", "shank"):
                rotation, origin = at[side + name]
                for segment in {"pelvis": ("trunk",), "thigh": ("thigh",), "shank": ("shank", "foot")}[name]:
                    part = body.segments[segment]
                    offset = part.com + (body.ankle if segment == "foot" else 0)
                    out.append((part.mass, origin + rotation @ (offset * [sign, 1, 1]), rotation, part.inertia))
        return out

    before, now, after = (placed(q + h * rate) for h in (-TINY, 0.0, TINY))
    velocity = np.array([(a[1] - b[1]) / (2 * TINY) for a, b in zip(after, before, strict=True)])
    spin = []
    for a, b, n in zip(after, before, now, strict=True):
        w = (a[2] - b[2]) / (2 * TINY) @ n[2].T
        spin.append([w[2, 1], w[0, 2], w[1, 0]])
    masses, places, turns, inertias = (np.array([row[k] for row in now]) for k in range(4))
    expected = centroidal_momentum(masses, places, velocity, turns, inertias, np.array(spin)).angular
    np.testing.assert_allclose(model.momentum(q, rate).value, expected, atol=1e-6)


@pytest.mark.parametrize("detail", [True, False])
@pytest.mark.parametrize("symmetrical", [True, False])
def test_curves_have_26_points_and_the_derivatives_that_differences_give(start, detail, symmetrical):
    bend, rng = Bending(start, detail, symmetrical), np.random.default_rng(1)
    assert bend.values == (26 if symmetrical else 41)
    x = np.concatenate((rng.normal(0, 0.05, bend.values), bend.shifts * rng.uniform(-1, 1, bend.size - bend.values)))
    np.testing.assert_allclose(bend(x)[1], difference(lambda y: bend(y)[0], x), atol=1e-6)
    if detail:
        np.testing.assert_allclose(bend(np.zeros(bend.size))[0], start.channels(), atol=1e-12)


def test_control_points_go_where_they_are_sent_and_keep_their_order(start):
    bend = Bending(start)
    for sign in (-1.0, 1.0):
        x = np.concatenate((np.zeros(bend.values), sign * bend.shifts))
        knee = bend._curves[-1]
        moved = np.concatenate((np.zeros(2), x[bend._time[-1]]))
        assert (1 + knee.slope(np.linspace(0, 1, 500)) @ moved).min() > 0
        angles = bend(x)[0]
        assert abs(angles[0, 6] - start.channels()[0, 6]) < 1e-9  # the strike stays where it is


def test_gaits_are_symmetric_and_periodic(start):
    angles = start.channels()
    np.testing.assert_allclose(angles[:, :2], -np.roll(angles[:, :2], SAMPLES // 2, axis=0), atol=1e-12)
    np.testing.assert_allclose(angles[:, 3:7], np.roll(angles[:, 7:], SAMPLES // 2, axis=0), atol=1e-12)
    np.testing.assert_allclose(symmetric(angles[:, :7]), angles, atol=1e-12)


@pytest.mark.parametrize("name", sorted(OBJECTIVES))
def test_objectives_have_the_derivatives_that_differences_give(body, start, name):
    solver = Solver(Problem(body, start, [np.array([0.1, 0.6, 0.0])], objective=name))
    x = np.random.default_rng(2).normal(0, 0.02, solver.bend.size) * solver.scale
    residual = solver.residual(*solver.bend(x))
    expected = difference(lambda y: solver.residual(*solver.bend(y)).value, x)
    np.testing.assert_allclose(residual.table, expected, atol=1e-6 * max(1.0, np.abs(expected).max()))


@pytest.mark.slow
@pytest.mark.parametrize("species", ["human", "chimpanzee"])
def test_all_reachable_prints_are_hit_within_the_limits(species, start):
    anatomy = read(species)
    reach, model = Reach(anatomy), Body(anatomy)
    low, high = np.array([anatomy.limits(n.removeprefix("right_").removeprefix("left_")) for n in solver_names()]).T
    for width in (0.1, 0.6 * reach.width[1]):
        for share in (0.15, 0.8, 0.99):
            length = share * reach.longest(width)
            found = solve(Problem(anatomy, start, [np.array([width, length, 0.0])], objective=None), body=model)
            assert found.error < 1e-3, (species, width, length, found.error)
            assert (found.angles >= low - 1e-9).all()
            assert (found.angles <= high + 1e-9).all()
            np.testing.assert_allclose(model.between(found.angles[0])[0], [width, length, 0.0], atol=1e-3)


def solver_names():
    from sandbox.footprints.curves import CHANNELS

    return CHANNELS


def test_limits_hold_between_the_samples_too(body, start):
    solver = Solver(Problem(body, start, [np.array([0.1, 1.2, 0.0])], objective=None))
    x, error, _ = solver.follow(np.zeros(solver.bend.size))
    assert error < 1e-5
    fine = np.fft.irfft(np.fft.rfft(solver.bend(x)[0], axis=0), 8 * SAMPLES, axis=0) * 8
    low, high = solver.low - math.radians(0.6), solver.high + math.radians(0.6)
    assert (fine > low).all()
    assert (fine < high).all()


def test_what_cannot_be_reached_is_said_with_the_nearest_print_that_can(body):
    reach = Reach(body)
    with pytest.raises(
        UnreachableError, match=r"print 4 cannot be reached.*length 2\.000 m.*nearest that can be lies 1\.\d+ m ahead"
    ) as caught:
        reach.require(Step(2.0, 0.1), "print 4")
    assert reach.check(caught.value.nearest).possible
    assert "width" in reach.check(Step(0.5, 3.0)).reason
    assert reach.check(Step(0.7, 0.1)).possible


@pytest.mark.slow
def test_no_pose_of_legs_as_long_as_these_reaches_further_than_the_closed_form(body):
    """A search over poses within the limits finds no level step that is longer by more than the spare three percent."""
    reach, model, rng = Reach(body), Body(body), np.random.default_rng(5)
    low, high = np.array([body.limits(n.removeprefix("right_").removeprefix("left_")) for n in solver_names()]).T
    longest = 0.0
    for _ in range(8000):
        q = rng.uniform(low, high)
        q[1] = 0.0
        step = model.between(q)[0]
        if abs(step[2]) < 0.05 and 0.0 < step[0] < 0.3:
            ankles = model.ankles(q).position
            if ankles[:, 2].max() < -0.2:
                longest = max(longest, float(step[1]))
    assert 0.6 * reach.longest(0.1) < longest < reach.longest(0.1) / 0.97


def test_the_objective_falls_and_the_footprints_stay(body, start):
    for name in OBJECTIVES:
        found = solve(Problem(body, start, [np.array([0.1, 0.7, 0.0])], objective=name))
        assert found.objective[2] < found.objective[1]
        assert found.error < 1e-3
        assert found.errors[1] < 1e-3


def test_unlike_steps_are_taken_by_legs_with_curves_of_their_own(body, start):
    right, left = np.array([0.1, 0.75, 0.0]), np.array([-0.14, 0.5, 0.0])
    found = solve(Problem(body, start, [right, left]))
    model = Body(body)
    assert found.converged
    np.testing.assert_allclose(model.between(found.angles[0])[0], right, atol=1e-3)
    np.testing.assert_allclose(model.between(found.angles[SAMPLES // 2], 1)[0], left, atol=1e-3)


def test_the_published_iteration_stalls_unscaled_and_arrives_scaled(body, start):
    problem = Problem(body, start, [np.array([0.1, 0.75, 0.0])], detail=False)
    plain, scaled = prioritised(problem), prioritised(problem, scaled=True, descent=False)
    assert scaled.error < 0.01 < plain.error


def test_a_prior_moves_the_tilt_towards_it(body, start):
    goal, wanted = [np.array([0.1, 0.7, 0.0])], np.full(SAMPLES, math.radians(8.0))
    free = solve(Problem(body, start, goal))
    bound = solve(Problem(body, start, goal, priors={"pelvis_tilt": (wanted, math.radians(0.5))}))
    assert abs(bound.angles[:, 2] - wanted).mean() < 0.5 * abs(free.angles[:, 2] - wanted).mean()
    assert bound.converged


@pytest.mark.parametrize("species", ["human", "chimpanzee"])
def test_a_straight_trackway_is_walked_without_slip_and_with_clear_toes(species):
    anatomy = read(species)
    length = 0.7 * anatomy.leg_length
    made = generate(anatomy, straight_prints(Step(length, 0.1), 6), objective=None)
    walked = made.walk.figures
    assert all(s.converged for s in made.solutions)
    assert walked["print_error_m"] < 1e-3
    assert walked["slip_m"] < 5e-3
    assert walked["toe_clearance_m"] > 0.005
    assert walked["out_of_reach_m"] < 1e-6
    recording = made.walk.recording("footprints", made.speed)
    assert len(recording) == len(made.walk.time)
    assert len(recording.event_time) > 4


def test_a_curved_trackway_of_unlike_steps_is_walked_from_first_to_last(body):
    places = [(0, -0.06, 0.0), (1, 0.06, 0.5), (0, -0.1, 1.05), (1, 0.0, 1.6), (0, -0.25, 2.1), (1, -0.2, 2.65), (0, -0.55, 3.05)]
    prints = [Print(foot, np.array([x, y, 0.0])) for foot, x, y in places]
    made = generate(body, prints, objective=None)
    assert not made.symmetric
    assert made.walk.figures["print_error_m"] < 1e-3
    assert made.walk.figures["slip_m"] < 5e-3
    assert made.walk.figures["out_of_reach_m"] < 1e-6


def test_the_gait_of_one_body_starts_that_of_another(tmp_path, body):
    made = generate(body, straight_prints(Step(0.6, 0.1), 4), objective=None)
    path = tmp_path / "curves.csv"
    path.write_text(columns(made.pair, 2 * made.step_time))
    start = read_start(path)
    assert start.period == pytest.approx(2 * made.step_time, rel=1e-4)
    ape = generate(read("chimpanzee"), straight_prints(Step(0.35, 0.15), 4), start=start)
    assert all(s.converged for s in ape.solutions)
    assert ape.solutions[0].squeezed > 0  # its knee does not straighten as ours does


def test_shipped_bodies_are_read_and_the_human_one_is_the_projects(body):
    assert shipped() == ["chimpanzee", "human"]
    again = parse(files("sandbox.footprints").joinpath("data", "human.toml").read_text(), "human.toml")
    assert again.mass == pytest.approx(body.mass, rel=1e-5)
    for name, part in again.segments.items():
        np.testing.assert_allclose(part.inertia, body.segments[name].inertia, rtol=1e-4, atol=1e-6)
    assert again.leg_length == pytest.approx(body.leg_length, rel=1e-5)
    for name, dof in again.dofs.items():
        assert dof.limits == pytest.approx(body.dofs[name].limits, rel=1e-4)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("limits_deg = [-40, 35]", "", "hip_rotation lacks its limits"),
        ("length_m", "length_m = 0.5\n#", "the limb does not close"),
        ("limits_deg = [-20, 35]", "limits_deg = [35, -20]", "give the lower one first"),
        ("[segment.shank]", "[segment.shnk]", "shank"),
    ],
)
def test_a_bad_anatomy_is_refused_with_the_remedy(body, old, new, message):
    text = body.to_toml()
    assert old in text
    with pytest.raises(AnatomyError, match=message):
        parse(text.replace(old, new, 1), "mine.toml")


def test_bad_prints_are_refused_with_the_remedy(tmp_path, body):
    with pytest.raises(PrintError, match="crosses the feet"):
        Step(0.5, -0.1)
    with pytest.raises(PrintError, match="leads nowhere"):
        Step(0.0, 0.1)
    path = tmp_path / "prints.csv"
    path.write_text("foot,x_m,y_m\nleft,0,0\nright,0.1,0.6\nright,0.1,1.2\n")
    with pytest.raises(PrintError, match="both of the right foot"):
        read_prints(path)
    path.write_text("foot,x_m,y_m\nleft,0.3,0\nright,0,0.6\nleft,0.3,1.2\n")
    with pytest.raises(PrintError, match="crosses the feet"):
        read_prints(path)
    path.write_text("foot,x_m,y_m\nleft,0,zero\n")
    with pytest.raises(PrintError, match="give a number"):
        read_prints(path)
    with pytest.raises(UnreachableError, match="nearest that can be"):
        generate(body, straight_prints(Step(3.0, 0.1), 3))
    with pytest.raises(ValueError, match="step time 0 s"):
        generate(body, straight_prints(Step(0.6, 0.1), 3), step_time=0.0)


def test_steps_of_a_straight_line_are_its_steps():
    for step in steps_of(straight_prints(Step(0.6, 0.12), 5)):
        assert dataclasses.astuple(step) == pytest.approx((0.6, 0.12, 0.0, 0.0), abs=0.01)
