"""Pictures and the live page, without a display; and Gymnasium's own check of everything."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from sandbox.envs.actions import MODES
from sandbox.envs.render import LivePage
from sandbox.plants import render
from sandbox.plants.render import Renderer
from sandbox.scenes.terrain import Box, Terrain


@pytest.fixture(autouse=True)
def no_display(monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["Walk", "Stand"])
def test_check_env(name, mode):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make(f"sandbox:Sandbox/{name}-v0", action=mode).unwrapped
        check_env(env)  # makes one in every render mode, too
        env.close()


@pytest.mark.parametrize("mode", ["rgb_array", "human"])
def test_check_env_while_rendering(mode):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make("sandbox:Sandbox/Walk-v0", render_mode=mode).unwrapped
        check_env(env, skip_close_check=True)
        env.close()


@pytest.mark.parametrize("egl", [True, False])
def test_picture_shows_the_walker(make, egl, monkeypatch):
    if egl and render.egl_plugin() is None:
        pytest.skip("no EGL here")
    if not egl:
        monkeypatch.setattr(render, "egl_plugin", lambda: None)
    terrain = Terrain(slope=0.05, boxes=(Box(0.5, 1.0, 0.2, 0.2, 0.1),))
    env = make(render_mode="rgb_array", width=160, height=120, terrain=terrain)
    env.reset(seed=0)
    before = env.plant.state.q.copy()
    picture = env.render()
    np.testing.assert_array_equal(env.plant.state.q, before)
    assert picture.shape == (120, 160, 3)
    assert picture.dtype == np.uint8
    red, _, blue = np.moveaxis(picture.astype(int), 2, 0)
    right, left = red - blue > 60, blue - red > 40
    assert right.mean() > 0.005  # of the picture: the right side, which is nearer to the camera
    assert left.mean() > 0.002
    assert abs(np.nonzero(right)[1].mean() - 80) < 25  # in the middle
    for _ in range(10):
        env.step(np.zeros(env.action_space.shape))
    assert not np.array_equal(env.render(), picture)


def test_rendering_does_not_disturb(make):
    runs = []
    for mode in (None, "rgb_array"):
        env = make(render_mode=mode, width=32, height=32)
        env.reset(seed=2)
        for _ in range(20):
            observation = env.step(np.zeros(env.action_space.shape))[0]
            if mode:
                env.render()
        runs.append(observation)
    np.testing.assert_array_equal(*runs)


def test_page_is_on_the_loopback_interface_only(make, capsys, monkeypatch):
    viser = pytest.importorskip("viser")
    themes = []
    configure = viser.GuiApi.configure_theme
    monkeypatch.setattr(viser.GuiApi, "configure_theme", lambda self, **settings: (themes.append(settings), configure(self, **settings)))
    env = make(render_mode="human")
    env.reset(seed=0)
    env.step(np.zeros(env.action_space.shape))
    assert env.render() is None
    page = env._view._screen
    assert isinstance(page, LivePage)
    assert page.address.startswith("http://127.0.0.1:")
    assert page.address in capsys.readouterr().err
    assert themes[0]["show_share_button"] is False
    table = Path("/proc/net/tcp")
    if table.exists():
        port = f"{int(page.address.rsplit(':', 1)[1]):04X}"
        listening = [line.split()[1] for line in table.read_text().splitlines()[1:] if line.split()[3] == "0A"]
        assert [address for address in listening if address.endswith(f":{port}")] == [f"0100007F:{port}"]


def test_human_shows_real_time(make):
    import time

    env = make(render_mode="human", policy_rate=10)
    env.reset(seed=0)
    start = time.monotonic()
    for _ in range(5):
        env.step(np.zeros(env.action_space.shape))
    assert 0.4 < time.monotonic() - start < 5.0


def test_without_viser(make, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "viser", None)
    env = make(render_mode="human")
    with pytest.raises(ModuleNotFoundError, match=r"locomotion-sandbox\[view\]"):
        env.reset()


def test_no_render_mode_warns(make):
    env = make()
    env.reset()
    with pytest.warns(UserWarning, match="no render mode"):
        assert env.render() is None


@pytest.mark.parametrize("size", [(5, 100), (100, -1), (4097, 100), (100.5, 100), (float("nan"), 100)])
def test_sizes(make, size):
    """Found as the environment is made, in whatever render mode."""
    with pytest.raises(ValueError, match="picture size .* is outside 16-4096 whole pixels"):
        Renderer(*size)
    with pytest.raises(ValueError, match="picture size .* is outside 16-4096 whole pixels"):
        make(width=size[0], height=size[1])


def in_a_child(code):
    """Run it in a process of its own, whose end by a signal is a failed test and not the end of all tests."""
    done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"exit code {done.returncode}: {done.stderr[-2000:]}"
    return done.stdout


ENVIRONMENTS = """
import gymnasium, numpy as np
from gymnasium.utils.env_checker import check_env
def make(width=64):
    env = gymnasium.make("sandbox:Sandbox/Walk-v0", render_mode="rgb_array", width=width, height=48).unwrapped
    env.reset(seed=0)
    return env
def walked(env):
    env.step(np.zeros(env.action_space.shape))
    return env.render()
def same(a, b):  # but for a few pixels of an edge, which differ with the number of pictures taken before
    return a.shape == b.shape and np.mean(a != b) < 0.01
alone = make()
first, second = alone.render(), walked(alone)
alone.close()
"""


def test_an_environment_draws_on_when_a_younger_one_is_closed():
    in_a_child(
        ENVIRONMENTS
        + """
a = make()
assert same(a.render(), first)
b = make(width=80)
assert b.render().shape == (48, 80, 3)
assert same(a.render(), first)
b.close()
assert same(walked(a), second)
"""
    )


def test_an_environment_draws_on_after_gymnasiums_check():
    in_a_child(
        ENVIRONMENTS
        + """
env = make()
check_env(env, skip_close_check=True)
env.reset(seed=0)
assert same(env.render(), first)
"""
    )


def test_an_environment_draws_in_whichever_thread_steps_it():
    in_a_child(
        ENVIRONMENTS
        + """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other:
    a = one.submit(make).result()
    assert same(a.render(), first)
    b = other.submit(make).result()
    assert same(other.submit(a.render).result(), first)
    assert same(one.submit(b.render).result(), first)
    b.close()
    assert same(one.submit(walked, a).result(), second)
    one.submit(a.close).result()
"""
    )


@pytest.mark.slow
@pytest.mark.parametrize("egl", [True, False])
def test_two_renderers_in_every_order(egl):
    """Opening, two pictures and closing of one, in every order with those of another that shows something else."""
    printed = in_a_child(f"""
import itertools, numpy as np
from sandbox.plants.render import Renderer
from sandbox.report.shapes import box_mesh
def opened(width, height, colour, half):
    renderer = Renderer(width, height, egl={egl})
    box = box_mesh(np.array(half))
    renderer.add(box.vertices, box.normals, box.faces, colour)
    return renderer
KINDS = ((96, 64, (220, 30, 30), (0.5, 0.1, 0.1)), (64, 96, (30, 30, 220), (0.1, 0.1, 0.5)))
def picture(renderer):
    return renderer.picture((3.0, 1.0, 1.0), (0.0, 0.0, 0.0))
alone = []
for kind in KINDS:
    renderer = opened(*kind)
    alone.append(picture(renderer))
    renderer.close()
assert alone[0].shape == (64, 96, 3) and np.ptp(alone[0]) > 100
orders = 0
for order in itertools.product((0, 1), repeat=8):
    if sum(order) != 4:
        continue
    done, renderers = [0, 0], [None, None]
    for k in order:
        if done[k] == 0:
            renderers[k] = opened(*KINDS[k])
        elif done[k] < 3:
            assert np.array_equal(picture(renderers[k]), alone[k]), order
        else:
            renderers[k].close()
        done[k] += 1
    orders += 1
print(orders)
""")
    assert printed.split()[-1] == "70"


def test_egl_that_ends_its_process_is_survived(monkeypatch):
    monkeypatch.setattr(render, "_PROBE", "import os; os.abort()")
    assert render.egl_plugin.__wrapped__() is None
    assert os.getpid()
