"""Physics-based human walking: a body, what it should do, the world it does it in, and the instruments that look at it.

Importing the package registers its Gymnasium environments and nothing more; engines and compilers load when they are used.
"""

from pathlib import Path

from gymnasium.envs.registration import register

__version__ = "0.1.0"

# Where a checkout has no symbolic links (an unpacked source distribution, Git on Windows), the folders beside this one
# are still sandbox.bodies and so on. A link that Git wrote as a text file is a file, so that the test holds there too.
_here = Path(__file__).resolve().parent
if not (_here / "bodies").is_dir():
    __path__.append(str(_here.parent))

# Gymnasium has no plugin entry points, so that this is what makes gymnasium.make("sandbox:Sandbox/Walk-v0") work after
# an install. The environments know their own time limits.
for _id, _entry in (
    ("Walk", "walk:WalkEnv"),
    ("Stand", "stand:StandEnv"),
    ("PushRecovery", "push_recovery:PushRecoveryEnv"),
    ("StartStop", "start_stop:StartStopEnv"),
    ("Uneven", "uneven:UnevenEnv"),
):
    register(id=f"Sandbox/{_id}-v0", entry_point=f"sandbox.envs.{_entry}")
