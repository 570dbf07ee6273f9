"""Recordings on the page: what is drawn is what was recorded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from sandbox.mechanics import support_margin, support_polygon
from sandbox.recording import Recording
from sandbox.report.scene import check_drawable
from sandbox.report.support import contact_corners
from sandbox.state import FEET, ContactState
from sandbox.viewer.drawing import BURIED, FORCE_LENGTH, LAYERS, SEE_THROUGH, SHOWN_TORQUE, PageError, open_server
from sandbox.viewer.frame import frames_of
from sandbox.viewer.live import close_server
from sandbox.viewer.player import Player

pytest.importorskip("viser")
MM = 1e-3


class Click:
    """What a browser sends."""

    def __init__(self, value: object) -> None:
        self.target = self
        self.value, self.client = value, object()


@pytest.fixture(scope="module")
def player(walk: Recording) -> Iterator[Player]:
    player = Player([walk], ["walk.npz"], "side", "127.0.0.1", 8300)
    player.seek(0.5)
    yield player
    player.close()


def shown(player: Player, handle: Any) -> np.ndarray:
    """Where in the world a batch is drawn: its frame is at the place that everybody looks at."""
    return np.asarray(handle.batched_positions, dtype=float) + player.camera.origin


def lines(player: Player, handle: Any) -> np.ndarray:
    return np.asarray(handle.points, dtype=float) + player.camera.origin


@pytest.mark.parametrize("time", [0.5, 1.234, 3.0, 4.567, 6.0])
def test_markers_are_where_the_points_were(player: Player, walk: Recording, time: float) -> None:
    player.seek(time)
    row = int(np.searchsorted(walk.time, time - 1e-9))
    figure = player.films[0].figure
    assert np.abs(shown(player, figure._markers) - walk.points[row]).max() < MM
    assert np.abs(shown(player, figure._com)[0] - walk.com[row]).max() < MM
    assert np.abs(shown(player, figure._xcom)[0, :2] - walk.xcom[row, :2]).max() < MM
    # the drawn thighs begin at the hips, and the drawn shanks end at the ankles
    drawn = np.concatenate([shown(player, batch.handle) for batch in figure._batches if batch.ends])
    for name in ("left_hip", "right_hip", "left_knee", "right_knee", "left_ankle", "right_ankle"):
        assert np.linalg.norm(drawn - walk.point(name)[row], axis=1).min() < MM, name


def test_the_world_goes_past_the_camera(player: Player, walk: Recording) -> None:
    """What is drawn from where everybody looks stands on the ground where it stood: both frames turn and move together."""
    for time in (1.0, 4.0, 6.0):
        player.seek(time)
        world, bodies = (player.server.scene.get_handle_by_name(name) for name in ("/world", "/bodies"))
        w, _, _, z = world.wxyz
        assert bodies.wxyz == pytest.approx(world.wxyz)
        assert tuple(bodies.position) == (0.0, 0.0, 0.0)
        turn = np.array([[w * w - z * z, -2 * w * z, 0], [2 * w * z, w * w - z * z, 0], [0, 0, 1]])
        assert turn @ player.camera.origin + world.position == pytest.approx(np.zeros(3), abs=1e-9)
        row = player.row(player.films[0])
        assert np.hypot(*(player.camera.origin - walk.point("mid_hip")[row])[:2]) < 1e-9
        forward = turn @ np.array([-np.sin(walk.heading[row]), np.cos(walk.heading[row]), 0.0])
        assert forward == pytest.approx([0.0, 1.0, 0.0], abs=1e-9), "it always walks the same way across the picture"
    player.camera.look_from("free")
    stood = tuple(player.server.scene.get_handle_by_name("/world").position)
    player.seek(2.0)
    assert tuple(player.server.scene.get_handle_by_name("/world").position) == stood
    assert np.abs(shown(player, player.films[0].figure._markers) - walk.points[player.row(player.films[0])]).max() < MM
    player.camera.look_from("side")


def test_forces_are_arrows_from_the_pressure(player: Player, walk: Recording) -> None:
    weight = 9.81 * walk.header["body"]["mass_kg"]
    seen = 0
    for row in range(100, len(walk), 41):
        player.seek(float(walk.time[row]))
        arrows = lines(player, player.films[0].figure._arrows)
        for foot in range(2):
            force = walk.ground_force[row, foot]
            if force[2] > 0.05 * weight:
                seen += 1
                assert np.abs(arrows[foot, 0] - walk.centre_of_pressure[row, foot]).max() < MM
                length = FORCE_LENGTH * player.films[0].figure.scale / weight * force
                assert np.abs(arrows[foot, 1] - arrows[foot, 0] - length).max() < MM
            elif force[2] == 0:
                assert arrows[foot, 0, 2] < BURIED / 2
    assert seen > 10


def test_support_polygon_and_margin(player: Player, walk: Recording) -> None:
    row = int(np.flatnonzero((walk.contact_state > 0).all(axis=1))[-1])  # double support
    player.seek(float(walk.time[row]))
    figure = player.films[0].figure
    at = {name: walk.points[row, k] for k, name in enumerate(walk.header["point_names"])}
    polygon = support_polygon(contact_corners(at, walk.contact_state[row], walk.header["body"]["foot_half_width_m"]))
    edges = lines(player, figure._support)
    drawn = edges[edges[:, 0, 2] > BURIED / 2]
    assert len(drawn) == len(polygon) >= 4
    assert np.abs(np.sort(drawn[:, 0, :2], axis=0) - np.sort(polygon, axis=0)).max() < MM
    assert figure.margin == pytest.approx(support_margin(walk.xcom[row, :2], polygon))


def test_the_pressure_of_a_flat_foot_lies_in_its_support(walk: Recording) -> None:
    seen = 0
    for row in range(150, len(walk), 7):
        at = {name: walk.points[row, k] for k, name in enumerate(walk.header["point_names"])}
        for foot in range(2):
            if walk.contact_state[row, foot] == ContactState.FLAT:
                alone = np.where(np.arange(2) == foot, ContactState.FLAT, ContactState.AIRBORNE)
                corners = contact_corners(at, alone, walk.header["body"]["foot_half_width_m"])
                margin = support_margin(walk.centre_of_pressure[row, foot, :2], support_polygon(corners))
                assert margin is not None
                assert margin > -0.005
                seen += 1
    assert seen > 20


def test_planned_and_actual_touchdowns(walk: Recording) -> None:
    frames = frames_of(walk)
    for k, (time, foot) in enumerate(zip(walk.foothold_time, walk.foothold_foot, strict=True)):
        before = frames[int(np.searchsorted(walk.time, time)) - 5]
        after = frames[int(np.searchsorted(walk.time, time)) + 5]
        assert before["foothold"] == pytest.approx(walk.foothold_position[k])
        assert before["foothold_foot"] == foot
        assert after["landed"] == k + 1
        assert after["planned"] == pytest.approx(walk.foothold_position[k])
        ankle = walk.point(f"{FEET[foot]}_ankle")[int(np.searchsorted(walk.time, time - 1e-9))]
        assert after["actual"][:2] == pytest.approx(ankle[:2])
        assert np.hypot(*(after["actual"] - after["planned"])[:2]) < 0.2, "it is the same step"


def test_overlays_can_be_switched(player: Player) -> None:
    figure = player.films[0].figure
    assert set(figure.handles) == set(LAYERS) - {SEE_THROUGH}
    for name in LAYERS:
        for wanted in (False, True):
            player._switch(name, wanted)
            assert all(handle.visible == wanted for handle in figure.handles.get(name, ())), name
    assert all(handle.opacity is not None for handle in figure.handles["body"])
    player._switch(SEE_THROUGH, False)
    assert all(handle.opacity is None for handle in figure.handles["body"])


def test_torques_and_envelopes(player: Player, walk: Recording) -> None:
    figure = player.films[0].figure
    player.seek(3.0)
    row = player.row(player.films[0])
    limits = np.array(walk.header["joint_max_torque"])
    share = np.abs(walk.tau[row]) / limits
    places = [walk.header["joint_names"][k] for *_, which in figure._joints for k in which]
    assert set(places) == set(walk.header["joint_names"]), "every joint is drawn somewhere"
    colours, places = np.asarray(figure._torques.batched_colors), shown(player, figure._torques)
    for (*_, which), colour, place in zip(figure._joints, colours, places, strict=True):
        most = share[which].max()
        assert (place[2] > 0) == (most > SHOWN_TORQUE), "joints that do nothing are left out"
        assert colour[1] == pytest.approx(240 * (1 - min(1.0, most)), abs=1), "the more torque, the redder"
    frame = player.films[0].frames[row].copy()
    knee = walk.header["joint_names"].index("left_knee_flexion")
    frame["q"][knee] = 3.0
    figure.show(frame)
    assert any(text.startswith("left_knee_flexion 172°") and "outer" in text for text in figure.violations)


def test_scrub_step_speed_and_loop(player: Player, walk: Recording) -> None:
    player._scrubbed(Click(2.0))
    assert (player.time, player.playing) == (2.0, False)
    player._press("next")
    assert player.time == pytest.approx(2.0 + 1 / 120)
    player._press("back")
    player._press("back")
    assert player.time == pytest.approx(2.0 - 1 / 120)
    player._press("play")
    player.speed.value, player.loop.value = 2.0, (1.0, 3.0)
    player.seek(2.9)
    player.advance(0.02)
    assert player.time == pytest.approx(2.94)
    player.advance(0.1)
    assert player.time == 1.0, "B leads back to A"
    player._press("pause")
    player.advance(1.0)
    assert player.time == 1.0
    player._scrubbed(Click(float("nan")))
    player._scrubbed(Click(99.0))
    assert player.time == walk.duration


def test_figures_of_the_last_stride(player: Player) -> None:
    player.speed.value, player.loop.value = 1.0, (0.0, 6.0)
    player.seek(5.9)
    player._stride = -1
    player.measure()
    text = player.plots._table.content
    assert "| cadence |" in text
    assert "| double support |" in text
    _, high, low, left, right = player.plots._angles["knee"].data
    assert np.nanmax(left) > 40
    assert np.nanmax(right) > 40
    assert (high > low).all()
    time, asked, walked = player.plots._speed.data
    assert asked[-1] == 1.0
    assert walked[-1] == pytest.approx(1.0, abs=0.2)
    assert len(time) > 60


def test_two_recordings(walk: Recording) -> None:
    late = Recording(walk.header, {**walk.columns, "points": walk.points + np.array([0.0, 0.1, 0.0])})
    for together, offset, overlays in (("side", 1.3, True), ("ghost", 0.0, False)):
        player = Player([walk, late], ["a.npz", "b.npz"], together, "127.0.0.1", 8300)
        player.seek(2.0)
        second = player.films[1].figure
        assert (len(second.handles) > 1) == overlays
        assert player.films[0].figure.opacity == 1.0
        assert (second.opacity < 1) == (together == "ghost")
        first, other = (np.concatenate([shown(player, b.handle) for b in film.figure._batches]) for film in player.films)
        assert np.abs(other - first - [0.0, 0.1, 0.0]).max() < MM
        assert np.hypot(*player.server.scene.get_handle_by_name("/bodies/1").position[:2]) == pytest.approx(offset)
        player.close()


def test_points_alone_are_played(walk: Recording) -> None:
    bare = Recording({k: v for k, v in walk.header.items() if k != "joint_names"}, {"time": walk.time, "points": walk.points})
    player = Player([bare], ["capture.npz"], "side", "127.0.0.1", 8300)
    player.seek(1.0)
    player.measure()
    assert np.abs(shown(player, player.films[0].figure._markers) - walk.points[player.row(player.films[0])]).max() < MM
    player.close()


def test_what_cannot_be_drawn(walk: Recording) -> None:
    with pytest.raises(ValueError, match="lacks the body points mid_hip"):
        check_drawable(Recording({**walk.header, "point_names": ["a"]}, {"time": walk.time, "points": walk.points[:, :1]}), "x.npz")
    with pytest.raises(ValueError, match="no rows"):
        check_drawable(Recording(walk.header, {k: v[:0] for k, v in walk.columns.items()}), "x.npz")


def test_the_server_listens_on_loopback_and_takes_the_next_port() -> None:
    first = open_server("127.0.0.1", 8310)
    second = open_server("127.0.0.1", 8310)
    try:
        assert first.get_host() == second.get_host() == "127.0.0.1"
        assert first.get_port() < second.get_port() <= 8320
    finally:
        close_server(first)
        close_server(second)
    with pytest.raises(PageError, match="1-65535"):
        open_server("127.0.0.1", 70_000)
    with pytest.raises(PageError, match="give another --port or --host"):
        open_server("no.such.host.invalid", 8310)
