"""GLB (binary glTF 2.0): the drawn body, moving, with a named node for every body point. Y up, facing Z, metres."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sandbox import __version__
from sandbox.export.frames import Y_UP_Z_FORWARD, check_rows
from sandbox.files import written_whole
from sandbox.recording import Recording
from sandbox.report.figure import SIDE_COLOURS, body_parts, rgb
from sandbox.report.shapes import attitudes, part_mesh
from sandbox.spatial import quaternion_from_matrix, quaternion_multiply

Array = NDArray[np.float64]

FLOAT, UNSIGNED_INT = 5126, 5125  # component types of glTF
VERTICES, INDICES = 34962, 34963  # targets of its buffer views


class _Buffer:
    """The binary chunk with its views and accessors."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.views: list[dict[str, Any]] = []
        self.accessors: list[dict[str, Any]] = []

    def add(self, values: NDArray[Any], target: int | None = None, limits: bool = False) -> int:
        """Number of the accessor of ``values``: floats (n,), (n, 3), (n, 4), or indices (n,)."""
        whole = values.dtype.kind in "iu"
        packed = np.ascontiguousarray(values, dtype="<u4" if whole else "<f4")
        view: dict[str, Any] = {"buffer": 0, "byteOffset": len(self.data), "byteLength": packed.nbytes}
        if target is not None:
            view["target"] = target
        accessor: dict[str, Any] = {
            "bufferView": len(self.views),
            "componentType": UNSIGNED_INT if whole else FLOAT,
            "count": len(packed),
            "type": "SCALAR" if packed.ndim == 1 else f"VEC{packed.shape[1]}",
        }
        if limits:
            columns = packed.reshape(len(packed), -1)
            accessor |= {"min": columns.min(axis=0).tolist(), "max": columns.max(axis=0).tolist()}
        self.views.append(view)
        self.accessors.append(accessor)
        self.data += packed.tobytes()
        return len(self.accessors) - 1


def save_glb(recording: Recording, path: Path) -> list[Path]:
    """Write the file. Times and positions are single precision, as the format demands.

    Raises:
        ValueError: an empty recording, or points with gaps, which the format cannot say.
        OSError: the path cannot be written.
    """
    check_rows(recording)
    if not np.isfinite(recording.points).all():
        raise ValueError("some body points have gaps, and GLB has no word for them: export it as trc, c3d or csv")
    buffer = _Buffer()
    document: dict[str, Any] = {
        "asset": {"version": "2.0", "generator": f"locomotion-sandbox {__version__}"},
        "scene": 0,
        "scenes": [{"name": str(recording.header.get("scene", "recording")), "nodes": []}],
        "nodes": [],
        "meshes": [],
        "materials": [
            {
                "name": side,
                "pbrMetallicRoughness": {
                    "baseColorFactor": [*((channel / 255) ** 2.2 for channel in rgb(colour)), 1.0],
                    "metallicFactor": 0.0,
                    "roughnessFactor": 0.7,
                },
            }
            for side, colour in SIDE_COLOURS.items()
        ],
    }
    samplers: list[dict[str, Any]] = []
    channels: list[dict[str, Any]] = []
    times = buffer.add(recording.time, limits=True)
    turn = quaternion_from_matrix(Y_UP_Z_FORWARD)

    def animate(node: int, what: str, values: Array) -> None:
        samplers.append({"input": times, "interpolation": "LINEAR", "output": buffer.add(values)})
        channels.append({"sampler": len(samplers) - 1, "target": {"node": node, "path": what}})

    def add_node(name: str, positions: Array, **more: Any) -> int:
        number = len(document["nodes"])
        document["nodes"].append({"name": name, "translation": positions[0].tolist(), **more})
        document["scenes"][0]["nodes"].append(number)
        animate(number, "translation", positions)
        return number

    for part in body_parts(recording):
        mesh = part_mesh(part)
        document["meshes"].append(
            {
                "name": part.name,
                "primitives": [
                    {
                        "attributes": {
                            "POSITION": buffer.add(mesh.vertices, VERTICES, limits=True),
                            "NORMAL": buffer.add(mesh.normals, VERTICES),
                        },
                        "indices": buffer.add(mesh.faces.ravel(), INDICES),
                        "material": list(SIDE_COLOURS).index(part.side),
                    }
                ],
            }
        )
        rotations = quaternion_multiply(turn, attitudes(part))
        number = add_node(part.name, part.start @ Y_UP_Z_FORWARD.T, mesh=len(document["meshes"]) - 1, rotation=rotations[0].tolist())
        animate(number, "rotation", rotations)
    for k, name in enumerate(recording.header["point_names"]):
        add_node(f"point_{name}", recording.points[:, k] @ Y_UP_Z_FORWARD.T)
    document["animations"] = [{"name": document["scenes"][0]["name"], "samplers": samplers, "channels": channels}]
    document |= {"accessors": buffer.accessors, "bufferViews": buffer.views, "buffers": [{"byteLength": len(buffer.data)}]}
    text = json.dumps(document, separators=(",", ":"), allow_nan=False).encode()
    text += b" " * (-len(text) % 4)
    binary = bytes(buffer.data) + b"\0" * (-len(buffer.data) % 4)
    with written_whole(path) as temporary, temporary.open("wb") as file:
        file.write(struct.pack("<4sII", b"glTF", 2, 12 + 8 + len(text) + 8 + len(binary)))
        file.write(struct.pack("<I4s", len(text), b"JSON") + text)
        file.write(struct.pack("<I4s", len(binary), b"BIN\0") + binary)
    return [path]
