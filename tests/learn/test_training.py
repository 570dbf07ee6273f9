"""Training: folders, resumption, what a policy is for, what is refused. The trainings are tiny: they learn nothing."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

import sandbox.simulation
from sandbox import cli
from sandbox.learn import evaluation, training
from sandbox.learn.policy import Pilot, Policy
from sandbox.learn.tasks import TASKS, check_signature, make, signature
from sandbox.learn.training import HELD_OUT, PPOSettings, Training, TrainSettings
from sandbox.plants.base import standing_pose
from sandbox.scenes.scene import START, Command, Scene
from sandbox.simulation import Simulation

TINY = TrainSettings(
    task="stand",
    action="planner",
    seed=5,
    settings={"episode_seconds": 0.5},
    ppo=PPOSettings(environments=2, rollout=16, batch=16, epochs=2),
)
ROLLOUT = TINY.ppo.environments * TINY.ppo.rollout


def random_policy(env: Any, seed: int = 0) -> Policy:
    """A policy that does something."""
    rng = np.random.default_rng(seed)
    n, m = env.observation_space.shape[0], env.action_space.shape[0]
    layers = ((rng.normal(size=(8, n)), rng.normal(size=8)), (0.1 * rng.normal(size=(m, 8)), np.zeros(m)))
    settings = TrainSettings(task="walk", action=env.action)
    return Policy({"signature": signature(env), "settings": settings.to_json(), "steps": 0}, np.zeros(n), np.ones(n), layers)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "EVALUATION_EPISODES", 1)
    monkeypatch.setattr(training, "PART", 1)


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training of two parts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "EVALUATION_EPISODES", 1)
        patch.setattr(training, "PART", 1)
        folder = tmp_path_factory.mktemp("runs") / "a"
        Training(folder, TINY).run(2 * ROLLOUT)
    return folder


def test_a_run_holds_what_it_promises(run_folder: Path) -> None:
    stored = json.loads((run_folder / "settings.json").read_text())
    assert stored["settings"]["seed"] == 5
    assert stored["signature"]["version"]
    rows = (run_folder / "progress.csv").read_text().splitlines()
    assert [row.split(",")[0] for row in rows] == ["steps", f"{ROLLOUT}", f"{2 * ROLLOUT}"]
    assert list((run_folder / "tensorboard").iterdir())
    assert [path.name for path in (run_folder / "checkpoint").iterdir() if path.is_dir()] == [f"{2 * ROLLOUT}"]
    assert Policy.load(run_folder).header["steps"] == 2 * ROLLOUT


def test_a_killed_training_comes_to_the_same_policy(run_folder: Path, tmp_path: Path, short: None) -> None:
    whole = Policy.load(run_folder)
    Training(tmp_path / "b", TINY).run(ROLLOUT)
    again = Training(tmp_path / "b")
    assert again.steps == ROLLOUT
    again.run(2 * ROLLOUT)
    resumed = Policy.load(tmp_path / "b")
    for ours, theirs in zip(whole.layers, resumed.layers, strict=True):
        np.testing.assert_array_equal(ours[0], theirs[0])
        np.testing.assert_array_equal(ours[1], theirs[1])
    np.testing.assert_array_equal(whole.mean, resumed.mean)


def test_numpy_policy_is_the_trained_one(run_folder: Path) -> None:
    from stable_baselines3 import PPO

    policy = Policy.load(run_folder)
    model = PPO.load(run_folder / "checkpoint" / f"{2 * ROLLOUT}" / "model.zip", device="cpu")
    rng = np.random.default_rng(0)
    for _ in range(5):
        observation = policy.mean + np.sqrt(policy.variance) * rng.normal(size=len(policy.mean))
        normal = np.clip((observation - policy.mean) / np.sqrt(policy.variance + 1e-8), -10, 10)
        theirs, _ = model.predict(normal.astype(np.float32), deterministic=True)
        np.testing.assert_allclose(policy(observation), theirs, atol=1e-5)


def test_before_training_the_policy_is_the_walker(tmp_path: Path) -> None:
    begun = Training(tmp_path / "c", TINY)
    begun.run(0)
    policy = Policy.load(tmp_path / "c")
    assert not policy(np.ones(len(policy.mean))).any()


@pytest.mark.parametrize("action", ["residual", "planner"])
def test_a_pilot_drives_a_scene_as_the_environment_does(action: str, monkeypatch: pytest.MonkeyPatch) -> None:
    env = make("walk", {"action": action, "randomisation": {"friction": (0.8, 0.8)}})
    policy = random_policy(env)
    observation, _ = env.reset(seed=3, options={"speed": 0.9, "heading_rate": 0.05})
    seed = int(np.random.Generator(np.random.PCG64(3)).integers(2**31))
    monkeypatch.setattr(sandbox.simulation, "standing_pose", lambda a, lumbar, _, slope: standing_pose(a, lumbar, seed, slope=slope))
    simulation = Simulation(Scene("walk", (Command(START, 0.9, 0.05),), 3.0))
    Pilot(simulation, policy, action)
    for _ in range(45):
        observation, *_ = env.step(policy(observation))
        for _ in range(16):
            simulation.tick()
    np.testing.assert_array_equal(env.plant.state.q, simulation.plant.state.q)
    simulation.close()
    env.close()


def test_policy_file_loads_with_numpy_alone(run_folder: Path, tmp_path: Path) -> None:
    with np.load(run_folder / "policy.npz", allow_pickle=False) as file:
        assert json.loads(file["header"].item())["format"] == "locomotion-sandbox policy"
    for name, content in (("text.npz", b"no"), ("empty.npz", b"")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match="is not a policy"):
            Policy.load(tmp_path / name)
    with pytest.raises(ValueError, match="does not exist"):
        Policy.load(tmp_path / "none.npz")


def test_seeds_of_training_and_evaluation_never_meet() -> None:
    highest = max(int(np.random.default_rng([seed, steps]).integers(HELD_OUT - 8)) for seed in range(20) for steps in range(20))
    assert highest + 8 < HELD_OUT <= evaluation.FIRST_SEED


def test_evaluation_pairs_the_policy_with_zero_action(run_folder: Path) -> None:
    policy = Policy.load(run_folder)
    (found,) = evaluation.evaluate([("a", TINY, policy)], episodes=3, gait=False)
    figures = found.to_json()
    assert figures["episodes"] == 3
    assert [e.seed for e in found.episodes] == [e.seed for e in found.zero]
    assert figures["zero"]["survived"] == 3
    assert figures["survival_gain"] == pytest.approx(figures["policy"]["survival"] - 1.0)
    text = evaluation.table([found])
    assert "zero action" in text
    assert "3 of 3" in text


def test_intervals() -> None:
    # Newcombe (1998), table I: 81 of 263
    low, high = evaluation.wilson(81, 263)
    assert (low, high) == (pytest.approx(0.2553, abs=1e-4), pytest.approx(0.3662, abs=1e-4))
    mean, low, high = evaluation.paired([1, 1, 1, 0], [0, 1, 0, 0])
    assert mean == 0.5
    assert low == pytest.approx(0.5 - 1.96 * np.std([1, 0, 1, 0], ddof=1) / 2)


@pytest.mark.parametrize("name", TASKS)
def test_every_task_has_its_environment(name: str) -> None:
    env = make(name, {}, held_out=True)
    assert env.action_space.shape == (27,)
    env.close()


# -- bad input ---------------------------------------------------------------------------------------------------------------


def refused(capsys: pytest.CaptureFixture[str], arguments: str) -> str:
    assert cli.main(arguments.split()) == 2
    error = capsys.readouterr().err.strip().splitlines()
    said = [line for line in error if line.startswith("sandbox:")]
    assert len(said) == 1, error
    return said[0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("train --task push-recovry --out OUT", ["'push-recovry'", "did you mean 'push-recovery'"]),
        ("train --weight fall=nan --out OUT", ["weight fall = nan", "finite"]),
        ("train --weight fal=1 --out OUT", ["'fal'", "did you mean 'fall'"]),
        ("train --weight fall --out OUT", ["--weight fall=20"]),
        ("train --randomise mas=0.9:1.1 --out OUT", ["'mas'", "did you mean 'mass'"]),
        ("train --randomise mass=0.9:x --out OUT", ["'x' is not a number"]),
        ("train --steps 0 --out OUT", ["steps 0", "1.."]),
        ("train --resume --out OUT", ["holds no training"]),
        ("evaluate OUT", ["does not exist", "sandbox train"]),
        ("run push --policy OUT", ["does not exist"]),
        ("run push --plant kinematic --policy OUT", ["kinematic"]),
    ],
)
def test_bad_input(capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: str, words: list[str]) -> None:
    said = refused(capsys, arguments.replace("OUT", str(tmp_path / "none")))
    assert all(word in said for word in words), said
    assert not (tmp_path / "none").exists()


def test_other_version_or_body(capsys: pytest.CaptureFixture[str], run_folder: Path, tmp_path: Path) -> None:
    policy = Policy.load(run_folder)
    theirs = {**policy.header["signature"], "version": "0.0.1"}
    old = tmp_path / "old"
    shutil.copytree(run_folder, old)
    dataclasses.replace(policy, header={**policy.header, "signature": theirs}).save(old / "policy.npz")
    stored = json.loads((old / "settings.json").read_text())
    (old / "settings.json").write_text(json.dumps({**stored, "signature": theirs}))
    for command in (f"evaluate {old}", f"run push --policy {old}", f"train --resume --out {old} --steps 1000"):
        assert "another version (0.0.1, here" in refused(capsys, command)
    assert "another body" in refused(capsys, f"run push --mass 80 --policy {run_folder}")
    env = make("walk", {"action": "residual"})
    with pytest.raises(ValueError, match="another action mode"):
        check_signature("it", policy.header["signature"], signature(env))
    env.close()


def test_a_folder_that_holds_a_run_is_not_overwritten(capsys: pytest.CaptureFixture[str], run_folder: Path) -> None:
    before = (run_folder / "policy.npz").read_bytes()
    assert "holds a training already" in refused(capsys, f"train --out {run_folder}")
    assert (run_folder / "policy.npz").read_bytes() == before


def test_full_disk_is_found_first(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=10**6))
    assert "1 MB left" in refused(capsys, f"train --out {tmp_path / 'd'}")
    assert not (tmp_path / "d").exists()
