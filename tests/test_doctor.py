import importlib.util
import os
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from sandbox import doctor
from sandbox.doctor import Finding


def test_finding_prints_its_remedy_below() -> None:
    assert str(Finding("numpy", True, "2.4.6")) == "ok     numpy               2.4.6"
    first, second = str(Finding("numpy", False, "not installed", "pip install numpy")).splitlines()
    assert first.startswith("WRONG  numpy")
    assert second.strip() == "pip install numpy"


def test_package_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "version", lambda name: "1.26.4")
    finding = doctor._package(Requirement("numpy>=2.0,<3"), {})
    assert not finding.ok
    assert "1.26.4, needs <3,>=2.0" in finding.detail


def test_package_other_than_tested() -> None:
    version = metadata.version("numpy")
    finding = doctor._package(Requirement("numpy"), {"numpy": "0.1"})
    assert finding.ok
    assert finding.detail == f"{version} (tested with 0.1)"


def test_missing_extra_is_no_fault_and_missing_package_is() -> None:
    absent = Requirement("no-such-distribution>=1")
    assert doctor._extra("view", [absent]).ok
    assert 'pip install "no-such-distribution>=1"' in doctor._extra("view", [absent]).remedy
    assert not doctor._package(absent, {}).ok


def test_not_installed_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "DISTRIBUTION", "no-such-distribution")
    (finding,) = doctor._packages()
    assert not finding.ok
    assert "not installed" in finding.detail


def test_tested_versions_are_those_of_constraints() -> None:
    assert set(doctor._tested_versions()) >= {"numpy", "pybullet", "pin"}


@pytest.mark.parametrize(
    ("code", "said"),
    [("import no_such_module", "No module named 'no_such_module'"), ("import os; os.abort()", "exit status -6")],
)
def test_native_library_that_does_not_load(monkeypatch: pytest.MonkeyPatch, code: str, said: str) -> None:
    finding = doctor._native("PyBullet", "pybullet", code)
    assert not finding.ok
    assert said in finding.detail
    assert "reinstall" in finding.remedy


def test_without_egl_it_is_tiny_renderer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("__EGL_VENDOR_LIBRARY_FILENAMES", os.devnull)
    (finding,) = doctor._renderer()
    assert finding.ok
    assert "TinyRenderer" in finding.detail
    assert "libegl1" in finding.remedy


def test_foreign_envs_does_no_harm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "envs").mkdir()
    (tmp_path / "envs" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    (finding,) = doctor._import_root()
    assert finding.ok
    assert str(tmp_path / "envs") in finding.detail


def test_foreign_folder_in_our_package_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "__init__.py").touch()
    foreign = importlib.util.spec_from_file_location("sandbox.envs", tmp_path / "__init__.py")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: foreign)
    (finding,) = doctor._import_root()
    assert not finding.ok


def test_numba_cache_goes_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    assert doctor._numba_cache() == [Finding("numba cache", True, str(tmp_path / "cache"))]


def test_numba_cache_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_writable", lambda folder: False)
    (finding,) = doctor._numba_cache()
    assert not finding.ok
    assert "NUMBA_CACHE_DIR" in finding.remedy


def test_a_check_that_raises_is_a_finding() -> None:
    def check() -> list[Finding]:
        raise RuntimeError("joint 3 is missing")

    (finding,) = doctor._guarded("five-second walk", check)
    assert not finding.ok
    assert finding.detail == "RuntimeError: joint 3 is missing"


@pytest.mark.parametrize(("ok", "status", "last"), [(True, 0, "all is well"), (False, 1, "1 to mend")])
def test_exit_status(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], ok: bool, status: int, last: str) -> None:
    monkeypatch.setattr(doctor, "_examine", lambda: iter([Finding("numpy", True, "2.4.6"), Finding("walk", ok, "")]))
    assert doctor.main() == status
    assert capsys.readouterr().out.splitlines()[-1] == last
