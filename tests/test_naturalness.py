"""The guard: the shipped gaits may not move away from people. A deliberate change is accepted with ``sandbox naturalness --rebase``."""

from __future__ import annotations

import copy

import pytest

from sandbox.measure.people import GPS_CURVES
from sandbox.naturalness import PEERS, ROUTE, SPEEDS, baseline, before, measure, measure_all, moved_away, ranking, route_pops, route_text

GAITS = [(plant, speed) for plant, speeds in SPEEDS.items() for speed in speeds]


def test_the_baseline_is_complete() -> None:
    known = baseline()
    assert [(gait["plant"], gait["speed_mps"]) for gait in known] == GAITS
    for gait in known:
        assert gait["fell"] is None
        assert 0 < gait["gps_deg"] < 15
        assert set(GPS_CURVES) <= gait["curves"].keys()
        assert len(gait["curves"]) > 30


@pytest.mark.parametrize(("plant", "speed"), GAITS)
def test_a_shipped_gait_does_not_move_away_from_people(plant: str, speed: float) -> None:
    now = measure(plant, speed)
    old = before(now, baseline())
    assert old is not None
    assert moved_away(now, old) == []


def test_the_same_gait_twice_gives_the_same_figures() -> None:
    assert measure("kinematic", 0.8) == measure("kinematic", 0.8)


def test_a_published_walk_is_measured_beside_them_and_guarded_by_nothing() -> None:
    gaits = measure_all(tuple(PEERS))
    assert [(gait["plant"], gait["speed_mps"]) for gait in gaits] == [(name, speed) for name, speeds in PEERS.items() for speed in speeds]
    known = baseline()
    for gait in gaits:
        assert gait["fell"] is None
        assert 5 < gait["gps_deg"] < 15
        assert before(gait, known) is None
    assert "boulic 1.2" in ranking([*known[:1], *gaits], known)


def test_what_moved_away_is_told() -> None:
    old = baseline()[0]
    now = copy.deepcopy(old)
    assert moved_away(now, old) == []
    now["gps_deg"] -= 3
    now["curves"]["knee"]["rms"] += 0.9
    assert moved_away(now, old) == []
    now["gps_deg"] = old["gps_deg"] + 0.6
    now["curves"]["knee"]["rms"] = old["curves"]["knee"]["rms"] + 1.1
    now["curves"]["toe_height"]["rms"] = old["curves"]["toe_height"]["rms"] + 0.02
    del now["curves"]["thigh"]
    lines = moved_away(now, old)
    assert len(lines) == 4
    assert "kinematic at 0.5 m/s: Gait Profile Score" in lines[0]
    assert any("knee" in line and "1 allowed" in line for line in lines)
    assert any("thigh is not measured any more" in line for line in lines)
    assert moved_away(now | {"fell": 3.2}, old) == ["kinematic at 0.5 m/s: fell after 3.20 s"]


def test_ranking_shows_the_change() -> None:
    old = baseline()[:1]
    now = copy.deepcopy(old)
    now[0]["curves"]["knee"]["distance"] += 2.0
    now[0]["gps_deg"] += 1.5
    text = ranking(now, old)
    rows = [line for line in text.splitlines() if line.startswith(("Gait Profile", "Knee"))]
    assert "(+1.5)" in rows[0]
    assert "(+2.0)" in rows[1]
    assert text.splitlines()[6].startswith("Gait Profile Score")
    assert "mocap.cs.cmu.edu" in text


def test_jerks_on_the_route_have_time_and_state() -> None:
    found = route_pops("kinematic")
    assert found.fell is None
    assert {"thigh", "head", "trunk"} <= {name.split("_")[-1] for name in found.largest}
    assert max(found.largest.values()) >= max((pop.acceleration for _, pop in found.pops), default=0.0) - 1e-9
    names = [name for name, *_ in ROUTE]
    for part, pop in found.pops:
        assert part in names
        assert pop.state.startswith("left ")
    text = route_text(found)
    assert text.startswith("kinematic: pops above 2 deg/frame^2 on the route")
    assert "largest of each segment" in text
