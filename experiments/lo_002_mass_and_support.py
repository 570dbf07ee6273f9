"""LO-002: mass, centre of mass, support and the extrapolated centre of mass.

Question: What do mass and contact alone say of a pose: where is its centre of mass, what holds it up, by how much, and how far
    does a velocity carry it beyond that support?

Method: Fourteen segments, the mean of de Leva's (1996) female and male tables, shares divided by their sum; segment centres at
    P + r (D - P). Support is DOUBLE, LEFT, RIGHT or NONE, the convex hull of the active heel-to-forefoot rectangles, with a signed
    margin (positive inside, negative outside, unavailable without support). XCoM = x + v / omega0, omega0 = sqrt(g / h) (Hof 2005), for
    fixed velocities of the same neutral pose. Whole-body angular momentum about the centre of mass. Everything is held against
    Pinocchio, and the physical body as it walks against Bullet's own links.

Result: The centre of mass of the neutral pose lies at 1.020 m; 0.057 m inside double support, 0.039 m outside either foot.
    Forward at 0.6 m/s, and to the right at 0.6 m/s, the XCoM leaves the support while the centre of mass has not moved. Ours, Pinocchio's
    and Bullet's centres of mass, velocities and momenta agree to rounding. The physical body (three trunk parts, sixteen
    segments) has its centre of mass 0.01 mm from that of the fourteen.

Limits: Diagnostics: no figure of this experiment moves anything. The foot's patch is a plane rectangle. The masses are an
    average person's, not a subject's.

Superseded by: nothing; all later experiments measure with it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pinocchio as pin

from sandbox.bodies import to_urdf
from sandbox.bodies.anatomy import SIDES
from sandbox.bodies.inertia import Array
from sandbox.bodies.reference import REFERENCE, landmarks, neutral_angles
from sandbox.bodies.segments import published_share_sum, segment_coms, segments, whole_body_com
from sandbox.config import check_range
from sandbox.console import silenced
from sandbox.harness import Experiment, Outcome, Variant
from sandbox.mechanics import (
    Support,
    center_of_mass,
    centroidal_momentum,
    extrapolated_com,
    foot_patch,
    pendulum_frequency,
    support_margin,
    support_polygon,
)
from sandbox.recording import Recording
from sandbox.report import plot
from sandbox.report.figure import COM_COLOUR, LEFT_COLOUR, RIGHT_COLOUR, XCOM_COLOUR
from sandbox.spatial import matrix_from_quaternion, normalized
from sandbox.state import ContactState
from sandbox.trajectory import Trajectory

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HELD = 1.0  # [s] that the recording shows each state
SHOWN_RATE = 30  # [Hz]


@dataclass(frozen=True)
class Parameters:
    """Velocity presets and the amount of checking.

    Attributes:
        slow, fast: forward speeds [m/s].
        back: backward speed [m/s].
        side: speed to the right [m/s].
        motions: random motions that are held against Pinocchio.
        seconds: of physical walking that are held against Bullet [s].
        speed: of that walk [m/s].
        seed: of both.

    Raises:
        ValueError: a speed outside 0..5 m/s, or an amount outside its range.
    """

    slow: float = 0.2
    fast: float = 0.6
    back: float = 0.4
    side: float = 0.6
    motions: int = 50
    seconds: float = 2.0
    speed: float = 1.0
    seed: int = 2

    def __post_init__(self) -> None:
        ranges = {**dict.fromkeys(("slow", "fast", "back", "side"), (0.0, 5.0, "m/s")), "speed": (0.0, 2.0, "m/s")}
        ranges |= {"motions": (1, 100_000, ""), "seconds": (0.1, 60.0, "s")}
        for name, (low, high, unit) in ranges.items():
            check_range(name, getattr(self, name), (low, high), unit)


@dataclass(frozen=True)
class Details:
    """The neutral pose: landmarks, centre of mass; patches of the feet, support polygons and margins by state; XCoM by velocity."""

    points: Mapping[str, Array]
    com: Array
    patches: tuple[Array, Array]
    polygons: Mapping[Support, Array]
    margins: Mapping[Support, float | None]
    xcom: Mapping[str, Array]
    xcom_margins: Mapping[str, float | None]


def velocities(p: Parameters) -> dict[str, Array]:
    """Velocities (3,) [m/s] of the centre of mass by name."""
    return {
        "still": np.zeros(3),
        "slow": np.array([0.0, p.slow, 0.0]),
        "fast": np.array([0.0, p.fast, 0.0]),
        "back": np.array([0.0, -p.back, 0.0]),
        "side": np.array([p.side, 0.0, 0.0]),
    }


def run(p: Parameters) -> Outcome[Details]:
    """Measure the neutral pose, and hold the formulas against both engines."""
    neutral = Trajectory(REFERENCE, np.zeros(1), np.array([[0.0, 0.0, REFERENCE.leg_length]]), neutral_angles()[None], still=True)
    points = {name: path[0] for name, path in neutral.points(landmarks()).items()}
    com = whole_body_com(points)
    patches = tuple(foot_patch(points[f"{s}_heel"], points[f"{s}_toe_base"], REFERENCE.foot_half_width) for s in SIDES)
    left, right = patches
    none = np.zeros((0, 2))
    corners = {Support.DOUBLE: np.vstack(patches), Support.LEFT: left, Support.RIGHT: right, Support.NONE: none}
    polygons = {support: support_polygon(each) for support, each in corners.items()}
    margins = {support: support_margin(com[:2], polygon) for support, polygon in polygons.items()}
    xcom = {name: extrapolated_com(com, velocity, float(com[2])) for name, velocity in velocities(p).items()}
    xcom_margins = {name: support_margin(point, polygons[Support.DOUBLE]) for name, point in xcom.items()}
    metrics = {
        "segments_count": len(segments()),
        "published_share_sum": published_share_sum(),
        "share_sum_error": abs(sum(s.share for s in segments()) - 1.0),
        "com_height_m": float(com[2]),
        "com_forward_m": float(com[1]),
        "physical_com_height_m": float(neutral.com[0, 2]),
        "physical_com_distance_m": float(np.linalg.norm(neutral.com[0] - com)),
        "omega0_rps": pendulum_frequency(float(com[2])),
        **{f"margin_{support.name.lower()}_m": _number(margin) for support, margin in margins.items()},
        **{f"xcom_margin_{name}_m": _number(margin) for name, margin in xcom_margins.items()},
        "fourteen_against_pinocchio_m": fourteen_against_pinocchio(points, com),
        **against_pinocchio(p),
        **against_bullet(p),
    }
    details = Details(points, com, (left, right), polygons, margins, xcom, xcom_margins)
    return Outcome(metrics, film(neutral, details, p), details)


def _number(margin: float | None) -> float:
    """As a metric: NaN stands for a margin that is unavailable."""
    return math.nan if margin is None else margin


def fourteen_against_pinocchio(points: Mapping[str, Array], com: Array) -> float:
    """Distance [m] of the centre of mass from that of a Pinocchio model of fourteen free bodies at the same places."""
    model = pin.Model()
    places = []
    for segment in segments():
        joint = model.addJoint(0, pin.JointModelTranslation(), pin.SE3.Identity(), segment.name)
        line = points[segment.distal] - points[segment.proximal]
        model.appendBodyToJoint(joint, pin.Inertia(segment.share * REFERENCE.mass, segment.com * line, np.eye(3)), pin.SE3.Identity())
        places.append(points[segment.proximal])
    theirs = pin.centerOfMass(model, model.createData(), np.concatenate(places))
    return float(np.linalg.norm(theirs - com))


def against_pinocchio(p: Parameters) -> dict[str, float]:
    """Largest differences of centre of mass, its velocity and angular momentum in random motions of the physical body."""
    rng = np.random.default_rng(p.seed)
    model = pin.buildModelFromXML(to_urdf(REFERENCE), pin.JointModelFreeFlyer())
    data = model.createData()
    columns = [model.joints[model.getJointId(joint.name)].idx_v for joint in REFERENCE.joints]
    low, high = np.array([joint.outer for joint in REFERENCE.joints]).T
    worst = np.zeros(3)
    for _ in range(p.motions):
        place, turn = rng.normal(size=3), normalized(rng.normal(size=4))
        velocity, omega, qd = rng.normal(size=3), rng.normal(size=3), rng.normal(scale=3, size=len(low))
        q = rng.uniform(low, high)
        rotation = matrix_from_quaternion(turn)
        ours = Trajectory(REFERENCE, np.zeros(1), place[None], q[None], rotation[None], rates=(velocity[None], omega[None], qd[None]))
        position, speed = np.zeros(model.nq), np.zeros(model.nv)
        position[:3], position[3:7], speed[:3], speed[3:6] = place, turn, rotation.T @ velocity, rotation.T @ omega
        position[[column + 1 for column in columns]], speed[columns] = q, qd
        momentum = pin.computeCentroidalMomentum(model, data, position, speed)
        com = pin.centerOfMass(model, data, position, speed)
        differences = ours.com[0] - com, ours.com_velocity[0] - data.vcom[0], ours.angular_momentum[0] - momentum.angular
        worst = np.maximum(worst, [np.linalg.norm(difference) for difference in differences])
    return dict(zip(("pinocchio_com_m", "pinocchio_com_velocity_mps", "pinocchio_angular_momentum_nms"), worst.tolist(), strict=True))


def against_bullet(p: Parameters) -> dict[str, float]:
    """Largest differences from what Bullet's links say, ten times a second of a physical walk."""
    with silenced():  # Bullet prints when it is imported
        from sandbox.plants.bullet import BulletPlant
        from sandbox.plants.engine import link_motion
        from sandbox.scenes.scene import Options, build
        from sandbox.simulation import Simulation

    simulation = Simulation(build("walk", Options(p.speed, seconds=p.seconds, seed=p.seed)), REFERENCE, seed=p.seed)
    plant = simulation.plant
    assert isinstance(plant, BulletPlant)
    worst, largest = np.zeros(3), 0.0
    for tick in range(round(p.seconds / plant.dt)):
        simulation.tick()
        if tick % round(0.1 / plant.dt):
            continue
        motion, ours = link_motion(plant), plant.observe()[0]
        momentum = centroidal_momentum(*motion).angular
        com, velocity = (center_of_mass(motion.masses, each) for each in (motion.positions, motion.velocities))
        differences = ours.com - com, ours.com_velocity - velocity, ours.angular_momentum - momentum
        worst = np.maximum(worst, [np.linalg.norm(difference) for difference in differences])
        largest = max(largest, float(np.linalg.norm(momentum)))
    simulation.close()
    if largest == 0:
        raise ValueError("the physical body did not move, so that nothing was compared: give a longer walk")
    return dict(zip(("bullet_com_m", "bullet_com_velocity_mps", "bullet_angular_momentum_nms"), worst.tolist(), strict=True))


def film(neutral: Trajectory, details: Details, p: Parameters) -> Recording:
    """The neutral pose, a second for each velocity on both feet, then on the left foot, the right one, and none."""
    each = round(HELD * SHOWN_RATE)
    moving = velocities(p)
    states = [(Support.DOUBLE, name) for name in moving] + [(s, "still") for s in (Support.LEFT, Support.RIGHT, Support.NONE)]
    count = each * len(states)
    held = Trajectory(
        REFERENCE, np.arange(count) / SHOWN_RATE, np.repeat(neutral.root_position, count, 0), np.repeat(neutral.q, count, 0), still=True
    )
    down = np.repeat([[bool(support & 1), bool(support & 2)] for support, _ in states], each, axis=0)
    recording = held.recording(
        "mass and support",
        contact=np.where(down, ContactState.FLAT, ContactState.AIRBORNE),
        settings={"states": [f"{support.name} {name}" for support, name in states]},
    )
    xcom = np.repeat([[*details.xcom[name], 0.0] for _, name in states], each, axis=0)
    velocity = np.repeat([moving[name] for _, name in states], each, axis=0)
    return Recording(recording.header, recording.columns | {"xcom": xcom, "com_velocity": velocity})


# -- checks ------------------------------------------------------------------------------------------------------------------


def fourteen_segments_weigh_one_body(outcome: Outcome[Details]) -> bool:
    """There are fourteen segments, and their shares, divided by their published sum, add up to 1."""
    return outcome.metrics["segments_count"] == 14 and outcome.metrics["share_sum_error"] <= 1e-15


def com_is_on_the_midline_at_about_1_02_m(outcome: Outcome[Details]) -> bool:
    """The neutral pose has its centre of mass on the midline, 1.02 m above the ground to the centimetre."""
    com = outcome.details.com
    return abs(float(com[0])) <= 1e-12 and abs(float(com[2]) - 1.02) < 0.005


def margin_is_positive_inside_negative_outside_and_else_unavailable(outcome: Outcome[Details]) -> bool:
    """Inside double support, outside either foot, unavailable without one."""
    margins = outcome.details.margins
    double, left, right = (margins[s] for s in (Support.DOUBLE, Support.LEFT, Support.RIGHT))
    inside_and_outside = double is not None and left is not None and right is not None and double > 0 > max(left, right)
    return inside_and_outside and margins[Support.NONE] is None


def velocity_carries_the_xcom_out_while_the_com_stays_in(outcome: Outcome[Details]) -> bool:
    """Fast forward, back and to the side the XCoM is outside the support, which the centre of mass has not left; slowly it is inside."""
    margins, inside = outcome.details.xcom_margins, outcome.details.margins[Support.DOUBLE]
    out = [margins[name] for name in ("fast", "back", "side")]
    slow = margins["slow"]
    return inside is not None and inside > 0 and slow is not None and slow > 0 and all(m is not None and m < 0 for m in out)


def xcom_without_velocity_is_the_com(outcome: Outcome[Details]) -> bool:
    """Standing still the XCoM is the centre of mass."""
    return bool(np.array_equal(outcome.details.xcom["still"], outcome.details.com[:2]))


def engines_agree(outcome: Outcome[Details]) -> bool:
    """Centre of mass, its velocity and angular momentum agree with Pinocchio and with Bullet to 1e-9."""
    compared = ("fourteen_against_pinocchio_m", *(name for name in outcome.metrics if name.startswith(("pinocchio_", "bullet_"))))
    return len(compared) == 7 and max(outcome.metrics[name] for name in compared) <= 1e-9


# -- figures -----------------------------------------------------------------------------------------------------------------


def figures(outcomes: Mapping[str, Outcome[Details]]) -> dict[str, Figure]:
    """Masses of the neutral pose; support states and velocities from above."""
    from matplotlib.patches import Polygon

    (outcome,) = outcomes.values()
    d = outcome.details
    assert outcome.recording is not None
    figure = plot.blank(13, 7.2, "LO-002: mass, support and the extrapolated centre of mass of the neutral pose")
    grid = figure.add_gridspec(2, 4, width_ratios=(1.75, 1, 1, 1))
    body = figure.add_subplot(grid[:, 0])
    plot.draw_body(body, outcome.recording, 0, "front", alpha=0.45)
    for segment, place in zip(segments(), segment_coms(d.points), strict=True):
        body.plot(-place[0], place[2], "o", ms=38 * math.sqrt(segment.share), mfc="none", mec=plot.INK, lw=1)
    body.plot(-d.com[0], d.com[2], "o", color=COM_COLOUR, ms=7)
    body.annotate(f"CoM {d.com[2]:.3f} m", (-d.com[0], d.com[2]), (0.25, d.com[2] - 0.02), color=COM_COLOUR)
    body.set(xlim=(-0.85, 0.85), ylim=(-0.03, 1.95), aspect="equal", xticks=[], ylabel="height [m]")
    body.set_title("Fourteen segments; area of a ring: mass")

    def above(axes: object, support: Support, title: str) -> None:
        from matplotlib.axes import Axes

        assert isinstance(axes, Axes)
        for foot, (patch, colour) in enumerate(zip(d.patches, (LEFT_COLOUR, RIGHT_COLOUR), strict=True)):
            active = bool(support & (1 << foot))
            axes.add_patch(Polygon(patch, facecolor=colour, alpha=0.55 if active else 0.12, lw=0))
        if len(d.polygons[support]):
            axes.add_patch(Polygon(d.polygons[support], fill=False, ec=plot.INK, lw=1.3))
        axes.plot(*d.com[:2], "o", color=COM_COLOUR, ms=6)
        axes.set(xlim=(-0.3, 0.3), ylim=(-0.2, 0.3), aspect="equal")
        axes.set_axis_off()
        axes.set_title(title, fontsize=9)

    for k, support in enumerate((Support.DOUBLE, Support.LEFT, Support.NONE)):
        margin = d.margins[support]
        above(
            figure.add_subplot(grid[0, k + 1]),
            support,
            f"{support.name}: " + ("no margin" if margin is None else f"{1000 * margin:+.0f} mm"),
        )
    moving = velocities_shown(outcome)
    for k, (name, label) in enumerate(moving.items()):
        axes = figure.add_subplot(grid[1, k + 1])
        margin = d.xcom_margins[name]
        above(axes, Support.DOUBLE, f"{label}: XCoM {1000 * margin:+.0f} mm" if margin is not None else label)
        axes.annotate("", d.xcom[name].tolist(), d.com[:2].tolist(), arrowprops={"arrowstyle": "-|>", "color": XCOM_COLOUR, "lw": 1.4})
        axes.plot(*d.xcom[name], "o", color=XCOM_COLOUR, ms=6)
    return {"support": figure}


def velocities_shown(outcome: Outcome[Details]) -> dict[str, str]:
    """Three of the velocities, and what they are called."""
    omega = outcome.metrics["omega0_rps"]
    d = outcome.details
    return {name: f"{name} {float(np.linalg.norm(d.xcom[name] - d.com[:2])) * omega:.1f} m/s" for name in ("slow", "fast", "side")}


EXPERIMENT = Experiment(
    run=run,
    variants=(Variant("retained", Parameters(), "neutral pose, five velocities, four states of support"),),
    checks=(
        fourteen_segments_weigh_one_body,
        com_is_on_the_midline_at_about_1_02_m,
        margin_is_positive_inside_negative_outside_and_else_unavailable,
        velocity_carries_the_xcom_out_while_the_com_stays_in,
        xcom_without_velocity_is_the_com,
        engines_agree,
    ),
    figures=figures,
)
