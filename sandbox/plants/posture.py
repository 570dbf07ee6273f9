"""Where the kinematic plant has its body: one persistent state, advanced tick by tick, from the plan to joint angles.

Rocker of a stance foot. The pitch phi (toes up positive, 0 flat) and the pivot P, a point of the sole that is fixed in the
world, give the ankle ``A = P - R(phi) p``, with p the pivot in the foot's frame::

    HEEL      P = heel      phi falls from its value at touchdown to 0
    FLAT      P = ball      phi = 0
    FOREFOOT  P = ball      phi < 0, the heel rises; the toes stay on the ground (MTP extension)
    TOE       P = toe tip   the toes tilt as well, until the foot leaves

What people do is taken from 24 young adults at 1.24 m/s (Fukuchi et al. 2018), see :func:`sandbox.measure.young_adults`.
"""

from __future__ import annotations

import math

import numpy as np

from sandbox.bodies.kinematics import MTP, centre_of_mass, forward, quaternion_to_matrix, solve_leg
from sandbox.compiled import kernel
from sandbox.controllers.planner import DOUBLE, SINGLE, STAND, WALK, ankle_above_sole, clamp
from sandbox.conventions import GRAVITY
from sandbox.plants.base import STANDING_KNEE
from sandbox.plants.rocker import ground_pitch, minimum_jerk, pitch_within_reach, smooth_min, smooth_step, sole_frame, toe_pitch
from sandbox.state import ContactState

AIRBORNE, HEEL, FLAT, FOREFOOT, TOE = (int(c) for c in ContactState)

# -- transport
# Speeds at which load shares [1/s] and pressure under a foot [m/s] follow the plan, above those of any planned motion: where
# the plan jumps (standing, a stop), they make the CoM's acceleration continuous without a lag elsewhere.
SHARE_SLEW, PRESSURE_SLEW = 25.0, 1.5
SPEED_RATE = 6.0  # [1/s] with which the forward speed follows the command
GUIDE_RATE = 10.0  # [1/s] with which the guidance of the XCoM comes and goes
PLACINGS = 5  # of the root per tick, after which the CoM is within 4e-6 m of where it is to be
# Share of a tick's change of the CoM in the body that enters its expected change: a stretched rear leg follows the hip's
# expected place steeply, and an expectation that took the last change as it is would swing from tick to tick.
OFFSET_SHARE = 0.15
PHASE_RATE = 8.0  # [1/s] with which the persistent gait phase follows the planner's

# -- pelvis
TOUCHDOWN_KNEE, MIDSTANCE_KNEE = 0.09, 0.18  # [rad] of the supporting leg; people: 0 to 5 degrees, and 15 falling to 4
SLOW_KNEE = 0.12  # [rad] more in mid-stance at the lowest speed, where the pelvis hardly rises and the sole is flat sooner
TOUCHDOWN_AHEAD = 0.42  # of step length: the landing ankle ahead of mid-hip; people 0.41
FAST_AHEAD = 0.06  # [s/m] of step length more per speed above 1 m/s
LEAST_KNEE = 0.04  # [rad] where the legs' reach ends, short of the singular straight leg
HEIGHT_SOFTNESS = 0.004  # [m] within which the reach bends the height instead of cutting it
BOUNCE_LEAD = 0.1  # of a step: people's mid-hip is lowest so long before the middle of double support
BOUNCE_SECOND = 0.17  # of the bounce: second harmonic, which flattens the top of people's path
LEAST_BOUNCE = 0.002  # [m] amplitude
OBLIQUITY = 0.05  # [rad] amplitude at 1 m/s; people list about 0.09 to the swing side (Saunders, Inman & Eberhart 1953)
OBLIQUITY_LEAD = 0.1  # of a step: the list peaks before mid-stance
PELVIS_TILT = 0.09  # [rad] front down (assumed): keeps the hip inside its envelope; the lumbar spine makes up for it
LUMBAR_SHARE = 0.52  # of lumbar flexion by which the line from mid-hip to the upper body's CoM leans (computed)
SHOULDER_RANGE = 0.35  # [rad] to which flexion and extension of the shoulder saturate; people's arms swing about 20 degrees
ARM_ADDUCTION = -0.10  # [rad] as in the physical plant
POSE_RATE = 6.0  # [1/s] of slow changes: standing or walking, height, bounce, tilt
YAW_RATE, ARM_RATE = 40.0, 25.0  # [1/s] of pelvis and trunk, and of arms and head

# -- rocker, times as shares of the step time. People's sole is at 22 degrees at touchdown and flat at 12 % of the cycle; the heel
# rises from 30 % on, about as the cube of time, to 53 degrees at lift-off.
LANDING_PITCH, LEAST_LANDING_PITCH = 0.36, 0.1  # [rad]
LANDING_SPEED = 0.5  # of the landing pitch remains at the lowest speed, all of it from 1 m/s on
LOWER = 0.22  # in which the sole is lowered to flat
REACHING = 0.25  # in which, thereafter, the reach of the leg comes to lift the heel
RISE = 0.55  # after which the heel rises
RISE_PITCH, RISE_POWER = 0.85, 3.0  # [rad] at lift-off
RISE_SPEED = 0.6  # of the rise remains at the lowest speed, all of it from 1 m/s on
RISE_LAG, RISE_FASTEST = 0.03, 6.0  # [s], [1/s] of the progress of the rise
STEEPEST_PITCH = -1.3  # [rad]
RISE_KNEE = 0.15  # [rad] least knee flexion of the rear leg: the heel rises rather than the knee being pulled straight
PITCH_SOFTNESS = 0.05  # [rad] within which reach, steepest pitch and the toes' contact bend an angle instead of cutting it
HEEL_OFF = math.radians(0.5)  # below it the foot counts as flat
BALL_AT_ONCE = 0.15  # share of the way to the ball that the pressure goes as soon as the heel is up
BALL_LOADED = 0.15  # [rad] of heel rise, after which the pressure is at the ball or ahead of it
TOE_START, TOE_TILT = 0.4, 0.3  # of the load transfer; [rad] of the toes at lift-off

# -- swing, times as shares of its duration
GAP_RATE = 20.0  # [1/s] with which the foot leaves the motion that it had at lift-off for the planner's path
GAP_END = 0.5  # after which what is left of it is taken out of the foot's height, so that the sole lands from above
TURN_BACK = 8.0  # [1/s] with which the rotation of the foot at lift-off is braked
RECOVERY = 0.5  # after which the toes are straight
READY = 0.1  # before whose end the foot has its pitch of landing
CORNER, CORNER_FADE = 0.1, 0.15  # sine of pitch over which a corner of the ankle's path is rounded; before landing it is not
STRETCH_KNEE, STRETCH_SOFTNESS = 0.10, 0.07  # [rad] at the end of the leg's reach, [m] within which it bends the foot's path
BRAKING = 0.06  # at whose end the foot comes to rest over the ground

UPPER = 13  # joints of trunk, head and arms, which come first

MEMORY_DTYPE = np.dtype(
    (
        np.record,
        [
            # transport, horizontal
            ("com", "f8", (2,)),
            ("com_velocity", "f8", (2,)),
            ("speed", "f8", (2,)),  # commanded, value and rate
            ("share", "f8", (2,)),
            ("offset", "f8", (2,)),  # of the CoM from mid-hip in the present pose, and a tick ago
            ("offset_before", "f8", (2,)),
            ("offset_rate", "f8", (2,)),  # its smoothed change per tick
            # gait phase in steps, unwrapped: [2 n, 2 n + 1) where the right foot leads
            ("phase", "f8"),
            ("phase_rate", "f8"),
            ("step", "f8"),
            # value and rate
            ("guided", "f8", (2,)),  # 1 where the XCoM is drawn to its periodic path
            ("walking", "f8", (2,)),  # 0 standing, 1 walking
            ("level", "f8", (2,)),  # height of mid-hip above the ground
            ("bounce", "f8", (2,)),
            ("yaw", "f8", (2,)),
            ("tilt", "f8", (2,)),
            # feet
            ("part", "i8", (2,)),  # ContactState
            ("pivot", "f8", (2, 3)),
            ("direction", "f8", (2,)),  # yaw
            ("pitch", "f8", (2,)),  # relative to the ground
            ("landing_pitch", "f8", (2,)),
            ("rise", "f8", (2,)),  # progress of heel rise, 0 to 1
            ("rise_rate", "f8", (2,)),
            ("mtp", "f8", (2,)),
            ("tilting", "f8"),  # progress of the rear foot's toes, 0 to 1
            ("ankle", "f8", (2, 3)),
            ("ahead", "f8", (2,)),  # pressure ahead of the ankle of the flat foot
            ("point", "f8", (2, 3)),  # pressure in the world
            # motion of both feet over the last tick: x, y, z, pitch
            ("rate", "f8", (2, 4)),
            ("rate_before", "f8", (2, 4)),
            # what is left, after lift-off, of the rocker's motion beyond the planner's path; and that path, one tick ago
            ("gap", "f8", (3, 3)),  # value, rate, acceleration of x, y, z
            ("path", "f8", (3,)),
            ("brake", "f8", (2, 3)),  # x, y of the foot that comes to rest: value, rate, acceleration
            ("goal", "f8", (2,)),
            ("braking", "i8"),
            ("turn", "f8", (3,)),  # pitch of the swing foot: value, rate, acceleration
            ("airtime", "f8"),
            ("mtp_rate", "f8", (2,)),
            ("toes", "f8", (3,)),  # toe joint of the swing foot: value, rate, acceleration
            # trunk, head, arms: angle and rate
            ("upper", "f8", (UPPER,)),
            ("upper_rate", "f8", (UPPER,)),
            ("reach_error", "f8"),  # of the swing leg [m]
        ],
    )
)


# -- feet --------------------------------------------------------------------------------------------------------------


@kernel
def _from_foot(frame, ahead, up, out):
    """Vector of the foot's own (0, ahead, up) in the world."""
    for j in range(3):
        out[j] = frame[j, 1] * ahead + frame[j, 2] * up


@kernel
def _land(m, i, slope, foot):
    """Put foot ``i``, wherever it is, on the ground: the heel where the toes point up, otherwise the ball."""
    frame, arm = np.empty((3, 3)), np.empty(3)
    heel, ball, height = foot[0], foot[1], foot[3]
    sole_frame(m.direction[i], m.pitch[i], slope, frame)
    m.landing_pitch[i] = m.pitch[i]
    m.part[i] = HEEL if m.pitch[i] > 0 else FLAT
    _from_foot(frame, -heel if m.pitch[i] > 0 else ball, -height, arm)
    for j in range(2):
        m.pivot[i, j] = m.ankle[i, j] + arm[j]
    m.pivot[i, 2] = math.tan(slope) * m.pivot[i, 1]
    for j in range(3):
        m.ankle[i, j] = m.pivot[i, j] - arm[j]
    m.rise[i] = 0.0
    m.rise_rate[i] = 0.0
    m.mtp[i] = 0.0
    m.ahead[i] = -heel if m.pitch[i] > 0 else ball
    for j in range(3):
        m.point[i, j] = m.pivot[i, j]


@kernel
def _landing_pitch(s, b, slope):
    """Pitch [rad] of the foot against the ground at touchdown, after the speed; less uphill, where the ground is met sooner."""
    level = LANDING_PITCH * clamp(LANDING_SPEED + (1 - LANDING_SPEED) * s.speed * b.time / b.length, 0.0, 1.0)
    return clamp(level - ground_pitch(s.heading, slope), LEAST_LANDING_PITCH, LANDING_PITCH)


@kernel
def _rise_progress(s, k, m, i, time, dt):
    """Advance the progress of heel rise, which arrives at 1 when the planner is to lift the foot."""
    wanted = -10.0 * m.rise[i]  # standing: back to flat
    if s.mode == WALK:
        wanted = 0.0
        if i == s.swing:
            left = (1 - s.transfer) * s.transfer_time
            wanted = (1 - m.rise[i]) / left if s.phase == DOUBLE and left > 2 * dt else m.rise_rate[i]
        else:
            if time - s.touchdown[i] > RISE * s.step_time:
                left = max(s.step_end - time, 0.0) if s.phase == SINGLE else s.touchdown[i] + s.step_time - time
                wanted = (1 - m.rise[i]) / max(left + k.double_support * s.step_time, dt)
    wanted = min(wanted, RISE_FASTEST)
    m.rise_rate[i] += (wanted - m.rise_rate[i]) * dt / (RISE_LAG + dt)
    m.rise[i] = clamp(m.rise[i] + m.rise_rate[i] * dt, 0.0, 1.1)


@kernel
def _rocker(s, k, b, m, i, time, dt, slope, foot, hip):
    """Pivot, pitch, toe joint, ankle and pressure of a stance foot at ``time``; ``hip`` (3,) is where its hip will about be."""
    heel, ball, toe, height, joint = foot[0], foot[1], foot[2], foot[3], foot[4]
    frame, flat, arm = np.empty((3, 3)), np.empty((3, 3)), np.empty(3)
    sole_frame(m.direction[i], 0.0, slope, flat)
    _rise_progress(s, k, m, i, time, dt)
    loaded = 0.0  # how far the pressure has left where the planner has it, for the part on which the foot stands
    if m.part[i] == HEEL or m.landing_pitch[i] < 0:
        m.pitch[i] = m.landing_pitch[i] * (1 - smooth_step((time - s.touchdown[i]) / (LOWER * s.step_time)))
        if m.part[i] == HEEL and m.pitch[i] <= 0:
            for j in range(3):
                m.pivot[i, j] += flat[j, 1] * (heel + ball)
            m.part[i] = FLAT
        if m.pitch[i] == 0:
            m.landing_pitch[i] = 0.0
        loaded = m.pitch[i] / m.landing_pitch[i] if m.part[i] == HEEL else 0.0
    else:
        # the ball, from where the foot was: after the toes have taken over it is no longer the pivot
        sole_frame(m.direction[i], m.pitch[i], slope, frame)
        _from_foot(frame, ball, -height, arm)
        side, ahead, above = 0.0, 0.0, 0.0
        for j in range(3):
            d = hip[j] - m.ankle[i, j] - arm[j]
            side += flat[j, 0] * d
            ahead += flat[j, 1] * d
            above += flat[j, 2] * d
        scale = m.walking[0] * clamp(RISE_SPEED + (1 - RISE_SPEED) * s.speed * b.time / b.length, 0.0, 1.0)
        pitch = -RISE_PITCH * scale * m.rise[i] ** RISE_POWER
        longest = (b.thigh + b.shank) * math.cos(0.5 * RISE_KNEE)
        leg = math.sqrt(max(longest * longest - side * side, 0.25 * longest * longest))
        reached = smooth_min(pitch, pitch_within_reach(ahead, above, ball, height, leg), PITCH_SOFTNESS)
        # who stands bends the knees instead, and so does who has just put the foot down
        pitch += m.walking[0] * smooth_step(((time - s.touchdown[i]) / s.step_time - LOWER) / REACHING) * (reached - pitch)
        m.pitch[i] = -smooth_min(-pitch, -STEEPEST_PITCH, PITCH_SOFTNESS)
        if m.part[i] != TOE:
            m.part[i] = FOREFOOT if m.pitch[i] < -HEEL_OFF else FLAT
        loaded = smooth_step(-m.pitch[i] / BALL_LOADED)
        if m.part[i] == FOREFOOT:
            loaded = max(loaded, BALL_AT_ONCE)
    sole_frame(m.direction[i], m.pitch[i], slope, frame)

    # toes: on the ground while the heel rises, tilting up with the foot before it leaves
    length = toe - ball
    lying = toe_pitch(joint * math.cos(m.pitch[i]), joint, length)
    tilt = 0.0
    if s.mode == WALK and i == s.swing and (m.part[i] == TOE or s.transfer > TOE_START):
        m.tilting += dt / ((1 - TOE_START) * s.transfer_time)
        tilt = m.tilting
    else:
        m.tilting = 0.0 if i == s.swing else m.tilting
    if m.part[i] == FOREFOOT and tilt > 0:
        c, d = math.cos(lying), math.sin(lying)
        for j in range(3):
            m.pivot[i, j] += frame[j, 2] * joint + flat[j, 1] * (length * c + joint * d) + flat[j, 2] * (length * d - joint * c)
        m.part[i] = TOE
    if m.part[i] == TOE:
        toes = lying - TOE_TILT * tilt * tilt
        c, d = math.cos(toes), math.sin(toes)
        for j in range(3):
            to_joint = flat[j, 1] * (length * c + joint * d) + flat[j, 2] * (length * d - joint * c)
            m.ankle[i, j] = m.pivot[i, j] - to_joint - frame[j, 1] * ball - frame[j, 2] * (joint - height)
    else:
        toes = lying if m.part[i] == FOREFOOT else m.pitch[i]
        _from_foot(frame, -heel if m.part[i] == HEEL else ball, -height, arm)
        for j in range(3):
            m.ankle[i, j] = m.pivot[i, j] - arm[j]
    m.mtp[i] = toes - m.pitch[i]

    # pressure, at the part on which the foot stands
    if m.part[i] == HEEL:
        origin = -heel
        wanted = s.cop[i] + loaded * (-heel - s.cop[i])
    else:
        origin = toe if m.part[i] == TOE else ball
        wanted = s.cop[i] + loaded * max(ball - s.cop[i], 0.0)
        wanted += tilt * (toe - wanted) if m.part[i] == TOE else 0.0
    m.ahead[i] += clamp(wanted - m.ahead[i], -PRESSURE_SLEW * dt, PRESSURE_SLEW * dt)
    for j in range(3):
        m.point[i, j] = m.pivot[i, j] + flat[j, 1] * (m.ahead[i] - origin) + flat[j, 0] * s.cop_side[i]


@kernel
def _path(s, k, b, pitch, slope, foot, phase, out):
    """Where the planner has the swing foot's ankle, with the sole at the planner's clearance over the ground; ``phase`` of swing."""
    lift = k.clearance * math.sin(0.5 * math.pi * min(phase / k.clearance_peak, (1 - phase) / (1 - k.clearance_peak))) ** 2
    # the lowest point of the sole changes from toe to heel where the foot passes the horizontal: the ankle rounds that corner
    sine = abs(math.sin(pitch))
    corner = 0.5 * (foot[0] + foot[2]) * (math.sqrt(sine * sine + CORNER * CORNER) - sine) * smooth_step((1 - phase) / CORNER_FADE)
    out[0] = s.swing_position[0]
    out[1] = s.swing_position[1]
    out[2] = math.tan(slope) * out[1] + (ankle_above_sole(pitch, b) + corner + lift) / math.cos(slope)


@kernel
def _swing(s, k, b, m, i, time, dt, slope, foot, hip):
    """The foot in the air at ``time``: on the planner's path, into which the motion that it had at lift-off fades.

    The pitch is the plant's own, a minimum-jerk path from the pitch and speed at lift-off to that of landing, because the heel
    has risen as far as people's does and not as far as the planner takes it. The sole keeps the clearance that was planned.
    """
    ball, toe, height, joint = foot[1], foot[2], foot[3], foot[4]
    span = s.step_end - s.lift_off
    done = min((time - s.lift_off) / span, 1.0)
    m.direction[i] = s.swing_yaw
    before = np.array([m.ankle[i, 0], m.ankle[i, 1]])
    if m.airtime == 0.0:
        m.braking = 0
        m.turn[0] = m.pitch[i]
        m.turn[1] = m.rate[i, 3]
        m.turn[2] = -TURN_BACK * m.rate[i, 3]
        m.toes[0] = m.mtp[i]
        m.toes[1] = m.mtp_rate[i]
        m.toes[2] = -TURN_BACK * m.mtp_rate[i]
    left = s.step_end - time + dt - READY * span
    if left > 2 * dt:
        m.turn[0], m.turn[1], m.turn[2] = minimum_jerk(m.turn[0], m.turn[1], m.turn[2], _landing_pitch(s, b, slope), left, dt)
    m.pitch[i] = m.turn[0]
    path = np.empty(3)
    _path(s, k, b, m.pitch[i], slope, foot, done, path)
    for j in range(3):
        gap = m.gap[j]
        if m.airtime == 0.0:  # carry on with the foot's own velocity and acceleration
            gap[0] = m.ankle[i, j] - m.path[j]
            gap[1] = m.rate[i, j] - (path[j] - m.path[j]) / dt
            gap[2] = (m.rate[i, j] - m.rate_before[i, j]) / dt
        gap[2] -= dt * GAP_RATE * (GAP_RATE * (GAP_RATE * gap[0] + 3 * gap[1]) + 3 * gap[2])
        gap[1] += dt * gap[2]
        gap[0] += dt * gap[1]
        m.ankle[i, j] = path[j] + gap[0] * (1 - smooth_step((done - GAP_END) / (1 - GAP_END)) if j == 2 else 1.0)
    m.airtime += dt
    meant = m.ankle[i, 1]
    # a foothold out of reach is not worth a drop of the pelvis: the foot goes as far as the leg does
    longest = (b.thigh + b.shank) * math.cos(0.5 * STRETCH_KNEE)
    x, y, z = m.ankle[i, 0] - hip[0], m.ankle[i, 1] - hip[1], m.ankle[i, 2] - hip[2]
    far = math.sqrt(x * x + y * y)
    near = smooth_min(far, math.sqrt(max(longest * longest - z * z, 0.0)), STRETCH_SOFTNESS)
    if y * math.cos(s.heading) - x * math.sin(s.heading) > 0:  # in front of the hip
        m.ankle[i, 0] = hip[0] + x * near / far
        m.ankle[i, 1] = hip[1] + y * near / far
    # and comes to rest over its last stretch, by a minimum-jerk path to about where uniform braking would take it
    if done > 1 - BRAKING:
        left = max(s.step_end - time + dt, dt)
        for j in range(2):
            if m.braking == 0:
                m.brake[j, 0] = before[j]
                m.brake[j, 1] = m.rate[i, j]
                m.brake[j, 2] = (m.rate[i, j] - m.rate_before[i, j]) / dt
                m.goal[j] = before[j] + 0.5 * m.rate[i, j] * left
            m.brake[j, 0], m.brake[j, 1], m.brake[j, 2] = minimum_jerk(m.brake[j, 0], m.brake[j, 1], m.brake[j, 2], m.goal[j], left, dt)
            m.ankle[i, j] = m.brake[j, 0]
        m.braking = 1
    m.ankle[i, 2] += math.tan(slope) * (m.ankle[i, 1] - meant)
    # toes straighten, but not into the ground
    c, d = math.cos(m.pitch[i]), math.sin(m.pitch[i])
    above = (m.ankle[i, 2] - math.tan(slope) * m.ankle[i, 1]) * math.cos(slope) + ball * d + (joint - height) * c
    lowest = toe_pitch(above, joint, toe - ball) - m.pitch[i]
    left = RECOVERY * span - m.airtime + dt
    if left > 2 * dt:
        m.toes[0], m.toes[1], m.toes[2] = minimum_jerk(m.toes[0], m.toes[1], m.toes[2], 0.0, left, dt)
    m.mtp[i] = -smooth_min(-m.toes[0], -lowest, PITCH_SOFTNESS)
    for j in range(3):
        m.point[i, j] = m.ankle[i, j]


@kernel
def _leg(pelvis, hip, ankle, frame, thigh, shank, side, q):
    """Solve one leg such that the foot's orientation is met exactly. Returns how far the ankle is out of reach [m].

    The ankle has two axes, so that the foot's long axis has to be normal to the knee's: the knee points along the long axis,
    slid down the hip-ankle line to the horizontal.
    """
    slide = frame[2, 1] / (hip[2] - ankle[2])
    x, y = frame[0, 1] - slide * (hip[0] - ankle[0]), frame[1, 1] - slide * (hip[1] - ankle[1])
    return solve_leg(pelvis, hip, ankle, frame, math.atan2(-x, y), thigh, shank, side, q)


# -- the whole body ----------------------------------------------------------------------------------------------------


@kernel
def _respond(pair, target, rate, dt):
    """Critically damped second-order response of (value, speed) to a target."""
    pair[1] += dt * rate * (rate * (target - pair[0]) - 2 * pair[1])
    pair[0] += dt * pair[1]


@kernel
def _pelvis_frame(m, obliquity, quaternion, out):
    """Orientation of the pelvis: yaw, then obliquity (right side up), then tilt (front down)."""
    cz, sz = math.cos(0.5 * m.yaw[0]), math.sin(0.5 * m.yaw[0])
    cy, sy = math.cos(-0.5 * obliquity), math.sin(-0.5 * obliquity)
    cx, sx = math.cos(-0.5 * m.tilt[0]), math.sin(-0.5 * m.tilt[0])
    quaternion[0] = cz * cy * sx - sz * sy * cx
    quaternion[1] = cz * sy * cx + sz * cy * sx
    quaternion[2] = sz * cy * cx - cz * sy * sx
    quaternion[3] = cz * cy * cx + sz * sy * sx
    quaternion_to_matrix(quaternion, out)


@kernel
def _reach(m, i, hip, root_z, thigh, shank):
    """Greatest height of mid-hip [m] at which the leg reaches its ankle; ``hip`` as it is with mid-hip at ``root_z``."""
    longest = (thigh + shank) * math.cos(0.5 * LEAST_KNEE)
    x, y = hip[0] - m.ankle[i, 0], hip[1] - m.ankle[i, 1]
    return m.ankle[i, 2] + math.sqrt(max(longest * longest - x * x - y * y, 0.04 * longest * longest)) - (hip[2] - root_z)


@kernel
def _place(
    m, position, pelvis, q, slope, thigh, shank, parent, axis, origin, mass, com, leg, link_r, link_p, link_v, link_w, joint_a,
):  # fmt: skip
    """Legs to both feet, toes and upper body into ``q``, links by forward kinematics, and the CoM's place in the body."""
    n = q.shape[0]
    frame, hip, still, angles = np.empty((3, 3)), np.empty(3), np.zeros(3), np.empty(7)
    for j in range(UPPER):
        q[j] = m.upper[j]
    m.reach_error = 0.0
    for i in range(2):
        side = 2.0 * i - 1.0
        first = leg[i]
        for j in range(3):
            hip[j] = position[j]
            for r in range(3):
                hip[j] += pelvis[j, r] * origin[first, r]
        sole_frame(m.direction[i], m.pitch[i], slope, frame)
        m.reach_error = max(m.reach_error, _leg(pelvis, hip, m.ankle[i], frame, thigh, shank, side, angles))
        for j in range(MTP):
            q[first + j] = angles[j]
        q[first + MTP] = m.mtp[i]
    rates, centre, speed = np.zeros(n), np.empty(3), np.empty(3)
    forward(position, pelvis, still, still, q, rates, parent, axis, origin, link_r, link_p, link_v, link_w, joint_a)
    centre_of_mass(mass, com, link_r, link_p, link_v, link_w, 0, centre, speed)
    for j in range(2):
        m.offset[j] = centre[j] - position[j]


@kernel
def set_down(
    observation, memory, position, quaternion, q, velocity, slope, foot, thigh, shank,
    parent, axis, origin, mass, com, leg, link_r, link_p, link_v, link_w, joint_a,
):  # fmt: skip
    """Begin: feet flat where the observed ones are, mid-hip over them, legs solved. Writes ``memory``, root pose and ``q``.

    Args:
        observation: of the pose; memory: (1,) of ``MEMORY_DTYPE``, zeros.
        position, quaternion, q: of the root, and joint angles, as they are and as they become.
        velocity: (3,) of the CoM [m/s].
        slope: of the ground [rad].
        foot: (5,) heel, ball, toe tip from the ankle, along the foot; ankle and toe joint above the sole [m].
        thigh, shank: lengths [m].
        parent, ..., leg: of :class:`sandbox.bodies.kinematics.Tree`; link_r, ..., joint_a: scratch of its ``forward``.
    """
    o, m = observation[0], memory[0]
    pelvis = np.empty((3, 3))
    for i in range(2):
        m.direction[i] = o.foot_yaw[i]
        for j in range(3):
            m.ankle[i, j] = o.ankle[i, j]
        _land(m, i, slope, foot)
        m.share[i] = 0.5
    for j in range(UPPER):
        m.upper[j] = q[j]
    m.yaw[0] = o.pelvis_yaw
    m.tilt[0] = math.atan2(-o.pelvis[2, 1], math.sqrt(o.pelvis[0, 1] ** 2 + o.pelvis[1, 1] ** 2))
    _pelvis_frame(m, 0.0, quaternion, pelvis)
    ground = math.tan(slope) * position[1]
    height = 0.5 * (m.ankle[0, 2] + m.ankle[1, 2]) - ground + (thigh + shank) * math.cos(0.5 * STANDING_KNEE)
    m.level[0] = height
    position[2] = ground + height
    hip = np.empty(3)
    for i in range(2):
        for j in range(3):
            hip[j] = position[j]
            for r in range(3):
                hip[j] += pelvis[j, r] * origin[leg[i], r]
        position[2] = min(position[2], _reach(m, i, hip, position[2], thigh, shank))
    _place(m, position, pelvis, q, slope, thigh, shank, parent, axis, origin, mass, com, leg, link_r, link_p, link_v, link_w, joint_a)
    for j in range(2):
        m.offset_before[j] = m.offset[j]
        m.com[j] = position[j] + m.offset[j]
        m.com_velocity[j] = velocity[j]


@kernel
def _transport(s, k, b, m, push, now, dt):
    """Advance the CoM by one tick; ``push`` (3,) [N] acts on it.

    It is a pendulum over the pressure. Walking, its unstable part is taken out. Forward its speed is the commanded one and the
    first harmonic of the planner's pendulum::

        v = u + 2 (u - c_p) cos(2 pi (phase - middle of double support)) / (1 + (2 pi / omega T)^2) sin(pi ds) / (pi ds)

    with c_p the speed of the pressure and ds the double support over the step time T, in which the load moves linearly.
    Sideways the XCoM is drawn to where a periodic pendulum of the planner's step width w has it, b exp(omega t) from the
    pressure of the stance foot towards the other, b = w / (1 + exp(omega T)): without that, the start alone could miss it.
    """
    omega = math.sqrt(GRAVITY / k.com_height)
    m.share[1] += clamp(s.share[1] - m.share[1], -SHARE_SLEW * dt, SHARE_SLEW * dt)
    for i in range(2):
        if m.part[i] == AIRBORNE or (s.mode == WALK and s.phase == SINGLE and s.swing == i):
            m.share[1] = 1.0 - i
    m.share[0] = 1 - m.share[1]
    fx, fy = -math.sin(s.heading), math.cos(s.heading)
    away_x = m.com[0] - m.share[0] * m.point[0, 0] - m.share[1] * m.point[1, 0]
    away_y = m.com[1] - m.share[0] * m.point[0, 1] - m.share[1] * m.point[1, 1]
    forward = omega * omega * (away_x * fx + away_y * fy)
    right = omega * omega * (away_x * fy - away_y * fx)
    speed = m.com_velocity[0] * fx + m.com_velocity[1] * fy
    sway = m.com_velocity[0] * fy - m.com_velocity[1] * fx

    _respond(m.speed, s.speed, SPEED_RATE, dt)
    turn = 2 * math.pi * (m.phase - 0.5 * k.double_support)
    travel = (k.cop_end - k.cop_start) / s.step_time
    spread = math.pi * max(k.double_support, 1e-3)
    swell = 2 * max(m.speed[0] - travel, 0.0) / (1 + (2 * math.pi / (omega * s.step_time)) ** 2) * math.sin(spread) / spread
    wanted = m.speed[0] + swell * math.cos(turn)
    commanded = m.speed[1] - swell * 2 * math.pi * m.phase_rate * math.sin(turn) + SPEED_RATE * (wanted - speed)
    forward += m.walking[0] * (commanded - forward)

    _respond(m.guided, 1.0 if s.mode == WALK and (s.steps > 0 or s.phase == SINGLE) else 0.0, GUIDE_RATE, dt)
    stance = 1 - s.swing
    since = now + dt - s.touchdown[stance] - 0.5 * s.transfer_time  # from the middle of double support
    if since < 0:
        stance = s.swing
        since += s.step_time
    away_x, away_y = m.com[0] - m.point[stance, 0], m.com[1] - m.point[stance, 1]
    inward = k.step_width / (1 + math.exp(omega * s.step_time)) * math.exp(omega * min(since, s.step_time))
    astray = away_x * fy - away_y * fx + sway / omega - (inward if stance == 0 else -inward)
    right -= m.guided[0] * 2 * omega * omega * astray

    forward += (push[0] * fx + push[1] * fy) / b.mass
    right += (push[0] * fy - push[1] * fx) / b.mass
    for j in range(2):
        a = forward * fx + right * fy if j == 0 else forward * fy - right * fx
        m.com[j] += dt * (m.com_velocity[j] + 0.5 * dt * a)
        m.com_velocity[j] += dt * a


@kernel
def _intend(s, k, b, m, foot, slope, time, dt):
    """Gait phase, height and bounce of mid-hip, yaw and tilt of the pelvis. Returns (height above ground, obliquity)."""
    height = foot[3]
    leg = b.thigh + b.shank
    walking = s.mode != STAND
    _respond(m.walking, 1.0 if walking else 0.0, POSE_RATE, dt)
    if s.mode == WALK:
        if (int(m.step) % 2 == 0) != (s.swing == 0):  # the other foot leads now
            m.step += 1.0
        psi = clamp((time - s.touchdown[1 - s.swing]) / s.step_time, 0.0, 1.2)
        m.phase_rate += dt * PHASE_RATE * (PHASE_RATE * (m.step + psi - m.phase) + 2 * (1.0 / s.step_time - m.phase_rate))
    else:  # at rest where it is; the next step is the nearest one of that foot
        m.phase_rate -= dt * PHASE_RATE * m.phase_rate
        m.step = math.floor(m.phase)
        if (int(m.step) % 2 == 0) != (s.swing == 0):
            m.step += 1.0
    m.phase += dt * m.phase_rate

    # mid-hip is lowest in the middle of double support and highest in mid-stance
    middle = 0.5 * k.double_support - BOUNCE_LEAD
    bounce = 0.0
    if not walking:
        # as low as the rear of both feet asks for
        apart = (m.ankle[1, 1] - m.ankle[0, 1]) * math.cos(s.heading) - (m.ankle[1, 0] - m.ankle[0, 0]) * math.sin(s.heading)
        longest = leg * math.cos(0.5 * STANDING_KNEE)
        base = height + math.sqrt(longest**2 - min((k.stand_cop + 0.5 * abs(apart)) ** 2, 0.25 * longest**2))
    else:
        slow = max(1 - s.speed * b.time / b.length, 0.0)
        high = height + leg * math.cos(0.5 * (MIDSTANCE_KNEE + SLOW_KNEE * slow))
        ahead = (TOUCHDOWN_AHEAD + FAST_AHEAD * max(s.speed * b.time / b.length - 1, 0.0)) * s.speed * s.step_time
        longest = leg * math.cos(0.5 * TOUCHDOWN_KNEE)
        pitch = _landing_pitch(s, b, slope)
        low = foot[0] * math.sin(pitch) + height * math.cos(pitch) + math.sqrt(max(longest**2 - ahead**2, 0.0))
        low += ahead * min(math.tan(ground_pitch(s.heading, slope)), 0.0)  # downhill the landing foot is lower
        bounce = max(0.5 * (high - low), LEAST_BOUNCE)
        base = high - (1 - BOUNCE_SECOND) * bounce
        if s.carried == 1:  # a stance model has the rise and fall
            base, bounce = high, 0.0
    _respond(m.level, base, POSE_RATE, dt)
    _respond(m.bounce, bounce, POSE_RATE, dt)
    _respond(m.yaw, s.pelvis_yaw, YAW_RATE, dt)
    _respond(m.tilt, PELVIS_TILT, POSE_RATE, dt)
    angle = 2 * math.pi * (m.phase - middle)
    amplitude = OBLIQUITY * m.walking[0] * min(s.speed * b.time / b.length, 1.2)
    wave = math.sin(math.pi * (m.phase + OBLIQUITY_LEAD))
    # the height is that of the supporting hip, which the obliquity lifts
    height = m.level[0] - m.bounce[0] * (math.cos(angle) + BOUNCE_SECOND * math.cos(2 * angle)) - b.hip_half * amplitude * wave * wave
    height += m.walking[0] * s.rise
    return height, amplitude * wave


@kernel
def _upper_body(s, m, arm, obliquity, dt):
    """Damped response of trunk, head and arms to the planner's targets."""
    target = np.zeros(UPPER)
    target[0] = (s.lean - PELVIS_TILT) / LUMBAR_SHARE
    target[1] = obliquity  # the trunk stays upright over the pelvis
    target[2] = 0.5 * s.thorax_yaw
    target[3] = 0.5 * s.thorax_yaw
    target[4] = -m.tilt[0] - m.upper[0]  # the head is level
    for i in range(2):
        target[arm[i]] = SHOULDER_RANGE * math.tanh(s.shoulder[i] / SHOULDER_RANGE)
        target[arm[i] + 1] = ARM_ADDUCTION
        target[arm[i] + 3] = s.elbow[i]
    pair = np.empty(2)
    for j in range(UPPER):
        pair[0], pair[1] = m.upper[j], m.upper_rate[j]
        _respond(pair, target[j], POSE_RATE if j == 0 else YAW_RATE if j < 4 else ARM_RATE, dt)
        m.upper[j], m.upper_rate[j] = pair[0], pair[1]


@kernel
def follow(
    now, dt, plan, parameters, body, memory, push, slope, foot,
    position, quaternion, velocity, omega, q, qd, contact,
    parent, axis, origin, mass, com, leg, arm, link_r, link_p, link_v, link_w, joint_a,
):  # fmt: skip
    """One tick of ``dt`` from the time ``now``: advance ``memory``, and refill root pose, ``q``, their rates and the contacts.

    Arguments as in :func:`set_down`; ``plan``, ``parameters``, ``body`` of the planner, ``push`` (3,) [N] on the CoM.
    """
    s, k, b, m = plan[0], parameters[0], body[0], memory[0]
    time = now + dt
    pelvis, pelvis_before, hip = np.empty((3, 3)), np.empty((3, 3)), np.empty((2, 3))
    position_before, q_before = position.copy(), q.copy()
    quaternion_to_matrix(quaternion, pelvis_before)

    _transport(s, k, b, m, push, now, dt)
    for j in range(2):
        m.offset_rate[j] += OFFSET_SHARE * (m.offset[j] - m.offset_before[j] - m.offset_rate[j])
        m.offset_before[j] = m.offset[j]
        position[j] = m.com[j] - m.offset[j] - m.offset_rate[j]
    height, obliquity = _intend(s, k, b, m, foot, slope, time, dt)
    position[2] = math.tan(slope) * position[1] + height
    _upper_body(s, m, arm, obliquity, dt)
    _pelvis_frame(m, obliquity, quaternion, pelvis)
    for i in range(2):
        for j in range(3):
            hip[i, j] = position[j]
            for r in range(3):
                hip[i, j] += pelvis[j, r] * origin[leg[i], r]

    feet, toes = np.empty((2, 4)), np.empty(2)
    for i in range(2):
        toes[i] = m.mtp[i]
        feet[i, :3] = m.ankle[i]
        feet[i, 3] = m.pitch[i]
        if m.part[i] == AIRBORNE:
            _swing(s, k, b, m, i, time, dt, slope, foot, hip[i])
            if time >= s.step_end - 0.5 * dt:
                _land(m, i, slope, foot)
        else:
            _rocker(s, k, b, m, i, time, dt, slope, foot, hip[i])
            if s.mode == WALK and s.phase == SINGLE and i == s.swing:  # the planner has lifted it: the rocker's last tick
                m.part[i] = AIRBORNE
                m.airtime = 0.0
                _path(s, k, b, m.pitch[i], slope, foot, 0.0, m.path)
        for j in range(4):
            m.rate_before[i, j] = m.rate[i, j]
            m.rate[i, j] = ((m.ankle[i, j] if j < 3 else m.pitch[i]) - feet[i, j]) / dt
        m.mtp_rate[i] = (m.mtp[i] - toes[i]) / dt
        contact[i] = 1 if m.part[i] != AIRBORNE else 0

    top = position[2]
    for i in range(2):
        if m.part[i] != AIRBORNE:
            top = smooth_min(top, _reach(m, i, hip[i], position[2], b.thigh, b.shank), HEIGHT_SOFTNESS)
    position[2] = top
    for n in range(PLACINGS):
        for j in range(2):
            position[j] = m.com[j] - m.offset[j] if n else position[j]
        _place(m, position, pelvis, q, slope, b.thigh, b.shank,
               parent, axis, origin, mass, com, leg, link_r, link_p, link_v, link_w, joint_a)  # fmt: skip

    for j in range(q.shape[0]):
        qd[j] = (q[j] - q_before[j]) / dt
    for j in range(3):
        velocity[j] = (position[j] - position_before[j]) / dt
    # angular velocity from the rotation over the tick
    turn = pelvis @ pelvis_before.T
    sine = np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
    for j in range(3):
        sine[j] *= 0.5
    size = math.sqrt(sine[0] ** 2 + sine[1] ** 2 + sine[2] ** 2)
    stretch = math.asin(min(size, 1.0)) / size if size > 1e-9 else 1.0
    for j in range(3):
        omega[j] = sine[j] * stretch / dt
