"""The package as others get it: one import root, light to import, complete in the wheel, pinned without addresses."""

import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import sandbox

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
FOLDERS = ("bodies", "controllers", "envs", "experiments")
HEAVY = ("matplotlib", "numba", "pinocchio", "plotly", "pybullet", "scipy", "tyro", "viser")

IMPORT_EVERYTHING = """
import importlib, pkgutil, sys, sandbox
for module in pkgutil.walk_packages(sandbox.__path__, "sandbox."):
    if module.name.split(".")[1] in sandbox_names and not module.name.endswith("__main__"):
        importlib.import_module(module.name)
print(*sys.modules)
"""


def python(code: str, *, cwd: Path | None = None) -> str:
    done = subprocess.run([sys.executable, "-I", "-c", code], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def modules() -> set[str]:
    """Names of the modules right below ``sandbox``, the four linked folders included."""
    paths = [p for p in (ROOT / "sandbox").iterdir() if p.suffix == ".py" or (p / "__init__.py").is_file()]
    return {p.stem for p in paths} - {"__init__", "__main__"}


# One import root


@pytest.mark.parametrize("folder", FOLDERS)
def test_links_are_links(folder: str) -> None:
    link = ROOT / "sandbox" / folder
    assert link.is_symlink()
    assert link.readlink() == Path("..") / folder


def test_no_module_imports_a_bare_folder() -> None:
    loaded = python(f"sandbox_names = {sorted(modules())}\n{IMPORT_EVERYTHING}").split()
    assert "sandbox.bodies" in loaded
    assert not {name for name in loaded if name.split(".")[0] in FOLDERS}


def test_checkout_without_links(tmp_path: Path) -> None:
    """As an unpacked source distribution has it, or Git on Windows, which writes a link as a small text file."""
    shutil.copytree(ROOT / "sandbox", tmp_path / "sandbox", symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
        (tmp_path / "sandbox" / folder).unlink()
    (tmp_path / "sandbox" / "envs").write_text("../envs")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import sandbox.bodies, sandbox.envs; print(sandbox.envs.__file__)"
    assert Path(python(code).strip()) == tmp_path / "envs" / "__init__.py"


# Import


def test_import_is_light() -> None:
    code = "import time, sys; start = time.process_time(); import sandbox; print(time.process_time() - start, *sys.modules)"
    cpu, *loaded = python(code).split()
    assert float(cpu) <= 0.5  # [s]
    assert not set(HEAVY) & set(loaded)


@pytest.mark.parametrize("name", ["Sandbox/Walk-v0", "Sandbox/Stand-v0"])
def test_environments_are_made_with_no_further_import(name: str, tmp_path: Path) -> None:
    python(f"import gymnasium; gymnasium.make('sandbox:{name}').close()", cwd=tmp_path)


# Layers


def test_every_module_has_its_layer() -> None:
    contract = next(c for c in PROJECT["tool"]["importlinter"]["contracts"] if c["id"] == "layers")
    listed = {name.strip(" ()") for layer in contract["layers"] for name in layer.split("|")}
    assert modules() <= listed


# Requirements


def constraints() -> list[Requirement]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return [Requirement(line) for line in lines if line and not line.startswith("#")]


def requirements() -> list[Requirement]:
    project = PROJECT["project"]
    return [Requirement(r) for group in (project["dependencies"], *project["optional-dependencies"].values()) for r in group]


def test_constraints_pin_every_requirement_within_its_range() -> None:
    pinned = {canonicalize_name(c.name): next(iter(c.specifier)).version for c in constraints()}
    for requirement in requirements():
        assert requirement.specifier.contains(pinned[canonicalize_name(requirement.name)]), requirement


def test_constraints_are_exact_and_name_no_place() -> None:
    for constraint in constraints():
        (specifier,) = constraint.specifier
        assert specifier.operator == "=="
        assert constraint.url is None
        assert Version(specifier.version).local is None
        assert not constraint.name.startswith("nvidia")
    text = (ROOT / "constraints.txt").read_text()
    assert not re.search(r"https?:|--(extra-)?index|--find-links", text)


def test_environment_script_installs_every_extra() -> None:
    script = (ROOT / ".ci" / "setup").read_text()
    walk = re.search(r"^walk_extras=(.*)$", script, re.MULTILINE)
    everything = re.search(r"^all_extras=(.*)$", script, re.MULTILINE)
    assert walk is not None
    assert everything is not None
    names = everything.group(1).replace("$walk_extras", walk.group(1)).split(",")
    assert set(names) == set(PROJECT["project"]["optional-dependencies"])


# Wheel and source distribution


def test_wheel_holds_the_package_and_nothing_beside_it(tmp_path: Path) -> None:
    wheel = zipfile.ZipFile(next(WheelBuilder(str(ROOT)).build(directory=str(tmp_path))))
    packed = set(wheel.namelist())
    assert {name.split("/")[0] for name in packed} == {"sandbox", f"locomotion_sandbox-{sandbox.__version__}.dist-info"}
    assert "sandbox/py.typed" in packed
    assert packed >= {f"sandbox/{path}" for path in shipped("sandbox")}
    for folder in FOLDERS:
        assert packed >= {f"sandbox/{folder}/{path}" for path in shipped(folder)}


def test_source_distribution_holds_no_link(tmp_path: Path) -> None:
    with tarfile.open(next(SdistBuilder(str(ROOT)).build(directory=str(tmp_path)))) as archive:
        members = archive.getmembers()
    names = {name.partition("/")[2] for name in (member.name for member in members)}
    assert not [member.name for member in members if member.issym()]
    assert not [name for name in names if name.startswith(tuple(f"sandbox/{folder}/" for folder in FOLDERS))]
    for folder in ("sandbox", *FOLDERS):
        assert names >= {f"{folder}/{path}" for path in shipped(folder)}


def shipped(folder: str) -> set[str]:
    """Source and data of a folder, relative to it, not through links."""
    tracked = subprocess.run(["git", "ls-files", folder], cwd=ROOT, capture_output=True, text=True, check=False)
    if tracked.returncode != 0:
        pytest.skip("not a git checkout")
    files = {Path(name) for name in tracked.stdout.splitlines()}
    return {str(path.relative_to(folder)) for path in files if not (ROOT / path).is_symlink() and (ROOT / path).exists()}
