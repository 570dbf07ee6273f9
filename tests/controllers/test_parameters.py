"""Parameters: names and values that are refused, files, the hash, and scaling to other bodies."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest

from sandbox.bodies import Anatomy
from sandbox.controllers.parameters import _DIMENSIONS, PARAMETERS_DTYPE, REFERENCE, Parameters
from sandbox.conventions import GRAVITY

FIELDS = dataclasses.fields(Parameters)


@pytest.mark.parametrize("field", FIELDS, ids=lambda f: f.name)
def test_every_field_has_a_unit_a_range_and_a_meaning(field) -> None:
    meta = field.metadata
    assert meta["unit"] in _DIMENSIONS
    assert meta["low"] < meta["high"]
    assert meta["low"] <= field.default <= meta["high"]
    assert meta["doc"]


def test_shipped_values_are_finite_and_within_their_ranges() -> None:
    shipped = Parameters.load()
    for field in FIELDS:
        value = getattr(shipped, field.name)
        assert isinstance(value, float)
        room = 0.2 * (field.metadata["high"] - field.metadata["low"])
        assert field.metadata["low"] - room <= value <= field.metadata["high"] + room, field.name


def test_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(ValueError, match="unknown parameter 'step_widht': did you mean 'step_width'"):
        Parameters().replace({"step_widht": 0.1})
    with pytest.raises(ValueError, match="unknown parameter 'qqqqq': known are .*step_width"):
        Parameters().replace({"qqqqq": 0.1})


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, "0.1", None, True, [0.1]])
def test_a_value_that_is_no_finite_number_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="parameter step_width = .* is not a finite number"):
        Parameters().replace({"step_width": value})


def test_replace_leaves_the_original_and_the_rest() -> None:
    before = Parameters()
    after = before.replace({"step_width": 1, "toe_out": 0.2})
    assert before == Parameters()
    assert (after.step_width, after.toe_out) == (1.0, 0.2)
    assert isinstance(after.step_width, float), "a whole number becomes a float, so that the hash does not depend on how it was typed"
    unchanged = dataclasses.asdict(after) | {"step_width": before.step_width, "toe_out": before.toe_out}
    assert unchanged == dataclasses.asdict(before)
    with pytest.raises(dataclasses.FrozenInstanceError):
        before.step_width = 0.2


# -- files -------------------------------------------------------------------------------------------------------------


def write(path: Path, values: dict[str, float]) -> Path:
    path.write_text("[parameters]\n" + "".join(f"{name} = {value!r}\n" for name, value in values.items()), encoding="utf-8")
    return path


def test_a_file_gives_back_what_was_written(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    values = {f.name: float(rng.uniform(f.metadata["low"], f.metadata["high"])) for f in FIELDS}
    written = Parameters().replace(values)
    read = Parameters.load(write(tmp_path / "all.toml", values))
    assert read == written
    assert read.hash == written.hash


def test_a_file_may_name_a_few(tmp_path: Path) -> None:
    assert Parameters.load(write(tmp_path / "few.toml", {"toe_out": 0.15})) == Parameters().replace({"toe_out": 0.15})
    assert Parameters.load(write(tmp_path / "none.toml", {})) == Parameters()


def test_bad_files_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="parameter file .*missing.toml: No such file"):
        Parameters.load(tmp_path / "missing.toml")
    (tmp_path / "text.toml").write_text("step_width 0.1", encoding="utf-8")
    with pytest.raises(ValueError, match="text.toml is not a TOML file"):
        Parameters.load(tmp_path / "text.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="bytes.toml is not a TOML file"):
        Parameters.load(tmp_path / "bytes.toml")
    with pytest.raises(ValueError, match="did you mean 'clearance'"):
        Parameters.load(write(tmp_path / "typo.toml", {"clearence": 0.03}))
    with pytest.raises(ValueError, match="step_width = nan is not a finite number"):
        Parameters.load(write(tmp_path / "nan.toml", {"step_width": math.nan}))


@pytest.mark.parametrize(
    "text",
    ["parameters = 3", "parameters = [1, 2]", "step_width = 0.2", "[paramters]\nstep_width = 0.2"],
    ids=["a number", "a list", "no table", "misspelt table"],
)
def test_a_file_without_the_table_is_refused(tmp_path: Path, text: str) -> None:
    """Instead of running the defaults under the file's name."""
    (tmp_path / "odd.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match="odd.toml"):
        Parameters.load(tmp_path / "odd.toml")


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=str(tmp_path.name)):
        Parameters.load(tmp_path)


# -- hash --------------------------------------------------------------------------------------------------------------


def test_the_hash_changes_with_every_field() -> None:
    base = Parameters()
    hashes = {base.hash} | {base.replace({f.name: math.nextafter(getattr(base, f.name), math.inf)}).hash for f in FIELDS}
    assert len(hashes) == len(FIELDS) + 1
    assert all(len(h) == 12 and int(h, 16) >= 0 for h in hashes)
    assert Parameters().hash == base.hash


# -- scaling -----------------------------------------------------------------------------------------------------------


def test_the_reference_body_has_the_values_as_they_are() -> None:
    record = Parameters().scaled(REFERENCE)
    assert record.shape == (1,)
    assert record.dtype == PARAMETERS_DTYPE
    for field in FIELDS:
        assert record[0][field.name] == field.default


# Of a body twice as heavy and 1.21 times as long: by hand.
BY_HAND = {
    "1": 1.0,
    "rad": 1.0,
    "m": 1.21,
    "s": 1.1,
    "1/s": 1 / 1.1,
    "1/s^2": 1 / 1.21,
    "m/s": 1.1,
    "m/s^2": 1.0,
    "N m/rad": 2 * 1.21,
    "N m s/rad": 2 * 1.21 * 1.1,
    "s/m": 1 / 1.1,
    "1/m": 1 / 1.21,
}


class Scaled:
    """A body in every proportion 1.21 times the reference, of twice its mass."""

    leg_length = 1.21 * REFERENCE.leg_length
    mass = 2 * REFERENCE.mass


def test_every_dimension_scales_by_mass_and_froude_time() -> None:
    assert set(BY_HAND) == set(_DIMENSIONS)
    record = Parameters().scaled(Scaled())[0]  # type: ignore[arg-type]
    for field in FIELDS:
        assert record[field.name] == pytest.approx(field.default * BY_HAND[field.metadata["unit"]], rel=1e-12), field.name


@pytest.mark.parametrize("anatomy", [Anatomy(55, 1.62), Anatomy(90, 1.85), Anatomy(110, 1.6, "male")], ids=lambda a: f"{a.mass:g}kg")
def test_nondimensional_numbers_match(anatomy: Anatomy) -> None:
    """A scaled value over the body's own unit of its dimension (leg, leg-pendulum time, mass) is that of the reference."""

    def unit(body: Anatomy, name: str) -> float:
        a, b, c = _DIMENSIONS[name]
        return float(body.leg_length**a * math.sqrt(body.leg_length / GRAVITY) ** b * body.mass**c)

    ours, theirs = Parameters.load().scaled(anatomy)[0], Parameters.load().scaled(REFERENCE)[0]
    for field in FIELDS:
        name = field.metadata["unit"]
        assert ours[field.name] / unit(anatomy, name) == pytest.approx(theirs[field.name] / unit(REFERENCE, name), rel=1e-12)


def test_height_and_frequency_fit_together() -> None:
    """Gravity is the same for all: omega^2 of the scaled CoM height scales as 1 / time^2, as the stiffness per mass does."""
    anatomy = Anatomy(90, 1.9)
    ours, theirs = Parameters().scaled(anatomy)[0], Parameters().scaled(REFERENCE)[0]
    assert ours.height_stiffness * ours.com_height == pytest.approx(theirs.height_stiffness * theirs.com_height, rel=1e-12)
    damping = [p.height_damping / math.sqrt(p.height_stiffness) for p in (ours, theirs)]
    assert damping[0] == pytest.approx(damping[1], rel=1e-12)
