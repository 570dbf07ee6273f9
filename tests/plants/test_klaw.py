"""KLAW's walker: the pose at any time, feet on the ground, and what it is as planner and plant."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from sandbox.bodies import Anatomy
from sandbox.controllers.klaw.machine import LegState
from sandbox.controllers.klaw.parameters import Attributes
from sandbox.controllers.klaw.stance import PERIODIC, Orbit
from sandbox.controllers.parameters import Parameters
from sandbox.plants import klaw
from sandbox.plants.klaw import KlawPose, KlawWalker, gait_of, stride
from sandbox.plants.klaw_plant import KlawReference
from sandbox.recording import Recording
from sandbox.scenes.scene import Options, build
from sandbox.simulation import Simulation, run
from sandbox.state import FEET, ContactState

BODY = Anatomy(70, 1.74)


def walk(speed: float = 1.0, seconds: float = 5.0, stop: float = math.inf, attributes: Attributes | None = None) -> KlawWalker:
    walker = KlawWalker(BODY, attributes)
    for time in np.arange(0, seconds, 0.05).tolist():
        walker.plan(time, speed if time < stop else 0.0)
    return walker


@pytest.fixture(scope="module")
def stopped() -> KlawWalker:
    return walk(1.0, 9.5, stop=4.0)


@pytest.fixture(scope="module")
def recording() -> Recording:
    return run("start-stop", plant="kinematic", stance="klaw", seconds=14.0)


def only_closing(notes: list[str]) -> bool:
    """Nothing is told but that the step that closes the feet is lifted by a few millimetres."""
    return all("0.40 m/s: the swing foot is lifted by" in note for note in notes) and len(notes) <= 1


def apart(a: KlawPose, b: KlawPose) -> float:
    return max(float(np.abs(a.q - b.q).max()), float(np.abs(a.position - b.position).max()))


def test_it_starts_walks_and_stops(stopped: KlawWalker) -> None:
    kinds = [step.kind for step in stopped.steps]
    assert kinds[:2] == ["stand", "start"]
    assert kinds[-2:] == ["stop", "stand"]
    assert set(kinds[2:-2]) == {"walk"}
    leads = [step.lead for step in stopped.steps[1:-1]]
    assert all(a != b for a, b in pairwise(leads))
    last = stopped.pose(stopped.steps[-1].begin + 1)
    assert [foot.part for foot in last.feet] == [ContactState.FLAT, ContactState.FLAT]
    assert last.feet[0].forward == pytest.approx(last.feet[1].forward)
    assert last.position[1] == pytest.approx(last.feet[0].forward, abs=1e-9)


def test_every_step_of_walking_is_solved(stopped: KlawWalker) -> None:
    steps = [step for step in stopped.steps if step.kind == "walk"]
    steady = [step for step in steps if step.speed == 1.0]
    assert len(steady) > 3
    for step in steps:
        assert step.swing is not None
        assert step.swing.model == "double-pendulum"
        assert step.swing.residual < 1e-6
        assert step.solved.model == "telescoping"
        assert step.solved.residual < PERIODIC
    assert only_closing(stopped.notes())


def test_its_speed_and_step_follow_the_law(stopped: KlawWalker) -> None:
    steady = [step for step in stopped.steps if step.kind == "walk" and step.speed == 1.0]
    for step in steady:
        assert step.length / step.time.step == pytest.approx(1.0)
        assert step.length == pytest.approx(0.004 * 60 / step.time.step * BODY.height)


def test_the_pose_is_a_function_of_time(stopped: KlawWalker) -> None:
    """Whatever the frame rate, and in any order, the same time has the same pose; between frames it moves on without a jump."""
    times = np.linspace(0.1, 7.0, 40)
    forwards = [stopped.pose(t) for t in times.tolist()]
    backwards = [stopped.pose(t) for t in times[::-1].tolist()][::-1]
    assert max(apart(a, b) for a, b in zip(forwards, backwards, strict=True)) == 0
    dt = 1e-4
    for step in stopped.steps[1:-1]:
        for at in (step.begin, step.begin + step.time.double, step.begin + 0.4 * step.time.step, step.end):
            assert apart(stopped.pose(at - dt), stopped.pose(at + dt)) < 0.01


def test_legs_reach_their_feet(stopped: KlawWalker) -> None:
    poses = [stopped.pose(t) for t in np.arange(0, 9.0, 0.01).tolist()]
    assert max(pose.miss for pose in poses) < 1e-4
    assert max(pose.sunk for pose in poses) < 0.02


def test_feet_neither_slip_nor_sink(recording: Recording) -> None:
    """In the final pose, through the body's own kinematics: within 1 mm while a part stands, start and stop included."""
    names, parts = recording.header["point_names"], recording.contact_state
    for i, side in enumerate(FEET):
        heel, tip = (recording.points[:, names.index(f"{side}_{point}")] for point in ("heel", "toe_tip"))
        assert min(heel[:, 2].min(), tip[:, 2].min()) > -0.001
        for part, point in ((ContactState.HEEL, heel), (ContactState.FLAT, heel), (ContactState.FLAT, tip), (ContactState.TOE, tip)):
            rows = np.flatnonzero(parts[:, i] == part)
            for held in np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1):
                if len(held):
                    assert np.ptp(point[held], axis=0).max() < 0.001


def test_as_plant_it_is_recorded_like_the_others(recording: Recording) -> None:
    assert (recording.header["plant"], recording.header["stance"]) == ("kinematic", "klaw")
    assert not recording.header["fall"]["fell"]
    assert only_closing(recording.header["notes"])
    assert recording.ground_force[..., 2].min() >= 0
    weight = BODY.mass * 9.81
    assert recording.ground_force[300:900, :, 2].sum(axis=1).mean() == pytest.approx(weight, rel=0.02)
    down = recording.event_time[recording.event_touchdown]
    assert len(down) > 8
    assert len(recording.foothold_time) > 6
    lower = np.array([joint.outer[0] for joint in BODY.joints])
    upper = np.array([joint.outer[1] for joint in BODY.joints])
    over = np.maximum(recording.q - upper, lower - recording.q).max(axis=0)
    assert np.degrees(over.max()) < 3.0


def test_attributes_change_the_walk() -> None:
    plain, styled = (
        walk(1.0, 4.0),
        walk(1.0, 4.0, attributes=Attributes(arm_swing=0.0, step_width=2.0, pelvic_rotation=0.0, torso_tilt=2.0)),
    )
    times = np.arange(2.5, 4.0, 0.05).tolist()
    i = BODY.joint_index["left_shoulder_flexion"]
    before, after = ([w.pose(t) for t in times] for w in (plain, styled))
    assert np.ptp([p.q[i] for p in before]) > 0.2
    assert np.ptp([p.q[i] for p in after]) == 0
    assert styled.line == 2 * plain.line
    plain_yaw, styled_yaw = ([math.atan2(-p.rotation[0, 1], p.rotation[1, 1]) for p in poses] for poses in (before, after))
    assert np.ptp(styled_yaw) < 0.2 * np.ptp(plain_yaw)  # what is left comes with list and tilt
    lean = BODY.joint_index["lumbar_flexion"]
    assert np.mean([p.q[lean] for p in after]) > np.mean([p.q[lean] for p in before])


def test_speeds_are_clamped_and_bad_ones_refused() -> None:
    walker = KlawWalker(BODY)
    assert walker.clamp(0.1) == pytest.approx(klaw.SLOWEST, rel=0.01)
    assert walker.clamp(9.0) == pytest.approx(klaw.FASTEST, rel=0.01)
    assert walker.clamp(0.0) == 0
    walker.plan(0.1, 9.0)
    assert walker.notes()[0].startswith("9 m/s is walked at 1.80 m/s")
    walker.reset()
    assert walker.notes() == []
    for bad in (-1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="give 0 to stop"):
            walker.plan(0.1, bad)


def test_a_gait_that_fails_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*arguments: object) -> Orbit:
        found = real(*arguments)
        object.__setattr__(found.solved, "residual", 0.25)
        return found

    real = klaw.stance.shoot
    monkeypatch.setattr(klaw.stance, "shoot", never)
    klaw.stance.orbit.cache_clear()
    gait_of.cache_clear()
    try:
        walker = walk(0.8, 4.0)
    finally:
        klaw.stance.orbit.cache_clear()
        gait_of.cache_clear()
    assert "inverted-pendulum for the telescoping leg, whose residual is 2.5e-01" in walker.notes()[0]
    assert max(walker.pose(t).miss for t in np.arange(0, 4, 0.02).tolist()) < 0.01


def test_the_rocker_is_whole_in_full_steps_only() -> None:
    gait = gait_of(BODY, Attributes(), klaw.locomotion(1.74, speed=1.2))
    whole, part = stride(gait.time, 0.72, BODY.leg_length), stride(gait.time, 0.3, BODY.leg_length)
    assert whole.landing == klaw.LANDING
    assert 0 < part.landing < whole.landing
    assert whole.leaving == klaw.LEAVING < part.leaving < 0


@pytest.mark.parametrize(
    ("scene", "plant", "said"),
    [
        ("turn", "kinematic", "knows no turns"),
        ("slope", "kinematic", "knows no slopes"),
        ("push", "kinematic", "knows no pushes"),
        ("walk", "continuous", "not on the continuous plant"),
    ],
)
def test_what_it_cannot_walk_is_refused_before_anything_runs(scene: str, plant: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        run(scene, plant=plant, stance="klaw", seconds=5.0)


def test_an_unknown_stance_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown stance model 'klow'"):
        run("walk", stance="klow", seconds=5.0)  # type: ignore[arg-type]


def test_swing_preview_leads_to_the_foothold() -> None:
    simulation = Simulation(build("walk", Options(speed=1.0, seconds=6)), plant="kinematic", stance="klaw")
    while simulation.planner.plan[0].phase == 0 or simulation.planner.plan[0].steps < 3:
        simulation.tick()
    path = simulation.planner.swing_preview(simulation.plant.observe(), 20)
    walker = simulation.planner.walker  # type: ignore[attr-defined]
    step = walker.at(simulation.time)
    assert path.shape == (20, 3)
    assert path[-1, 1] == pytest.approx(step.lands + walker.geometry.heel, abs=0.06)
    assert path[:, 2].max() > path[-1, 2]


def test_states_of_the_legs_follow_the_clock() -> None:
    simulation = Simulation(build("walk", Options(speed=1.0, seconds=6)), plant="kinematic", stance="klaw")
    seen: list[list[LegState]] = [[], []]
    while simulation.time < 6:
        simulation.tick()
        for states, leg in zip(seen, simulation.planner.legs, strict=True):  # type: ignore[attr-defined]
            if not states or states[-1] != leg.state:
                states.append(leg.state)
    for states in seen:
        assert len(states) > 12
        assert all(after == (before + 1) % 6 for before, after in pairwise(states[2:]))


def test_the_physical_body_walks_with_it_as_reference() -> None:
    simulation = Simulation(build("walk", Options(speed=0.8, seconds=5)), plant="bullet", stance="klaw")
    changes = []
    while simulation.time < 5:
        before = [leg.stands for leg in simulation.planner.legs]  # type: ignore[attr-defined]
        touching = simulation.plant.contact.copy()  # type: ignore[attr-defined]
        simulation.tick()
        after = [leg.stands for leg in simulation.planner.legs]  # type: ignore[attr-defined]
        changes += [(foot, after[foot], bool(touching[foot])) for foot in range(2) if after[foot] != before[foot]]
    found = simulation.recording()
    simulation.close()
    assert found.header["stance"] == "klaw"
    assert not found.header["fall"]["fell"]
    assert found.root_position[-1, 1] > 1.5
    # what ends a stance or a swing is a contact, and not the clock
    assert len(changes) >= 8
    assert all(stands == touches for _, stands, touches in changes)
    with pytest.raises(ValueError, match="unknown follow 'everything'"):
        KlawReference(BODY, Parameters.load(), "everything")  # type: ignore[arg-type]
