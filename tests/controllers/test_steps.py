"""Steps as transactions: timing functions, stages, and the sequence that repeats them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sandbox.bodies.standing import StandingSolver
from sandbox.controllers.steps import MOST_STEPS, Stage, Step, StepPlan, StepSequence, foot_of, front_loaded, neutral_stance, smoother_step
from sandbox.mechanics import Support
from sandbox.state import FEET, LEFT, RIGHT

SOLVER = StandingSolver()


@settings(deadline=None)
@given(st.floats(0, 1), st.floats(0, 1))
def test_shares_are_monotonic_and_keep_their_ends(a: float, b: float):
    low, high = sorted((a, b))
    for function in (smoother_step, front_loaded):
        assert function(low) <= function(high) + 1e-15
        assert (function(0), function(1)) == (0, 1)


def test_smoother_step_begins_and_ends_at_rest():
    h = 1e-4
    for end, inward in ((0.0, h), (1.0, -h)):
        first = (smoother_step(end + inward) - smoother_step(end)) / inward
        second = (smoother_step(end + 2 * inward) - 2 * smoother_step(end + inward) + smoother_step(end)) / h**2
        assert abs(first) < 1e-6
        assert abs(second) < 0.01
    assert smoother_step(0.5) == 0.5


def test_front_loaded_is_ahead_and_comes_to_rest_after_the_outer_curve():
    u = np.linspace(0.01, 0.99, 50)
    assert all(smoother_step(front_loaded(x)) > smoother_step(x) for x in u)
    assert smoother_step(front_loaded(1 - 1e-3)) == pytest.approx(1, abs=1e-15)


@pytest.mark.parametrize("swing", [LEFT, RIGHT])
def test_stages_and_support_of_a_step(swing: int):
    step = Step(SOLVER, StepPlan(), neutral_stance(SOLVER), swing)
    stages = [step.stage(phase) for phase in (0, 0.0999, 0.1, 0.5, 0.8999, 0.9, 0.9999, 1)]
    assert stages == [Stage.PRELOAD] * 2 + [Stage.SWING] * 3 + [Stage.LANDING] * 2 + [Stage.COMPLETE]
    assert step.support(0) is step.support(1) is Support.DOUBLE
    assert step.support(0.5) is (Support.RIGHT if swing == LEFT else Support.LEFT)


def test_a_step_goes_where_it_is_asked_to():
    step = Step(SOLVER, StepPlan(step_length=0.2, lift=0.03), neutral_stance(SOLVER), LEFT)
    assert step.end.ankles[LEFT, 1] - step.end.ankles[RIGHT, 1] == pytest.approx(0.2)
    assert step.end.pelvis[1] == pytest.approx(0.1)
    middle = step.target(0.5)
    assert middle.ankles[LEFT, 2] - step.start.ankles[LEFT, 2] == pytest.approx(0.03)
    np.testing.assert_array_equal(middle.ankles[RIGHT], step.start.ankles[RIGHT])


plans = st.builds(
    StepPlan,
    step_length=st.floats(0.0, 0.5),
    duration=st.floats(0.3, 2.0),
    liftoff=st.floats(0.0, 0.3),
    touchdown=st.floats(0.6, 1.0),
    lift=st.floats(0.0, 0.15),
    transfer=st.sampled_from(["even", "front-loaded"]),
    pelvis=st.sampled_from(["whole-step", "with-swing"]),
)


@settings(deadline=None)
@given(plan=plans, swing=st.sampled_from([LEFT, RIGHT]), phase=st.floats(0, 1), steps=st.integers(1, 4))
def test_the_planted_foot_keeps_still_whatever_the_plan(plan: StepPlan, swing: int, phase: float, steps: int):
    step = StepSequence(SOLVER, plan, steps, swing).steps[-1]
    pose = step.pose(phase)
    planted = SOLVER.point(pose, f"{FEET[step.planted]}_ankle")
    np.testing.assert_allclose(planted, step.start.ankles[step.planted], rtol=0, atol=1e-9)
    np.testing.assert_array_equal(pose.pelvis[:2], step.target(phase).pelvis[:2])
    assert SOLVER.point(pose, f"{FEET[step.swing]}_toe_tip")[2] >= -1e-9
    assert min(SOLVER.knee_ahead(pose, leg) for leg in (LEFT, RIGHT)) > 0
    np.testing.assert_array_equal(step.target(1.0).ankles, step.end.ankles)


def test_pelvis_timing_is_what_the_plan_says():
    whole, swing = (Step(SOLVER, StepPlan(pelvis=pelvis), neutral_stance(SOLVER), RIGHT) for pelvis in ("whole-step", "with-swing"))
    assert whole.target(0.09).pelvis[1] > 0
    assert swing.target(0.09).pelvis[1] == 0
    assert swing.target(0.9).pelvis[1] == swing.end.pelvis[1]
    assert whole.target(0.9).pelvis[1] < whole.end.pelvis[1]


def test_steps_alternate_and_carry_the_stance():
    sequence = StepSequence(SOLVER, StepPlan(), 5, LEFT)
    assert [step.swing for step in sequence.steps] == [LEFT, RIGHT, LEFT, RIGHT, LEFT]
    for before, after in zip(sequence.steps, sequence.steps[1:], strict=False):
        np.testing.assert_array_equal(before.end.ankles, after.start.ankles)
        np.testing.assert_array_equal(before.end.pelvis, after.start.pelvis)


@settings(deadline=None)
@given(dt=st.floats(1e-3, 2.0), count=st.integers(1, 8))
@example(dt=0.08, count=4)  # 41 ticks are 4 steps but for rounding
def test_the_clock_ends_after_exactly_so_many_steps(dt: float, count: int):
    plan = StepPlan()
    sequence = StepSequence(SOLVER, plan, count)
    passed, last = 0.0, -1.0
    while not sequence.finished:
        assert passed < count * plan.duration + 1e-9
        sequence.advance(dt)
        passed += dt
        assert sequence.sequence_phase > last, "no tick is lost, and none too many comes before the end"
        last = sequence.sequence_phase
    assert passed >= count * plan.duration - 1e-9
    assert (sequence.handoffs, sequence.index, sequence.phase, sequence.sequence_phase) == (count - 1, count - 1, 1.0, 1.0)
    sequence.advance(10.0)
    assert (sequence.handoffs, sequence.phase) == (count - 1, 1.0)


def test_scrubbing_finds_the_step_and_its_phase():
    sequence = StepSequence(SOLVER, StepPlan(), 4)
    assert [(i.number, i.phase) for i in map(sequence.at, (0, 0.125, 0.25, 0.999999999, 1))] == [
        (0, 0), (0, 0.5), (1, 0), (3, pytest.approx(1)), (3, 1)
    ]  # fmt: skip
    with pytest.raises(ValueError, match=r"1.5 is outside 0..1"):
        sequence.at(1.5)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"step_length": -0.1}, r"step_length -0.1 m is outside 0..1.5 m"),
        ({"step_length": float("nan")}, "step_length nan m"),
        ({"duration": 0.0}, "duration 0 s"),
        ({"lift": 3.0}, "lift 3 m"),
        ({"liftoff": 0.9, "touchdown": 0.1}, "not phases in order"),
        ({"liftoff": float("nan")}, "not phases in order"),
        ({"transfer": "evn"}, "unknown transfer 'evn': did you mean 'even'?"),
        ({"pelvis": "whole"}, "unknown pelvis 'whole': did you mean 'whole-step'?"),
    ],
)
def test_plans_that_make_no_step_are_refused(change, said: str):
    with pytest.raises(ValueError, match=said):
        StepPlan(**change)


@pytest.mark.parametrize("count", [0, -1, MOST_STEPS + 1])
def test_numbers_of_steps_that_make_no_walk_are_refused(count: int):
    with pytest.raises(ValueError, match=rf"{count} steps are outside 1..10000"):
        StepSequence(SOLVER, StepPlan(), count)


@pytest.mark.parametrize("dt", [-0.1, float("nan"), float("inf")])
def test_time_that_cannot_pass_is_refused(dt: float):
    with pytest.raises(ValueError, match="cannot pass"):
        StepSequence(SOLVER, StepPlan(), 1).advance(dt)


def test_feet_have_names():
    assert (foot_of("left"), foot_of("right")) == (LEFT, RIGHT)
    with pytest.raises(ValueError, match="unknown foot 'rigth': did you mean 'right'?"):
        foot_of("rigth")
