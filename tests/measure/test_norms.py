"""The norms: figures as published, and the committed curves as derived from their source."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from sandbox.measure import klaw_cadence, wbds_cadence, wbds_stride_leg, young_adults

SHARED = Path(os.environ.get("SANDBOX_DATA", Path(__file__).parents[3] / "shared" / "data"))


def test_the_band() -> None:
    norm = young_adults()
    assert (norm.subjects, norm.froude, norm.speed) == (24, 0.18, pytest.approx(1.2446))
    for band in (norm.hip, norm.knee, norm.ankle):
        assert band.mean_deg.shape == band.sd_deg.shape == (101,)
        assert 1 < band.sd_deg.mean() < 9
        assert abs(band.mean_deg[0] - band.mean_deg[-1]) < 1.5, "a cycle closes"
    assert norm.froude == pytest.approx(norm.speed**2 / (9.81 * norm.leg), abs=0.001)
    assert np.argmax(norm.knee.mean_deg[55:]) + 55 == 74
    assert np.argmin(norm.hip.mean_deg) == 54
    assert "CC BY 4.0" in norm.source
    assert "Fukuchi" in norm.source


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.is_dir(), reason="no reference data")
def test_the_band_is_what_its_source_says() -> None:
    curves = json.loads((SHARED / "norms" / "wbds_young24_comfortable.json").read_text())["curves"]
    norm = young_adults()
    hip = np.array(curves["hip"]["mean"]) - np.array(curves["pelvisTilt"]["mean"])
    np.testing.assert_allclose(norm.hip.mean_deg, hip, atol=6e-4)
    for name in ("knee", "ankle"):
        np.testing.assert_allclose(getattr(norm, name).mean_deg, curves[name]["mean"], atol=6e-4)
        np.testing.assert_allclose(getattr(norm, name).sd_deg, curves[name]["sd"], atol=6e-4)
    np.testing.assert_allclose(norm.foot_deg, curves["foot"]["mean"], atol=6e-4)


@pytest.mark.parametrize(("speed", "cadence", "step"), [(0.4, 58.8, 0.408), (0.8, 83.1, 0.578), (1.2, 101.8, 0.707), (2.0, 131.4, 0.913)])
def test_klaw_law_for_a_body_of_1738_mm(speed: float, cadence: float, step: float) -> None:
    got = klaw_cadence(speed, 1.738)
    assert got == pytest.approx(cadence, abs=0.1)
    assert 60 * speed / got == pytest.approx(step, abs=0.001)
    assert klaw_cadence(9.0, 1.738) == 182.0


def test_stride_of_young_adults_at_their_comfortable_speed() -> None:
    assert wbds_stride_leg(0.18) == pytest.approx(1.454, abs=0.001)
    cadence = wbds_cadence(1.2446, 0.8785)
    assert cadence == pytest.approx(116.9, abs=0.3)
    assert wbds_stride_leg(0.18) * 0.8785 * cadence / 120 == pytest.approx(1.2446, rel=2e-3)
