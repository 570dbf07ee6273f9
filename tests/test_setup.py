"""The environment script in trouble: one clear line, and the same command recovers."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
NEEDED = ("cat", "cksum", "cp", "dirname", "grep", "head", "mkdir", "mv", "rm", "sed", "sh", "tail")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with what the script reads, and ``bin`` as the only folder of programs."""
    place = tmp_path / "checkout"
    (place / ".ci").mkdir(parents=True)
    shutil.copy(ROOT / ".ci" / "setup", place / ".ci")
    (place / "pyproject.toml").write_text("[project]\nname = 'x'\n[tool.ruff]\n")
    (place / "constraints.txt").touch()
    (tmp_path / "bin").mkdir()
    for name in NEEDED:
        (tmp_path / "bin" / name).symlink_to(str(shutil.which(name)))
    return place


def program(path: Path, script: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def setup(checkout: Path, *arguments: str, **environment: str) -> tuple[int, str]:
    variables = {"PATH": str(checkout.parent / "bin"), "HOME": str(checkout.parent), **environment}
    done = subprocess.run(["sh", ".ci/setup", *arguments], cwd=checkout, env=variables, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


# A Python 3.11 whose venv module makes an environment whose pip does as PIP_DOES says.
PYTHON = """
case "$*" in
*'-m venv '*)
    for folder; do :; done
    mkdir -p "$folder/bin" && cp "$0" "$folder/bin/python" ;;
*'-m pip '*) eval "$PIP_DOES" ;;
*'sys.executable'*) echo "$0 3.11.9" ;;
esac
"""


def working_python(checkout: Path, path: Path | None = None) -> None:
    program(path or checkout.parent / "bin" / "python3.11", PYTHON)


def test_no_python(checkout: Path) -> None:
    status, said = setup(checkout)
    assert status == 1
    assert len(said.splitlines()) == 1
    assert "no Python 3.11 found" in said


def test_shim_without_its_python(checkout: Path) -> None:
    program(checkout.parent / "bin" / "python3.11", "echo 'pyenv: python3.11: command not found' >&2; exit 127")
    status, said = setup(checkout)
    assert status == 1
    assert "no Python 3.11 found" in said
    assert "pyenv" not in said


def test_another_python_is_passed_over(checkout: Path) -> None:
    program(checkout.parent / "bin" / "python3.11", "exit 127")
    program(checkout.parent / "bin" / "python3", "exit 1")
    working_python(checkout, checkout.parent / ".pyenv" / "versions" / "3.11.9" / "bin" / "python")
    status, said = setup(checkout, PIP_DOES="true")
    assert status == 0
    assert ".pyenv/versions/3.11.9/bin/python" in said


def test_no_venv_module(checkout: Path) -> None:
    program(checkout.parent / "bin" / "python3.11", 'case "$*" in *ensurepip*) exit 1 ;; esac')
    status, said = setup(checkout)
    assert status == 1
    assert len(said.splitlines()) == 1
    assert "python3.11-venv" in said


def test_no_network_then_network(checkout: Path) -> None:
    working_python(checkout)
    status, said = setup(checkout, PIP_DOES="echo 'NewConnectionError: Temporary failure in name resolution' >&2; exit 1")
    assert status == 1
    assert "package index cannot be reached" in said.splitlines()[-1]
    status, said = setup(checkout, PIP_DOES="true")
    assert status == 0
    assert said.splitlines()[0].startswith("setup: making .venv")
    assert (checkout / ".venv" / ".complete").exists()


def test_other_failure_of_pip_is_named(checkout: Path) -> None:
    working_python(checkout)
    status, said = setup(checkout, PIP_DOES="echo 'ERROR: No matching distribution found for pin>=4' >&2; exit 1")
    assert status == 1
    assert "No matching distribution found for pin>=4" in said.splitlines()[-1]


def test_complete_environment_is_left_alone(checkout: Path) -> None:
    working_python(checkout)
    assert setup(checkout, PIP_DOES="true")[0] == 0
    assert setup(checkout, PIP_DOES="false") == (0, "")


def test_walking_takes_less_and_the_tests_bring_the_rest(checkout: Path) -> None:
    working_python(checkout)
    said = 'case "$*" in *,train,*) echo everything >&2 ;; esac'
    assert setup(checkout, "walk", PIP_DOES=said)[0] == 0
    log = checkout / ".venv" / "setup.log"
    assert "everything" not in log.read_text()
    assert setup(checkout, "walk", PIP_DOES="false") == (0, "")
    assert setup(checkout, PIP_DOES=said)[0] == 0
    assert "everything" in log.read_text()
    for arguments in ((), ("walk",)):
        assert setup(checkout, *arguments, PIP_DOES="false") == (0, ""), "what is whole is left alone"
    status, line = setup(checkout, "wolk")
    assert (status, "wolk" in line) == (2, True)


def test_half_made_environment_is_made_anew(checkout: Path) -> None:
    working_python(checkout)
    (checkout / ".venv").mkdir()
    (checkout / ".venv" / "left-over").touch()
    assert setup(checkout, PIP_DOES="true")[0] == 0
    assert not (checkout / ".venv" / "left-over").exists()


def test_changed_requirements_update_and_changed_tools_do_not(checkout: Path) -> None:
    working_python(checkout)
    assert setup(checkout, PIP_DOES="true")[0] == 0
    with (checkout / "pyproject.toml").open("a") as file:
        file.write("line-length = 100\n")
    assert setup(checkout, PIP_DOES="false") == (0, "")
    (checkout / "constraints.txt").write_text("numpy==2.4.6\n")
    status, said = setup(checkout, PIP_DOES="echo ConnectTimeoutError >&2; exit 1")
    assert (status, "requirements have changed" in said) == (1, True)
    status, said = setup(checkout, PIP_DOES="true")
    assert (status, "requirements have changed" in said) == (0, True)
    assert setup(checkout, PIP_DOES="false") == (0, "")


def test_interrupted_update_is_made_anew(checkout: Path) -> None:
    working_python(checkout)
    assert setup(checkout, PIP_DOES="true")[0] == 0
    (checkout / "constraints.txt").write_text("numpy==2.4.6\n")
    assert setup(checkout, PIP_DOES="kill -9 $PPID")[0] != 0
    status, said = setup(checkout, PIP_DOES="true")
    assert (status, "making .venv" in said) == (0, True)


def test_moved_checkout_is_made_anew(checkout: Path) -> None:
    working_python(checkout)
    assert setup(checkout, PIP_DOES="true")[0] == 0
    moved = checkout.rename(checkout.with_name("moved"))
    status, said = setup(moved, PIP_DOES="true")
    assert (status, "making .venv" in said) == (0, True)


@pytest.mark.slow
@pytest.mark.parametrize("retries", ["0", "1"])
def test_real_pip_without_a_network(checkout: Path, retries: str) -> None:
    """A closed port of this machine stands for the network that is not there."""
    (checkout / "README.md").touch()
    shutil.copy(ROOT / "pyproject.toml", checkout)
    environment = {
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
        "PIP_RETRIES": retries,
        "PYTHON": sys.executable,
    }
    status, said = setup(checkout, **environment)
    assert status == 1
    assert "package index cannot be reached" in said.splitlines()[-1]
    assert not (checkout / ".venv" / ".complete").exists()
