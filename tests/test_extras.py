"""Without an optional package each command that needs it ends in one line with the command that installs it, and leaves nothing behind."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.bodies import Anatomy
from sandbox.cli.common import EXTRAS, NEEDS
from sandbox.plants.boulic import walk

# Command, the packages that it lacks, and the extras that its message names.
COMMANDS = [
    ("view walk --no-browser", ["viser"], "view"),
    ("view walk.npz --no-browser", ["viser"], "view"),
    ("view lo-003 --preset overreach --no-browser", ["viser"], "view"),
    ("bench view", ["viser"], "view"),
    ("run walk --seconds 1 --replay out/a.html", ["viser"], "view"),
    ("report walk.npz --replay out/a.html", ["viser"], "view"),
    ("replay walk.npz --html out/a.html", ["viser"], "view"),
    ("experiment run lo-003 --out out/e", ["viser"], "view"),
    ("experiment run lo-003 --out out/e", ["matplotlib"], "report"),
    ("run walk --seconds 1 --picture out/a.png", ["matplotlib"], "report"),
    ("report walk.npz --picture out/a.png", ["matplotlib"], "report"),
    ("measure walk.npz --out out/m", ["matplotlib"], "report"),
    ("measure walk.npz --out out/m", ["plotly"], "report"),
    ("compare --seconds 4 --out out/c", ["plotly"], "report"),
    ("bench measure", ["plotly"], "report"),
    ("gallery --out out/g", ["matplotlib"], "report"),
    ("gallery --out out/g", ["PIL"], "video"),
    ("replay walk.npz --sheet out/a.png", ["PIL"], "video"),
    ("replay walk.npz --sheet out/a.png", ["PIL", "matplotlib"], "video,report"),
    ("replay walk.npz --video out/a.mp4", ["imageio"], "video"),
    ("replay walk.npz --video out/a.mp4", ["av"], "video"),
    ("report walk.npz --video out/a.gif", ["PIL"], "video"),
    ("run walk --seconds 1 --video out/a.mp4", ["av", "imageio", "PIL"], "video"),
    ("measure clip.bvh", ["pybvh"], "mocap"),
    ("measure clip.c3d", ["ezc3d"], "mocap"),
    ("export walk.npz out/a.c3d", ["ezc3d"], "mocap"),
    ("tune --out out/t.toml", ["cma"], "tune"),
    ("train --task walk --steps 4096 --out out/r", ["stable_baselines3"], "train"),
    ("train --task walk --steps 4096 --out out/r", ["torch"], "train"),
    ("train --task walk --steps 4096 --out out/r", ["tensorboard"], "train"),
    ("cluster", ["distributed"], "cluster"),
]

# How a package can be missing: no finder knows it; a finder raises; it is there, and broken.
CHILD = """
import contextlib, importlib.abc, importlib.machinery, io, json, sys
from sandbox import cli

class Missing(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    lacks, how = (), ""
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.lacks:
            if self.how == "raises":
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)
            return importlib.machinery.ModuleSpec(name, self)
    def create_module(self, spec):
        raise ImportError(f"cannot open shared object of {spec.name}", name=spec.name)
    def exec_module(self, module):
        pass

finders = list(sys.meta_path)
class Blind(importlib.abc.MetaPathFinder):
    def __init__(self, finder, lacks):
        self.finder, self.lacks = finder, lacks
    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in self.lacks else self.finder.find_spec(name, path, target)

found = []
for command, lacks in json.loads(sys.stdin.read()):
    for name in [name for name in sys.modules if name.partition(".")[0] in lacks]:
        del sys.modules[name]
    if sys.argv[1] == "absent":
        sys.meta_path[:] = [Blind(finder, lacks) for finder in finders]
    else:
        missing = Missing()
        missing.lacks, missing.how = lacks, sys.argv[1]
        sys.meta_path[:] = [missing, *finders]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = cli.main(command.split())
    found.append([code, err.getvalue()])
sys.meta_path[:] = finders
print(json.dumps(found))
"""


def _run(how: str, commands: list[tuple[str, list[str]]], folder: Path) -> list[tuple[int, str]]:
    walk(1.0, 4.0, Anatomy(), 120).save(folder / "walk.npz")
    for name in ("clip.bvh", "clip.c3d"):
        (folder / name).write_text("nothing")
    done = subprocess.run(
        [sys.executable, "-c", CHILD, how], input=json.dumps(commands), capture_output=True, text=True, check=False, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return [(code, err) for code, err in json.loads(done.stdout.splitlines()[-1])]


@pytest.mark.parametrize("how", ["absent", "raises"])
def test_a_missing_extra_is_one_line_with_the_command_that_installs_it(how: str, tmp_path: Path) -> None:
    found = _run(how, [(command, lacks) for command, lacks, _ in COMMANDS], tmp_path)
    for (command, lacks, extra), (code, err) in zip(COMMANDS, found, strict=True):
        assert code == 2, (command, err)
        assert err.count("\n") == 1, (command, err)
        assert f'pip install "locomotion-sandbox[{extra}]"' in err, (command, err)
        assert all(package in err for package in lacks), (command, err)
    assert not (tmp_path / "out").exists()


def test_a_broken_extra_is_one_line_as_well(tmp_path: Path) -> None:
    """A library that is found and cannot be loaded shows itself when it is used."""
    commands = [("view walk.npz --no-browser", ["viser"]), ("measure clip.bvh", ["pybvh"]), ("replay walk.npz --html a.html", ["viser"])]
    for (command, lacks), (code, err) in zip(commands, _run("broken", commands, tmp_path), strict=True):
        assert code == 2, (command, err)
        assert "Traceback" not in err
        assert f"sandbox: this needs {lacks[0]} (cannot open shared object" in err, (command, err)
        assert "pip install" in err


def test_every_optional_package_is_tried() -> None:
    assert {package for _, lacks, _ in COMMANDS for package in lacks} == set(EXTRAS)
    assert {package for packages in NEEDS.values() for package in packages} <= set(EXTRAS)


def test_the_extras_are_those_of_the_package() -> None:
    import tomllib

    text = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    extras = tomllib.loads(text)["project"]["optional-dependencies"]
    distribution = {"PIL": "pillow", "stable_baselines3": "stable-baselines3"}
    for package, extra in EXTRAS.items():
        assert any(line.startswith(distribution.get(package, package)) for line in extras[extra]), package
