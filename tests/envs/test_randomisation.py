"""What differs from episode to episode."""

import math
from dataclasses import fields

import numpy as np
import pybullet as bullet
import pytest

from sandbox.bodies.anatomy import Anatomy
from sandbox.envs.observations import observation_rows
from sandbox.envs.randomisation import LENGTHS, LIMITS, Randomisation
from sandbox.scenes.terrain import Terrain


def friction_of(env):
    return bullet.getDynamicsInfo(env.plant.ground[0], -1, physicsClientId=env.plant.client)[1]


def zero(env):
    return np.zeros(env.action_space.shape)


def test_friction_is_drawn_and_set_in_the_engine(make):
    env = make()
    drawn = []
    for seed in range(8):
        _, info = env.reset(seed=seed)
        drawn.append(info["randomisation"]["friction"])
        assert friction_of(env) == pytest.approx(drawn[-1])
    assert all(0.6 <= value <= 1.0 for value in drawn)
    assert len(set(drawn)) == 8
    env.reset(seed=3)
    assert friction_of(env) == drawn[3]


def test_ground_of_ones_own_keeps_its_friction(make):
    env = make(terrain=Terrain(friction=0.45))
    env.reset(seed=0)
    assert friction_of(env) == pytest.approx(0.45)


def test_one_randomisation_changes_no_other():
    body = Anatomy()
    alone = Randomisation(latency=(0.0, 0.1)).draw(np.random.default_rng(3), body)
    beside = Randomisation(latency=(0.0, 0.1), mass=(0.9, 1.1), segment_lengths=(0.95, 1.05)).draw(np.random.default_rng(3), body)
    assert alone.latency == beside.latency
    assert alone.anatomy == body
    assert beside.anatomy != body


def test_body_is_drawn_and_its_masses_add_up(make):
    env = make(randomisation={"mass": (0.8, 1.2), "segment_lengths": (0.9, 1.1)})
    bodies = []
    for seed in range(3):
        env.reset(seed=seed)
        body = env.plant.anatomy
        bodies.append(body)
        client, number = env.plant.client, env.plant.body
        masses = [bullet.getDynamicsInfo(number, k, physicsClientId=client)[0] for k in range(-1, bullet.getNumJoints(number, client))]
        assert sum(masses) == pytest.approx(body.mass, rel=1e-6)
        assert body.length("thigh") / body.length("shank") != pytest.approx(Anatomy().length("thigh") / Anatomy().length("shank"), rel=1e-3)
        for _ in range(10):
            assert not env.step(zero(env))[2]
    assert len({body.mass for body in bodies}) == 3
    assert {name for name, _ in bodies[0].proportions} == {name for group in LENGTHS for name in group}


@pytest.mark.slow
def test_zero_action_walks_in_other_bodies(make):
    env = make(randomisation={"mass": (0.9, 1.1), "segment_lengths": (0.97, 1.03)}, speed_range=(0.9, 0.9), episode_seconds=8.0)
    survived = 0
    for seed in range(4):
        env.reset(seed=seed)
        over = (False, False)
        while not any(over):
            over = env.step(zero(env))[2:4]
        survived += over[1]
    assert survived >= 3


def test_a_weak_body_bears_no_more_than_its_share(make):
    env = make(action="torque", randomisation={"torque_limits": (0.5, 0.5)})
    env.reset(seed=0)
    env.step(np.ones(env.action_space.shape))
    np.testing.assert_allclose(env.plant.state.tau, [0.5 * joint.max_torque for joint in env.anatomy.joints])
    strong = make(action="torque")
    strong.reset(seed=0)
    strong.step(np.ones(strong.action_space.shape))
    np.testing.assert_allclose(strong.plant.state.tau, [joint.max_torque for joint in env.anatomy.joints])


def test_an_action_comes_later_by_the_latency(make):
    env = make(action="torque", randomisation={"latency": (0.05, 0.05)})
    env.reset(seed=0)
    push = np.zeros(env.action_space.shape)
    push[4] = 0.5
    seen = []
    for action in (push, zero(env), zero(env), zero(env)):
        env.step(action)
        seen.append(env.plant.state.tau[4])
    # 0.05 s is a step and a half of 1/30 s: at the end of the first step nothing has come, at the end of the second the first action
    assert seen == [0.0, pytest.approx(0.5 * env.anatomy.joints[4].max_torque), 0.0, 0.0]


def test_noise_has_the_documented_deviation_and_leaves_the_motion_alone(make):
    quiet, noisy = make(), make(randomisation={"observation_noise": (2.0, 2.0)})
    a, b = quiet.reset(seed=5)[0], noisy.reset(seed=5)[0]
    errors = [b - a, *(noisy.step(zero(noisy))[0] - quiet.step(zero(quiet))[0] for _ in range(60))]
    np.testing.assert_array_equal(quiet.plant.state.q, noisy.plant.state.q)
    first = 0
    for row in observation_rows(quiet.anatomy):
        error = np.array(errors)[:, first : first + row.size]
        if row.name == "angle of each joint":
            assert error.std() == pytest.approx(2 * row.noise, rel=0.1)
        if row.noise == 0:
            assert not error.any()
        first += row.size


def test_every_field_has_limits():
    assert {field.name for field in fields(Randomisation)} == set(LIMITS)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"mas": (0.9, 1.1)}, "unknown randomisation 'mas': did you mean 'mass'"),
        ({"mass": (0.1, 1.1)}, "randomisation of mass 0.1 is outside 0.7..1.4"),
        ({"latency": (0.1, 0.0)}, "upside down"),
        ({"friction": (math.nan, 1.0)}, "friction nan is outside"),
        ({"mass": (1.0,)}, "is no range"),
    ],
)
def test_bad_ranges(asked, message):
    with pytest.raises(ValueError, match=message):
        Randomisation.of(asked)
