"""The procedural gait planner: from movement intent and body state to footholds, swing path, pelvis and pose targets.

One planner drives both plants. It owns the gait's phase, but not the contacts: a step ends when the plant reports that the
swing foot carries load, and the planner's own time of touchdown is only a prediction that is recorded beside the event.

The step is thought of as a linear inverted pendulum whose pivot, the centre of pressure, travels along the foot::

    d = c - p(t),  d'' = omega^2 d,  omega^2 = g / height

At speed v with step time T the CoM advances s = v T a step and the pressure c_p T along the foot, so that d runs from -D to D
with D = (s - c_p T) / 2, ending at the nominal speed c_p + omega D coth(omega T / 2). The foothold puts the next pivot D
ahead of where the CoM is predicted to be, plus a gain on the predicted speed error (Hof 2008; Coros et al. 2010 blend the
same terms). Load moves from foot to foot over the double support, which to the pendulum is a switch in its middle.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sandbox.bodies.anatomy import Anatomy
from sandbox.compiled import kernel
from sandbox.controllers.parameters import REFERENCE, Parameters
from sandbox.controllers.stance import Rise, StanceModel, check_model
from sandbox.conventions import GRAVITY

STAND, START, WALK = 0, 1, 2  # plan.mode
DOUBLE, SINGLE = 0, 1  # plan.phase

KLAW_STEP = 0.004  # step length over (cadence [1/min] x height), Bruderlin & Calvert 1989
LOWEST_SPEED = 0.05  # [m/s] below this the speed law of cadence is held, and a walker with no command may stop
FOOT_STOP = 0.08  # [s] in which the landing foot's forward speed would run out
FREEZE = 0.85  # share of swing after which the foothold is no longer changed
RETIME = 0.6  # share of swing after which the step's end is no longer moved
EARLIEST_TOUCHDOWN = 0.55  # share of swing before which ground contact is a stumble, not a touchdown
STOP_SPREAD = 0.20  # [m] fore-aft distance of the feet below which standing can take over
STOP_WIDTH = 1.2  # of half the hip spacing: feet nearer side by side than this make another step
NARROWEST = 0.4  # of half the hip spacing: the nearest that a foot is set to the line of the other (feet pass fore and aft)
WIDEST = 0.7  # of the leg: the furthest that a foot is set from the line of the other
DIP_SLACK = 0.015  # [m] out of reach that is left to the foothold: an ordinary step is not to lower the body
DIP_RATE = (0.35, 0.15)  # [m/s] at which the body is lowered for a long step, and raised again
NARROW_STANCE = 0.04  # [m] feet nearer side by side than this are taken for this far apart
STILL_FOOT = 0.25  # [rad/s] slower than this a standing foot lies flat
GROUND_RATE = (0.1, 0.5)  # [m/s] at which feet teach the height of the ground, standing and walking
HEIGHT_RATE = 0.08  # [m/s] between the heights of standing and walking
HEADING_SLEW = 1.0  # [rad/s^2] of the commanded rate of turning
SLOPE_RATE = 0.5  # [rad/s] at which standing feet teach the slope of the ground
INTEGRAL_FADE = 0.7  # [s] in which it is forgotten while the commanded speed changes
INTEGRAL_LIMIT = 0.10  # [m] of the foothold shift that regulates speed
UNEVEN_FADE, UNEVEN_LIMIT = 0.85, 0.03  # a step; [m]
SINK_LIMIT = 0.06  # [m] how far below the expected ground a swing foot searches for it

BODY_DTYPE = np.dtype(
    (
        np.record,
        [(name, "f8") for name in ("mass", "leg", "thigh", "shank", "ankle_height", "heel", "ball", "toe", "hip_half", "length", "time")],
    )
)

PLAN_DTYPE = np.dtype(
    (
        np.record,
        [
            # intent
            ("heading", "f8"),
            ("heading_rate", "f8"),
            ("speed", "f8"),  # slewed command [m/s]
            ("speed_integral", "f8"),  # shift of the foothold [m]
            ("speed_mean", "f8"),  # of the last step
            # gait phase
            ("mode", "i8"),
            ("phase", "i8"),
            ("swing", "i8"),  # foot that swings, or will swing next
            ("steps", "i8"),
            ("phase_start", "f8"),
            ("touchdown", "f8", (2,)),  # time of each foot's last touchdown
            ("begun", "f8", (2,)),  # time at which each foot's stance began by the gait's clock: later than an early touchdown
            ("touchdown_pitch", "f8", (2,)),
            ("lift_off", "f8"),
            ("step_time", "f8"),
            ("step_end", "f8"),  # predicted touchdown
            ("release", "f8"),  # predicted lift-off
            ("transfer", "f8"),  # share of the load transfer done
            ("transfer_time", "f8"),
            ("step_start_com", "f8", (3,)),
            # ground
            ("ground", "f8", (2,)),  # height under each ankle [m]
            ("slope", "f8"),  # rise over forward distance
            ("unevenness", "f8"),  # heights at which feet lately met the ground unexpectedly [m]
            # targets
            ("share", "f8", (2,)),  # of the body's load, per foot
            ("push", "f8"),  # extra force of the leg that pushes off, of body weight
            ("cop", "f8", (2,)),  # ahead of the ankle of the flat foot [m]
            ("cop_side", "f8", (2,)),  # to the right [m]
            ("cop_shift", "f8"),  # of the stance foot's pressure, forward [m]
            ("cop_side_shift", "f8"),  # and to the right [m]
            ("foot_pitch", "f8", (2,)),
            ("foot_pitch_rate", "f8", (2,)),
            ("foot_yaw", "f8", (2,)),  # of a standing foot, as it landed
            ("swing_position", "f8", (3,)),
            ("swing_velocity", "f8", (3,)),
            ("swing_acceleration", "f8", (3,)),
            ("swing_pitch", "f8"),
            ("swing_pitch_rate", "f8"),
            ("swing_pitch_acceleration", "f8"),
            ("swing_yaw", "f8"),
            ("swing_lift", "f8"),
            ("swing_yaw_start", "f8"),
            ("swing_speed", "f8"),  # of the walk at lift-off [m/s]
            ("foothold", "f8", (3,)),
            ("foothold_yaw", "f8"),
            ("height", "f8"),
            ("height_base", "f8"),
            ("carried", "i8"),  # 1 where a stance model other than the kinematic one gives the body's rise and fall
            ("rise", "f8"),  # that, from its highest point [m]
            ("dip", "f8"),  # the body is lowered by this for a long step [m]
            ("dip_goal", "f8"),
            ("height_rate", "f8"),
            ("height_acceleration", "f8"),
            ("pelvis_yaw", "f8"),
            ("pelvis_yaw_rate", "f8"),
            ("thorax_yaw", "f8"),  # relative to the pelvis
            ("lean", "f8"),
            ("shoulder", "f8", (2,)),
            ("shoulder_rate", "f8", (2,)),
            ("elbow", "f8", (2,)),
        ],
    )
)


class GaitPlanner:
    """Footholds, swing path, pelvis and pose targets for one body.

    Args:
        anatomy: the body; parameters are scaled to it.
        parameters: of the reference body.
        stance: model of how the body is carried over its stance foot: ``kinematic``, a bounce that grows with the square of the step;
            ``virtual-leg`` or ``telescoping``, see :mod:`sandbox.controllers.stance`.

    Attributes:
        plan: (1,) record array of ``PLAN_DTYPE``: phase and targets, refilled by :meth:`update`.
    """

    def __init__(self, anatomy: Anatomy, parameters: Parameters, stance: StanceModel = "kinematic") -> None:
        check_model(stance)
        self.anatomy, self.stance = anatomy, stance
        self._carrying = None if stance == "kinematic" else Rise(stance)
        self.parameters = parameters.scaled(anatomy)
        self.body = body_record(anatomy)
        self.plan = np.zeros(1, PLAN_DTYPE)

    def reset(self, observation: NDArray[np.void], heading: float = 0.0) -> None:
        """Start over, standing in the observed pose."""
        self.plan[:] = np.zeros(1, PLAN_DTYPE)
        _reset(observation, self.plan, self.parameters, heading)

    def update(self, observation: NDArray[np.void], speed: float, heading_rate: float, dt: float) -> NDArray[np.void]:
        """Advance the plan by ``dt`` [s] towards the command (speed [m/s], heading rate [rad/s])."""
        _update(observation, self.plan, self.parameters, self.body, speed, heading_rate, dt)
        if self._carrying is not None:
            self._carry(self._carrying, float(observation[0].time))
        return self.plan

    def _carry(self, model: Rise, time: float) -> None:
        """Put the stance model's rise and fall in the place of the kinematic one."""
        s, k, b = self.plan[0], self.parameters[0], self.body[0]
        s.carried = int(s.mode == WALK)
        s.rise = 0.0
        if not s.carried:
            return
        phase = (time - s.touchdown[1 - s.swing]) / s.step_time
        speed = k.speed_feed_forward * s.speed if s.speed > LOWEST_SPEED else 0.0
        bounce, w = _bounce(k, b, speed, s.step_time), 2 * math.pi / s.step_time
        angle = 2 * math.pi * (phase - 0.5 * k.double_support)
        rise, rate, bend = (b.leg * x for x in model.at(s.speed / math.sqrt(GRAVITY * b.leg), min(phase, 1.1)))
        late = phase >= 1.1  # the step is late: wait at the height that was reached
        s.rise = rise
        s.height += rise + bounce * (1 + math.cos(angle))
        s.height_rate += (0.0 if late else rate / s.step_time) - bounce * w * math.sin(angle)
        s.height_acceleration = 0.0 if late else bend / s.step_time**2

    def swing_preview(self, observation: NDArray[np.void], samples: int) -> NDArray[np.float64]:
        """Path (samples, 3) [m] that the swing ankle is to take from now to the foothold, were the plan not changed any more.

        Nothing is remembered of it. Empty (0, 3) where no foot swings.
        """
        if self.plan[0].mode != WALK or self.plan[0].phase != SINGLE:
            return np.empty((0, 3))
        out = np.empty((samples, 3))
        _preview(observation.copy(), self.plan.copy(), self.parameters, self.body, out)
        return out


def body_record(anatomy: Anatomy) -> NDArray[np.void]:
    """Lengths [m] and mass [kg] that the planner needs, and the Froude scales of length and time to the reference body."""
    out = np.zeros(1, BODY_DTYPE)
    length = anatomy.leg_length / REFERENCE.leg_length
    out[0] = (
        anatomy.mass, anatomy.leg_length, anatomy.length("thigh"), anatomy.length("shank"), anatomy.ankle_height,
        anatomy.heel_behind_ankle, anatomy.ball_ahead_of_ankle, anatomy.toe_ahead_of_ankle, anatomy.hip_half_spacing,
        length, length**0.5,
    )  # fmt: skip
    return out


@kernel
def clamp(value, low, high):
    """``value`` limited to ``low``..``high``."""
    return min(max(value, low), high)


@kernel
def step_time_law(speed, factor, longest, length, time):
    """Step time [s] at a speed [m/s]: the KLAW law at the reference height, Froude-scaled, times ``factor``."""
    v = max(speed * time / length, LOWEST_SPEED)
    cadence = math.sqrt(60 * v / (KLAW_STEP * 1.74))
    return min(factor * time * 60 / cadence, longest)


@kernel
def quintic(p, v, a, goal, goal_velocity, goal_acceleration, duration, dt):
    """Position, velocity, acceleration after ``dt`` on the minimum-jerk path to ``goal`` in ``duration`` [s]."""
    T = duration
    b = goal_acceleration
    c3 = (20 * (goal - p) - (8 * goal_velocity + 12 * v) * T - (3 * a - b) * T * T) / (2 * T**3)
    c4 = (30 * (p - goal) + (14 * goal_velocity + 16 * v) * T + (3 * a - 2 * b) * T * T) / (2 * T**4)
    c5 = (12 * (goal - p) - 6 * (goal_velocity + v) * T - (a - b) * T * T) / (2 * T**5)
    x = p + dt * (v + dt * (0.5 * a + dt * (c3 + dt * (c4 + dt * c5))))
    xd = v + dt * (a + dt * (3 * c3 + dt * (4 * c4 + dt * 5 * c5)))
    xdd = a + dt * (6 * c3 + dt * (12 * c4 + dt * 20 * c5))
    return x, xd, xdd


@kernel
def ankle_above_sole(pitch, body):
    """Height of the ankle above the lowest point of a straight foot at ``pitch`` (toes up positive) [m]."""
    s, c = math.sin(pitch), math.cos(pitch)
    return max(body.heel * s, -body.ball * s, -body.toe * s) + body.ankle_height * c


@kernel
def _ground_under(o, s, i):
    """Height of the ground under an ankle whose sole touches it [m]: feet on a slope touch ahead of it or behind."""
    return o.sole_low[i] - s.slope * o.sole_low_ahead[i]


@kernel
def _reset(observation, plan, parameters, heading):
    o, s, k = observation[0], plan[0], parameters[0]
    s.mode = STAND
    s.swing = 1
    s.heading = heading
    s.pelvis_yaw = heading
    s.height = k.stand_height
    s.height_base = k.stand_height
    s.step_time = k.step_time_max
    for i in range(2):
        s.share[i] = 0.5
        s.cop[i] = k.stand_cop
        s.ground[i] = _ground_under(o, s, i)
        s.foot_yaw[i] = o.foot_yaw[i]
        s.touchdown[i] = o.time - 10.0
        s.begun[i] = o.time - 10.0
    for i in range(3):
        s.step_start_com[i] = o.com[i]


@kernel
def _cop_range(k, b, speed):
    """Centre of pressure ahead of the ankle at the start and the end of a step [m]."""
    middle = 0.5 * (k.cop_start + k.cop_end)
    half = 0.5 * (k.cop_end - k.cop_start) + k.cop_travel_speed * (speed - b.length / b.time)
    half = max(half, 0.0)
    return max(middle - half, -0.8 * b.heel), min(middle + half, b.toe - 0.1 * b.ball)


@kernel
def _bounce(k, b, speed, step_time):
    """Amplitude of the CoM's rise and fall [m]: a leg's arc falls with the square of the step."""
    step = speed * step_time / (0.65 * b.length)
    return k.com_bounce * min(step * step, 1.6)


@kernel
def _push_off(s, k, b, speed):
    """Extra force of the pushing leg along its line to the CoM, of body weight: it makes up for what touchdown costs."""
    return max(k.push_off * min(1.5, speed * b.time / b.length) + k.push_speed_gain * s.speed_integral, 0.0)


@kernel
def _stand(o, s, k, b, omega):
    """Load shares and pressure that bring the XCoM back over the feet. Returns how far it lies outside support [m]."""
    fy = math.cos(s.heading)
    fx = -math.sin(s.heading)
    xi_x = o.com[0] + o.com_velocity[0] / omega
    xi_y = o.com[1] + o.com_velocity[1] / omega
    dx, dy = o.ankle[1, 0] - o.ankle[0, 0], o.ankle[1, 1] - o.ankle[0, 1]
    length, width = dx * fx + dy * fy, dx * fy - dy * fx  # of the right foot from the left one, forward and to the right
    if abs(width) < NARROW_STANCE * b.length:
        width = NARROW_STANCE * b.length if width >= 0 else -NARROW_STANCE * b.length
    # from the middle between the feet: XCoM, and the pressure that brings it back
    xi_f = xi_x * fx + xi_y * fy - 0.5 * ((o.ankle[0, 0] + o.ankle[1, 0]) * fx + (o.ankle[0, 1] + o.ankle[1, 1]) * fy) - k.stand_cop
    xi_r = xi_x * fy - xi_y * fx - 0.5 * ((o.ankle[0, 0] + o.ankle[1, 0]) * fy - (o.ankle[0, 1] + o.ankle[1, 1]) * fx)
    # Pressure moves sideways by the shares alone; what they then leave forward, feet apart fore and aft, is up to the soles.
    xi_share = xi_r / width + 0.5
    xi_ahead = k.stand_cop + xi_f - (xi_share - 0.5) * length
    outside = max(xi_ahead - b.ball, -b.heel + 0.015 - xi_ahead, (xi_share - 1.0) * abs(width) - 0.02, -xi_share * abs(width) - 0.02)
    gain = 1 + k.stand_gain
    share = clamp(gain * xi_r / width + 0.5, 0.02, 0.98)
    ahead = k.stand_cop + gain * xi_f - (share - 0.5) * length
    s.share[0] = 1 - share
    s.share[1] = share
    for i in range(2):
        # beyond the ball the toes would have to hold, which are too weak: the heel would rise
        s.cop[i] = clamp(ahead, -b.heel + 0.012, b.ball + 0.01 * b.length)
        s.cop_side[i] = 0.0
        s.foot_pitch[i] = s.slope
        s.foot_pitch_rate[i] = 0.0
    return outside


@kernel
def _begin_transfer(o, s, swing, duration, done):
    """Double support in which the load leaves foot ``swing``; ``done`` of it has moved already."""
    s.mode = WALK
    s.phase = DOUBLE
    s.swing = swing
    s.phase_start = o.time
    s.transfer = done
    s.transfer_time = duration
    s.release = o.time + (1 - done) * duration


@kernel
def _too_early(o, s, k, b, omega, speed):
    """Whether the body has to move on before the leading foot can carry it through a step.

    A step that ends early, on raised ground, finds the XCoM still near the rear foot: a body that was set on the leading foot
    at once would fall back from it, so the rear foot carries on, but not beyond the forward XCoM of a periodic gait.
    """
    lead = 1 - s.swing
    if o.time > s.touchdown[lead] + k.hold_time * max(s.step_end - s.touchdown[lead], 0.0):
        return False
    fx, fy = -math.sin(s.heading), math.cos(s.heading)
    side = 2.0 * lead - 1.0
    x = o.com[0] + o.com_velocity[0] / omega - o.ankle[lead, 0]
    y = o.com[1] + o.com_velocity[1] / omega - o.ankle[lead, 1]
    lateral = side * (x * fy - y * fx) + k.step_width / (1 + math.exp(omega * s.step_time))
    start, end = _cop_range(k, b, speed)
    travel = (end - start) / s.step_time
    reach = 0.5 * (speed - travel) * s.step_time
    forward = x * fx + y * fy - start + reach - travel / omega - reach / math.tanh(0.5 * omega * s.step_time)
    return lateral < -k.hold_margin and forward < 0


@kernel
def _begin_swing(o, s, b):
    i = s.swing
    s.phase = SINGLE
    s.cop_shift = 0.0
    s.cop_side_shift = 0.0
    s.phase_start = o.time
    s.lift_off = o.time
    planned = s.begun[1 - i] + s.step_time
    s.step_end = max(planned, o.time + 0.55 * s.step_time)
    for j in range(3):
        s.swing_position[j] = o.ankle[i, j]
        s.swing_velocity[j] = o.ankle_velocity[i, j]
        s.swing_acceleration[j] = 0.0
        s.foothold[j] = o.ankle[i, j]
    s.swing_pitch = o.foot_pitch[i]
    s.swing_pitch_rate = clamp(o.foot_pitch_rate[i], -4.0 / b.time, 4.0 / b.time)
    s.swing_pitch_acceleration = 0.0
    # the heading counts turns, the foot's yaw does not
    turns = math.floor((s.heading - o.foot_yaw[i]) / (2 * math.pi) + 0.5)
    s.swing_yaw_start = o.foot_yaw[i] + 2 * math.pi * turns
    s.swing_yaw = s.swing_yaw_start
    ahead = (o.ankle[1 - i, 1] - o.ankle[i, 1]) * math.cos(s.heading) - (o.ankle[1 - i, 0] - o.ankle[i, 0]) * math.sin(s.heading)
    s.swing_lift = o.ankle[i, 2] - (s.ground[1 - i] - s.slope * ahead + ankle_above_sole(o.foot_pitch[i] - s.slope, b))


@kernel
def _retime(o, s, k, b, omega, speed):
    """Move the end of the step towards the moment at which the forward XCoM will be where a periodic gait has it.

    Khadiv et al. (2016, Humanoids) adapt step timing together with the foothold; here the pendulum's own exponential gives
    the time in closed form.
    """
    stance = 1 - s.swing
    fx, fy = -math.sin(s.heading), math.cos(s.heading)
    start, end = _cop_range(k, b, speed)
    travel = (end - start) / s.step_time
    lever = k.momentum_share / (b.mass * k.com_height)
    pivot = (o.ankle[stance, 0] - o.com[0]) * fx + (o.ankle[stance, 1] - o.com[1]) * fy + s.cop[stance]
    v = o.com_velocity[0] * fx + o.com_velocity[1] * fy - lever * (o.angular_momentum[0] * fy - o.angular_momentum[1] * fx)
    reach = 0.5 * (speed - travel) * s.step_time
    nominal = reach + reach / math.tanh(0.5 * omega * s.step_time)  # of d + d' / omega, in the frame of the moving pivot
    present = -pivot + (v - travel) / omega
    planned = max(s.begun[stance] + s.step_time, s.lift_off + 0.55 * s.step_time)
    change = k.timing_range * s.step_time
    if nominal > 0.03 * b.leg:
        left = change + planned - o.time
        if present > 1e-3:
            left = math.log(nominal / present) / omega - 0.5 * k.double_support * s.step_time
        change = clamp(k.timing_gain * (o.time + left - planned), -change, change)
    else:
        change = 0.0
    # A body that falls to a side does so exponentially, too: the foot has to be down while it still reaches far enough.
    side = 2.0 * s.swing - 1.0
    rx, ry = fy, -fx
    v_r = o.com_velocity[0] * rx + o.com_velocity[1] * ry + lever * (o.angular_momentum[0] * fx + o.angular_momentum[1] * fy)
    off = side * ((o.com[0] - o.ankle[stance, 0]) * rx + (o.com[1] - o.ankle[stance, 1]) * ry - s.cop_side[stance] + v_r / omega)
    room = k.lateral_reach if off > 0 else k.lateral_reach_out
    latest = o.time + math.log(max(room / max(abs(off), 1e-3 * b.length), 1.0)) / omega
    s.step_end = max(min(planned + change, latest), o.time + 0.2 * s.step_time, s.lift_off + 0.4 * s.step_time)


@kernel
def _place_foot(o, s, k, b, omega, speed):
    """Foothold of the swing foot from the predicted motion of the CoM (the law of the module's docstring)."""
    i = s.swing
    stance = 1 - i
    side = 2.0 * i - 1.0  # +1 right
    fx, fy = -math.sin(s.heading), math.cos(s.heading)
    rx, ry = fy, -fx
    remaining = max(s.step_end - o.time, 0.0) + 0.5 * k.double_support * s.step_time
    start, end = _cop_range(k, b, speed)
    travel = (end - start) / s.step_time
    # the planned pivot, as it would be without the shift of the pressure that this function adds
    ax = o.ankle[stance, 0] - o.com[0]
    ay = o.ankle[stance, 1] - o.com[1]
    stance_r = ax * rx + ay * ry
    pivot_f = ax * fx + ay * fy + s.cop[stance] - s.cop_shift
    pivot_r = stance_r + s.cop_side[stance] - s.cop_side_shift
    # Angular momentum, most of it the swing leg's, is lent by the ground as horizontal force and given back at touchdown:
    # v - L / (M h) is what moves like a pendulum's speed.
    lever = k.momentum_share / (b.mass * k.com_height)
    v_f = o.com_velocity[0] * fx + o.com_velocity[1] * fy - lever * (o.angular_momentum[0] * rx + o.angular_momentum[1] * ry)
    v_r = o.com_velocity[0] * rx + o.com_velocity[1] * ry + lever * (o.angular_momentum[0] * fx + o.angular_momentum[1] * fy)
    ch, sh = math.cosh(omega * remaining), math.sinh(omega * remaining)
    d_rate = v_f - travel
    x_td = pivot_f + travel * remaining - pivot_f * ch + d_rate / omega * sh
    v_td = travel - omega * pivot_f * sh + d_rate * ch
    y_td = pivot_r - pivot_r * ch + v_r / omega * sh
    w_td = -omega * pivot_r * sh + v_r * ch
    # what a periodic gait would have at touchdown
    reach = 0.5 * (speed - travel) * s.step_time
    nominal = travel + omega * reach / math.tanh(0.5 * omega * s.step_time)
    growth = math.exp(omega * s.step_time)
    turn = k.turn_gain * speed * s.heading_rate / (omega * omega)
    wanted = stance_r + side * k.step_width * growth / (1 + growth)
    # shift the pressure, as far as the foot reaches, so that the XCoM gets there
    gain = max(math.exp(omega * remaining) - 1, 0.5)
    too_far = x_td - (pivot_f + travel * remaining) - reach + (v_td - nominal) / omega
    s.cop_shift = clamp(k.cop_speed_gain * too_far / gain, -k.cop_shift_max, k.cop_shift_max)
    s.cop_side_shift = clamp(k.cop_lateral_gain * (y_td + w_td / omega - wanted) / gain, -k.cop_side_max, k.cop_side_max)
    x_td += s.cop_shift * (1 - ch)
    v_td -= omega * s.cop_shift * sh
    y_td += s.cop_side_shift * (1 - ch)
    w_td -= omega * s.cop_side_shift * sh
    # and step where the rest is mended
    forward = x_td + reach + k.foothold_speed_gain * (v_td - nominal) / omega + k.foothold_offset - start
    forward += k.foothold_offset_speed * speed - k.foothold_integral * s.speed_integral
    lateral = stance_r + side * k.step_width + k.lateral_gain * (y_td + w_td / omega - wanted) + turn
    # no foothold out of reach of the hip, and the line of the stance foot is crossed only well ahead of it
    forward = clamp(forward, -0.45 * b.leg, 0.62 * b.leg)
    passed = clamp(((forward - ax * fx - ay * fy) / b.leg - 0.2) / 0.15, 0.0, 1.0)
    narrowest = (1 - passed) * NARROWEST * b.hip_half - passed * k.cross
    lateral = stance_r + side * clamp(side * (lateral - stance_r), narrowest, WIDEST * b.leg)
    s.foothold[0] = o.com[0] + forward * fx + lateral * rx
    s.foothold[1] = o.com[1] + forward * fy + lateral * ry
    ahead = (s.foothold[0] - o.ankle[stance, 0]) * fx + (s.foothold[1] - o.ankle[stance, 1]) * fy
    s.foothold[2] = s.ground[stance] + s.slope * ahead
    # A foothold beyond the leg's reach is first met by a lower body, and what is then still out of reach is brought in towards
    # the hip.
    hip_f = x_td - 0.5 * k.double_support * s.step_time * v_td  # x_td lies half a double support after touchdown
    travelled = hip_f - (ax * fx + ay * fy)
    at_landing = s.height_base - 2 * _bounce(k, b, speed, s.step_time) + s.ground[stance] + s.slope * travelled
    drop = o.hip[i, 2] + at_landing - o.com[2] - (s.foothold[2] + ankle_above_sole(k.landing_pitch, b))
    longest = k.reach * (b.thigh + b.shank)
    hip_r = y_td - 0.5 * k.double_support * s.step_time * w_td + side * b.hip_half
    reach_f, reach_r = forward - hip_f, lateral - hip_r
    asked = math.sqrt(reach_f * reach_f + reach_r * reach_r)
    lower = drop - math.sqrt(max(longest * longest - asked * asked, 0.25 * longest * longest))
    s.dip_goal = clamp(lower - DIP_SLACK * b.length, 0.0, k.dip_max)
    drop -= s.dip_goal
    excess = 1.0 - math.sqrt(max(longest * longest - drop * drop, 0.01)) / max(asked, 1e-6)
    if excess > 0:
        s.foothold[0] -= excess * (reach_f * fx + reach_r * rx)
        s.foothold[1] -= excess * (reach_f * fy + reach_r * ry)
    s.foothold_yaw = s.heading + s.heading_rate * 0.5 * s.step_time - side * k.toe_out


@kernel
def _swing_path(o, s, k, b, speed, dt):
    """Advance the swing target by one tick on its way to the foothold."""
    i = s.swing
    left = s.step_end - o.time
    fx, fy = -math.sin(s.heading), math.cos(s.heading)
    end_v = k.swing_end_speed * min(1.5, speed * b.time / b.length)
    if left > 2.5 * dt:
        for j in range(2):
            goal_v = end_v * (fx if j == 0 else fy)
            goal_a = -goal_v / (FOOT_STOP * b.time)
            x, v, a = quintic(s.swing_position[j], s.swing_velocity[j], s.swing_acceleration[j], s.foothold[j], goal_v, goal_a, left, dt)
            s.swing_position[j] = x
            s.swing_velocity[j] = v
            s.swing_acceleration[j] = a
        # heel up first, then toes up; the foot is ready a little before the ground
        whole = s.step_end - s.lift_off
        until = s.lift_off + k.swing_heel_time * whole - o.time
        if until > 2.5 * dt:
            # a goal that jumped just before it is due, as a speed does that is no walk any more, would fling the foot about
            goal = -k.swing_heel * min(1.2, s.swing_speed * b.time / b.length) + s.slope
            goal_rate = 0.5 * (k.landing_pitch - goal) / (0.9 * whole - k.swing_heel_time * whole)
        else:
            goal = k.landing_pitch + s.slope
            goal_rate = 0.0
            until = max(left - 0.1 * whole, 2.5 * dt)
        x, v, a = quintic(s.swing_pitch, s.swing_pitch_rate, s.swing_pitch_acceleration, goal, goal_rate, 0.0, until, dt)
        s.swing_pitch = x
        s.swing_pitch_rate = v
        s.swing_pitch_acceleration = a
    else:
        # Late: the ground is lower than expected, and the foothold moves on with the body.
        most = k.late_follow * dt
        dx, dy = s.foothold[0] - s.swing_position[0], s.foothold[1] - s.swing_position[1]
        share = min(1.0, most / max(math.sqrt(dx * dx + dy * dy), 1e-6)) if left < 0 else 0.0
        s.swing_velocity[0] = share * dx / dt
        s.swing_velocity[1] = share * dy / dt
        for j in range(2):
            s.swing_position[j] += s.swing_velocity[j] * dt
            s.swing_acceleration[j] = 0.0
        s.swing_pitch_rate = 0.0
        s.swing_pitch_acceleration = 0.0
    phase = (o.time - s.lift_off) / (s.step_end - s.lift_off)
    clearance = k.clearance + k.uneven_clearance * s.unevenness
    if phase < k.clearance_peak:
        lift = clearance * math.sin(0.5 * math.pi * phase / k.clearance_peak) ** 2
    elif phase < 1.0:
        lift = clearance * math.cos(0.5 * math.pi * (phase - k.clearance_peak) / (1 - k.clearance_peak)) ** 2
    else:
        lift = -min(k.landing_speed * (o.time - s.step_end), SINK_LIMIT * b.length)
    fade = max(0.0, 1 - phase / 0.5)
    mix = clamp(phase, 0.0, 1.0)
    stance = 1 - i
    ahead = (s.swing_position[0] - o.ankle[stance, 0]) * fx + (s.swing_position[1] - o.ankle[stance, 1]) * fy
    ground = s.ground[stance] + s.slope * ahead
    z = ground + lift + ankle_above_sole(s.swing_pitch - s.slope, b) + s.swing_lift * fade * fade
    s.swing_velocity[2] = (z - s.swing_position[2]) / dt
    s.swing_position[2] = z
    turn = math.sin(0.5 * math.pi * mix) ** 2
    s.swing_yaw = s.swing_yaw_start + turn * (s.foothold_yaw - s.swing_yaw_start)


@kernel
def _preview(observation, plan, parameters, body, out):
    """The swing path until the step's end, written to ``out`` (n, 3)."""
    o, s, k, b = observation[0], plan[0], parameters[0], body[0]
    speed = k.speed_feed_forward * s.speed if s.speed > LOWEST_SPEED else 0.0
    fine = 8  # a path stops two and a half steps before its end
    dt = max(s.step_end - o.time, 1e-3) / (fine * out.shape[0])
    for row in range(out.shape[0]):
        for _ in range(fine):
            _swing_path(o, s, k, b, speed, dt)
            o.time += dt
        for j in range(3):
            out[row, j] = s.swing_position[j]


@kernel
def _stance_foot(o, s, k, b, i, speed, transfer_time):
    """Pressure and pitch of a foot that carries load."""
    start, end = _cop_range(k, b, speed)
    clock = o.time - s.begun[i]
    s.cop[i] = start + (end - start) * clamp(clock / s.step_time, 0.0, 1.0)
    side = 2.0 * i - 1.0
    s.cop_side[i] = -side * k.cop_medial
    since = o.time - s.touchdown[i]
    lowered = clamp(1 - since / k.foot_lower_time, 0.0, 1.0)
    pitch = s.touchdown_pitch[i] * lowered * lowered
    rate = -2 * s.touchdown_pitch[i] * lowered / k.foot_lower_time
    rise = k.heel_rise_start * s.step_time
    span = max(s.step_time + transfer_time - rise, 0.05)
    u = clamp((clock - rise) / span, 0.0, 1.2)
    scale = min(1.0, speed * b.time / b.length)
    if u > 0:
        pitch -= k.heel_rise * scale * u * u
        rate -= 2 * k.heel_rise * scale * u / span
    s.foot_pitch[i] = pitch + s.slope
    s.foot_pitch_rate[i] = rate


@kernel
def _update(observation, plan, parameters, body, speed_command, heading_rate, dt):
    o, s, k, b = observation[0], plan[0], parameters[0], body[0]
    omega = math.sqrt(GRAVITY / k.com_height)
    t = o.time
    pace = b.length / b.time  # scales speeds to the body
    walking = s.mode != STAND
    s.speed += clamp(speed_command - s.speed, -k.speed_slew * dt, k.speed_slew * dt) if walking else -s.speed
    steady = walking and abs(speed_command - s.speed) <= LOWEST_SPEED and s.speed > LOWEST_SPEED
    if not steady:  # what was learned at one speed is wrong at another
        s.speed_integral -= s.speed_integral * dt / (INTEGRAL_FADE * b.time)
    turn = HEADING_SLEW * dt / (b.time * b.time)
    s.heading_rate += clamp((heading_rate if walking else 0.0) - s.heading_rate, -turn, turn)
    s.heading += s.heading_rate * dt
    fx, fy = -math.sin(s.heading), math.cos(s.heading)
    speed = k.speed_feed_forward * s.speed if s.speed > LOWEST_SPEED else 0.0

    if s.mode == STAND or s.mode == START:
        flat = 0.5 * (o.foot_pitch[0] + o.foot_pitch[1])
        still = max(abs(o.foot_pitch_rate[0]), abs(o.foot_pitch_rate[1])) < STILL_FOOT / b.time
        if still and o.load[0] + o.load[1] > 0.8 * b.mass * GRAVITY:  # not while the body tips over its toes
            s.slope += clamp(flat - s.slope, -SLOPE_RATE * dt / b.time, SLOPE_RATE * dt / b.time)
            for i in range(2):
                s.ground[i] += clamp(_ground_under(o, s, i) - s.ground[i], -GROUND_RATE[0] * pace * dt, GROUND_RATE[0] * pace * dt)
    if s.mode == STAND:
        outside = _stand(o, s, k, b, omega)
        if speed_command > LOWEST_SPEED:
            s.mode = START
            s.phase_start = t
            s.speed_integral = 0.0
            back0 = o.ankle[0, 0] * fx + o.ankle[0, 1] * fy
            back1 = o.ankle[1, 0] * fx + o.ankle[1, 1] * fy
            s.swing = 0 if back0 < back1 - 0.02 else 1
            s.step_time = k.start_step_time
        elif outside > k.stand_step_margin:
            swing = 0 if s.share[1] > 0.5 else 1
            s.step_time = k.recovery_step_time
            s.speed_integral = 0.0
            s.touchdown[1 - swing] = t
            s.begun[1 - swing] = t
            s.touchdown_pitch[1 - swing] = 0.0
            _begin_transfer(o, s, swing, 0.10 * b.time, s.share[1 - swing])
    elif s.mode == START:
        done = clamp((t - s.phase_start) / (0.4 * k.start_time), 0.0, 1.0)
        i = s.swing
        s.share[i] = 0.5 + (k.start_share - 0.5) * done
        s.share[1 - i] = 1 - s.share[i]
        for j in range(2):
            s.cop[j] = k.stand_cop + (k.start_cop - k.stand_cop) * done
            s.foot_pitch[j] = s.slope
            s.foot_pitch_rate[j] = 0.0
        xi = (o.com[0] + o.com_velocity[0] / omega - 0.5 * (o.ankle[0, 0] + o.ankle[1, 0])) * fy - (
            o.com[1] + o.com_velocity[1] / omega - 0.5 * (o.ankle[0, 1] + o.ankle[1, 1])
        ) * fx
        half = 0.5 * abs((o.ankle[1, 0] - o.ankle[0, 0]) * fy - (o.ankle[1, 1] - o.ankle[0, 1]) * fx)
        shifted = xi * (1.0 - 2.0 * i) / max(half, 0.02)  # towards the first stance foot
        if shifted >= k.start_shift or t - s.phase_start >= k.start_time:
            s.touchdown[1 - i] = t
            s.begun[1 - i] = t
            s.touchdown_pitch[1 - i] = 0.0
            _begin_transfer(o, s, i, k.start_transfer, s.share[1 - i])
            for j in range(3):
                s.step_start_com[j] = o.com[j]

    if s.mode == WALK:
        i = s.swing
        lead = 1 - i
        total = max(o.load[0] + o.load[1], 0.2 * b.mass * GRAVITY)
        if s.phase == DOUBLE:
            carried = o.load[lead] / total
            rate = 1.0 / s.transfer_time
            if s.transfer > k.transfer_gate and carried < 0.6 * k.transfer_gate:
                rate *= 0.1
            if s.transfer < k.hold_share and _too_early(o, s, k, b, omega, speed):
                rate = 0.0
                s.begun[lead] = t
            s.transfer = min(1.0, s.transfer + rate * dt)
            s.share[lead] = s.transfer
            s.share[i] = 1 - s.transfer
            _stance_foot(o, s, k, b, lead, speed, s.transfer_time)
            _stance_foot(o, s, k, b, i, speed, s.transfer_time)
            s.push = _push_off(s, k, b, speed) * (1 - s.transfer)
            ended = o.load[i] < k.release_share * total and s.transfer > 0.6
            late = t - s.phase_start > k.double_support_timeout * s.transfer_time
            if ended or (late and s.transfer >= 1.0):
                s.share[lead] = 1.0
                s.share[i] = 0.0
                _begin_swing(o, s, b)
                s.swing_speed = speed
        else:
            s.share[lead] = 1.0
            s.share[i] = 0.0
            _stance_foot(o, s, k, b, lead, speed, s.transfer_time)
            s.cop[lead] = clamp(s.cop[lead] + s.cop_shift, -b.heel + 0.01, b.toe - 0.02)
            s.cop_side[lead] += s.cop_side_shift
            if o.load[lead] > 0.3 * b.mass * GRAVITY and o.foot_pitch[lead] < 0.1 + s.slope and o.foot_pitch[lead] > s.slope - 0.1:
                s.ground[lead] += clamp(_ground_under(o, s, lead) - s.ground[lead], -GROUND_RATE[1] * pace * dt, GROUND_RATE[1] * pace * dt)
                if 0.15 < (t - s.begun[lead]) / s.step_time < 0.6:  # the foot lies flat, heel not yet rising
                    s.slope += clamp(o.foot_pitch[lead] - s.slope, -0.2 * SLOPE_RATE * dt / b.time, 0.2 * SLOPE_RATE * dt / b.time)
            swung = (t - s.lift_off) / (s.step_end - s.lift_off)
            late = clamp(((t - s.begun[lead]) / s.step_time - k.push_start) / max(1 - k.push_start, 0.02), 0.0, 1.0)
            s.push = _push_off(s, k, b, speed) * late * late
            if swung < FREEZE or swung > 1.0:
                if swung < RETIME:
                    _retime(o, s, k, b, omega, speed)
                _place_foot(o, s, k, b, omega, speed)
            _swing_path(o, s, k, b, speed, dt)
            if o.contact[i] == 1 and swung > EARLIEST_TOUCHDOWN:
                s.touchdown[i] = t
                s.begun[i] = t
                s.foot_yaw[i] = o.foot_yaw[i]
                s.touchdown_pitch[i] = clamp(o.foot_pitch[i], -0.1, 0.5)
                ahead = (o.ankle[i, 0] - o.ankle[lead, 0]) * fx + (o.ankle[i, 1] - o.ankle[lead, 1]) * fy
                s.ground[i] = _ground_under(o, s, i)
                surprise = abs(s.ground[i] - s.ground[lead] - s.slope * ahead)
                s.unevenness = max(UNEVEN_FADE * s.unevenness, min(surprise, UNEVEN_LIMIT * b.length))
                if abs(ahead) > 0.15 * b.leg:
                    rise = (s.ground[i] - s.ground[lead]) / ahead
                    s.slope += k.slope_gain * (clamp(rise, -0.2, 0.2) - s.slope)
                taken = t - max(s.touchdown[lead], s.phase_start - s.step_time)
                advanced = (o.com[0] - s.step_start_com[0]) * fx + (o.com[1] - s.step_start_com[1]) * fy
                if s.steps > 0:
                    s.speed_mean = advanced / max(taken, 0.1)
                if s.steps > 0 and steady:
                    behind = s.speed_integral + k.speed_integral * (s.speed - s.speed_mean) * taken
                    s.speed_integral = clamp(behind, -INTEGRAL_LIMIT * b.length, INTEGRAL_LIMIT * b.length)
                for j in range(3):
                    s.step_start_com[j] = o.com[j]
                s.steps += 1
                s.step_time = step_time_law(s.speed, k.step_time_factor, k.step_time_max, b.length, b.time)
                if s.speed <= LOWEST_SPEED:
                    s.step_time = k.recovery_step_time
                stopping = speed_command <= LOWEST_SPEED and s.speed <= LOWEST_SPEED and abs(ahead) < STOP_SPREAD * b.length
                wide = (o.ankle[1, 0] - o.ankle[0, 0]) * fy - (o.ankle[1, 1] - o.ankle[0, 1]) * fx > STOP_WIDTH * b.hip_half
                if stopping and wide and _stand(o, s, k, b, omega) < 0:
                    s.mode = STAND
                    s.swing = lead
                else:
                    _begin_transfer(o, s, lead, k.double_support * s.step_time, 0.0)

    # height of the CoM, pelvis, arms
    if s.mode == WALK:
        psi = (t - s.begun[1 - s.swing]) / s.step_time
        base = k.com_height - k.uneven_dip * s.unevenness
        bounce = _bounce(k, b, speed, s.step_time)
        w = 2 * math.pi / s.step_time
        angle = 2 * math.pi * (psi - 0.5 * k.double_support + k.bounce_lead)
        up = -bounce * (1 + math.cos(angle))  # highest at mid-stance
        s.height_rate = bounce * w * math.sin(angle)
        s.height_acceleration = bounce * w * w * math.cos(angle) if psi < 1.1 else 0.0
        lead_side = 1.0 - 2.0 * s.swing  # +1 where the right foot leads
        swing_through = clamp(psi, 0.0, 1.0)
        amplitude = k.pelvis_rotation * min(1.5, speed * b.time / b.length)
        s.pelvis_yaw = s.heading + lead_side * amplitude * math.cos(math.pi * swing_through)
        s.pelvis_yaw_rate = s.heading_rate - lead_side * amplitude * math.pi / s.step_time * math.sin(math.pi * swing_through)
        s.thorax_yaw = (
            -lead_side * (amplitude + k.thorax_rotation * min(1.5, speed * b.time / b.length)) * math.cos(math.pi * swing_through)
        )
        s.lean = k.trunk_lean * min(1.5, speed * b.time / b.length)
    else:
        base = k.stand_height
        up = 0.0
        s.height_rate = 0.0
        s.height_acceleration = 0.0
        s.pelvis_yaw = s.heading
        s.pelvis_yaw_rate = 0.0
        s.thorax_yaw = 0.0
        s.lean = 0.0
    s.height_base += clamp(base - s.height_base, -HEIGHT_RATE * pace * dt, HEIGHT_RATE * pace * dt)
    ground = 0.0  # under the CoM
    for i in range(2):
        ahead = (o.com[0] - o.ankle[i, 0]) * fx + (o.com[1] - o.ankle[i, 1]) * fy
        ground += s.share[i] * (s.ground[i] + s.slope * ahead)
    if s.mode != WALK:
        s.dip_goal = 0.0
    dip_rate = clamp((s.dip_goal - s.dip) / dt, -DIP_RATE[1] * pace, DIP_RATE[0] * pace)
    s.dip += dip_rate * dt
    s.height = ground + s.height_base + up - s.dip
    s.height_rate -= dip_rate
    s.height_rate += s.slope * (o.com_velocity[0] * fx + o.com_velocity[1] * fy)
    for i in range(2):
        other = 1 - i
        leg = ((o.ankle[other, 0] - o.hip[other, 0]) * fx + (o.ankle[other, 1] - o.hip[other, 1]) * fy) / b.leg
        amount = k.arm_swing * min(1.0, 0.3 + speed * b.time / b.length) if s.mode == WALK else 0.0
        swing_arm = amount * leg
        rate = (
            (o.ankle_velocity[other, 0] - o.hip_velocity[other, 0]) * fx + (o.ankle_velocity[other, 1] - o.hip_velocity[other, 1]) * fy
        ) / b.leg
        s.shoulder_rate[i] = clamp(amount * rate, -5.0 / b.time, 5.0 / b.time)
        s.shoulder[i] = swing_arm - 0.05
        s.elbow[i] = 0.3 + 0.5 * max(swing_arm, 0.0)
