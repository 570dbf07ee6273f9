"""``sandbox doctor``: what this installation has, whether it walks, and how to mend what is wrong.

Each check gives a :class:`Finding`; none of them raises. Native libraries are tried in a process of their own, since one that
does not fit the machine (a wheel for another processor, EGL without a driver) ends the process that loads it.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from sandbox.console import silenced

DISTRIBUTION = "locomotion-sandbox"
PYTHON = (3, 11)
PROBE_TIMEOUT = 60.0  # [s], for one import in a fresh process on a slow disk
WALK_SECONDS = 5.0

_IMPORT_PYBULLET = """
import pybullet
client = pybullet.connect(pybullet.DIRECT)
pybullet.stepSimulation(physicsClientId=client)
print("numpy images" if pybullet.isNumpyEnabled() else "no numpy images")
"""

_IMPORT_PINOCCHIO = """
import numpy, pinocchio
model = pinocchio.buildSampleModelHumanoid()
pinocchio.crba(model, model.createData(), pinocchio.neutral(model))
print(f"{model.nv} degrees of freedom of its sample humanoid")
"""

# The plugin is not unloaded: some drivers crash then, and the process ends anyway.
_RENDER_WITH_EGL = """
import importlib.util, os, sys, pybullet
client = pybullet.connect(pybullet.DIRECT)
plugin = importlib.util.find_spec("eglRenderer")
if plugin is None or pybullet.loadPlugin(plugin.origin, "_eglRendererPlugin", physicsClientId=client) < 0:
    sys.exit(1)
pybullet.getCameraImage(64, 48, renderer=pybullet.ER_BULLET_HARDWARE_OPENGL, physicsClientId=client)
sys.stdout.flush()
os._exit(0)
"""


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        name: what was looked at.
        ok: whether the project works with it as it is.
        detail: what was found, in one line.
        remedy: how to mend it; where ``ok``, how to better it, or empty.
    """

    name: str
    ok: bool
    detail: str
    remedy: str = ""

    def __str__(self) -> str:
        text = f"{'ok   ' if self.ok else 'WRONG'}  {self.name:<18}  {self.detail}"
        return f"{text}\n{'':27}{self.remedy}" if self.remedy else text


def diagnose() -> list[Finding]:
    """Run every check; a check that fails in an unforeseen way is a finding too."""
    return list(_examine())


def main() -> int:
    """Print each finding as it is made; 0 where all is well, else 1."""
    wrong = 0
    for finding in _examine():
        print(finding, flush=True)
        wrong += not finding.ok
    print(f"{wrong} to mend" if wrong else "all is well")
    return 1 if wrong else 0


def _examine() -> Iterator[Finding]:
    yield from _guarded("Python", _python)
    yield from _guarded("packages", _packages)
    yield from _guarded("import root", _import_root)
    engines = [
        *_guarded("PyBullet", lambda: [_native("PyBullet", "pybullet", _IMPORT_PYBULLET)]),
        *_guarded("Pinocchio", lambda: [_native("Pinocchio", "pin", _IMPORT_PINOCCHIO)]),
    ]
    yield from engines
    yield from _guarded("numba cache", _numba_cache)
    yield from _guarded("renderer", _renderer)
    if all(finding.ok for finding in engines):
        yield from _guarded("five-second walk", _five_second_walk)
    else:
        yield Finding("five-second walk", False, "not tried, since an engine does not load")


def _guarded(name: str, check: Callable[[], list[Finding]]) -> list[Finding]:
    try:
        return check()
    except Exception as error:
        return [Finding(name, False, f"{type(error).__name__}: {error}", "this is not foreseen: please report it with this output")]


def _python() -> list[Finding]:
    name = f"{platform.python_implementation()} {platform.python_version()}, {platform.system()} {platform.machine()}"
    if sys.version_info[:2] != PYTHON or sys.implementation.name != "cpython":
        return [Finding("Python", False, name, "use CPython 3.11: PyBullet has wheels for no later one")]
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        return [Finding("Python", True, f"{name} (tested on Linux x86_64 only; elsewhere PyBullet is compiled from source)")]
    return [Finding("Python", True, name)]


def _packages() -> list[Finding]:
    """One finding for each needed distribution, and one for each extra but the tools for working on the project."""
    try:
        requirements = [Requirement(line) for line in metadata.requires(DISTRIBUTION) or []]
    except metadata.PackageNotFoundError:
        return [Finding("packages", False, f"{DISTRIBUTION} is not installed", "in the checkout: make test, or pip install -e .")]
    tested = _tested_versions()
    findings = []
    extras: dict[str, list[Requirement]] = defaultdict(list)
    for requirement in requirements:
        if requirement.marker is None:
            findings.append(_package(requirement, tested))
        elif (extra := _extra_of(requirement)) != "dev":
            extras[extra].append(requirement)
    return findings + [_extra(name, members) for name, members in extras.items()]


def _package(requirement: Requirement, tested: dict[str, str]) -> Finding:
    version = _installed(requirement.name)
    install = _install(requirement)
    if version is None:
        return Finding(requirement.name, False, "not installed", install)
    if not requirement.specifier.contains(version, prereleases=True):
        return Finding(requirement.name, False, f"{version}, needs {requirement.specifier}", install)
    expected = tested.get(canonicalize_name(requirement.name), version)
    return Finding(requirement.name, True, version if version == expected else f"{version} (tested with {expected})")


def _extra(name: str, members: list[Requirement]) -> Finding:
    versions = {member.name: _installed(member.name) for member in members}
    missing = [member for member, version in versions.items() if version is None]
    outside = [f"{m.name} {versions[m.name]}, needs {m.specifier}" for m in members if not _fits(m, versions[m.name])]
    install = _install(*members)
    if outside:
        return Finding(f"extra {name}", False, "; ".join(outside), install)
    if missing:
        return Finding(f"extra {name}", True, f"not installed: {', '.join(missing)}", f"where wanted: {install}")
    return Finding(f"extra {name}", True, ", ".join(f"{member} {version}" for member, version in versions.items()))


def _install(*requirements: Requirement) -> str:
    return "pip install " + " ".join(f'"{requirement.name}{requirement.specifier}"' for requirement in requirements)


def _fits(requirement: Requirement, version: str | None) -> bool:
    return version is None or requirement.specifier.contains(version, prereleases=True)


def _installed(distribution: str) -> str | None:
    try:
        return str(metadata.version(distribution))
    except metadata.PackageNotFoundError:
        return None


def _extra_of(requirement: Requirement) -> str:
    """The extra that a marker of the form ``extra == "view"`` asks for."""
    names: list[str] = metadata.metadata(DISTRIBUTION).get_all("Provides-Extra") or []
    return next(name for name in names if requirement.marker is not None and requirement.marker.evaluate({"extra": name}))


def _tested_versions() -> dict[str, str]:
    """Version of each distribution in constraints.txt, which lies in the wheel's package or at the root of a checkout."""
    here = Path(__file__).resolve().parent
    for path in (here / "constraints.txt", here.parent / "constraints.txt"):
        if path.is_file():
            lines = path.read_text(encoding="utf-8").splitlines()
            return dict(line.split("==") for line in lines if "==" in line and not line.startswith("#"))
    return {}


def _import_root() -> list[Finding]:
    """That ``sandbox.envs`` is ours, whatever else is called ``envs``."""
    here = Path(__file__).resolve().parent
    for folder in ("bodies", "controllers", "envs", "experiments"):
        spec = importlib.util.find_spec(f"sandbox.{folder}")
        origin = Path(spec.origin).resolve() if spec and spec.origin else None
        if origin is None or origin.parent not in (here / folder, here.parent / folder):
            remedy = "in a checkout: git checkout -- sandbox; else install again"
            return [Finding("import root", False, f"sandbox.{folder} comes from {origin}, not from {here}", remedy)]
    foreign = importlib.util.find_spec("envs")
    if foreign is None or foreign.origin is None or Path(foreign.origin).resolve().parent == here.parent / "envs":
        return [Finding("import root", True, f"sandbox in {here}")]
    return [Finding("import root", True, f"sandbox in {here}; another package's envs in {Path(foreign.origin).parent} does no harm")]


def _native(name: str, distribution: str, code: str) -> Finding:
    """Load a native library in a process of its own and make it work once."""
    version = _installed(distribution)
    if version is None:
        return Finding(name, False, "not installed", f"pip install {distribution}")
    tags = metadata.distribution(distribution).read_text("WHEEL") or ""
    source = "wheel" if "manylinux" in tags or "macosx" in tags else "compiled here"
    worked, said = _probe(code)
    if worked:
        return Finding(name, True, f"{version}, {source}, {said}")
    return Finding(name, False, f"{version}, {source}, does not load: {said}", f"pip install --force-reinstall {distribution}=={version}")


def _probe(code: str) -> tuple[bool, str]:
    """Whether ``code`` runs in a fresh interpreter, and the last line that it printed or complained with."""
    # Only the environment's own packages: -I leaves out the current folder and PYTHONPATH, where anything may lie.
    try:
        done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, timeout=PROBE_TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        return False, f"no answer within {PROBE_TIMEOUT:.0f} s"
    lines = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
    return done.returncode == 0, lines[-1] if lines else f"exit status {done.returncode}"


def _numba_cache() -> list[Finding]:
    """Where numba keeps what it compiled: the folder that is asked for, beside the source, or the user's cache."""
    asked = os.environ.get("NUMBA_CACHE_DIR")
    user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "numba"
    candidates = [*([Path(asked)] if asked else []), Path(__file__).resolve().parent / "__pycache__", user]
    for folder in candidates:
        if _writable(folder):
            return [Finding("numba cache", True, str(folder))]
    return [Finding("numba cache", False, f"not writable: {', '.join(map(str, candidates))}", "set NUMBA_CACHE_DIR to a writable folder")]


def _writable(folder: Path) -> bool:
    """Tried by writing: permission bits say nothing of a read-only disk."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _renderer() -> list[Finding]:
    worked, _ = _probe(_RENDER_WITH_EGL)
    if worked:
        return [Finding("renderer", True, "EGL (OpenGL without a display)")]
    better = "twice as fast with EGL (Debian, Ubuntu: apt-get install libegl1 libegl-mesa0 libgl1-mesa-dri)"
    return [Finding("renderer", True, "TinyRenderer (no EGL found)", better)]


def _five_second_walk() -> list[Finding]:
    with silenced():
        import sandbox.plants.bullet  # noqa: F401  (prints when it is imported)
    from sandbox.measure import summary as summarise
    from sandbox.simulation import run

    summary = summarise(run("walk", plant="bullet", speed=1.0, seconds=WALK_SECONDS, seed=0))
    if summary["fell"]:
        detail = f"fell after {summary['survived_s']:.1f} s: {summary['fall_cause']}"
        return [Finding("five-second walk", False, detail, "compare the versions above with those it was tested with")]
    return [Finding("five-second walk", True, f"{summary['distance_m']:.1f} m in {WALK_SECONDS:.0f} s")]
