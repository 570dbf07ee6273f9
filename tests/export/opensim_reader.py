"""What OpenSim reads in exported files, as JSON: run in a process of its own, since a native library can end the one it is in.

Arguments: the folder of walk.trc, walk.mot and walk_grf.mot, and a JSON object of a model: a list of [body, parent, place (3,)
[m], [[coordinate, axis (3,)], ...]] and a list of markers [name, body, place (3,) [m]].
"""

import json
import sys
from pathlib import Path

import opensim

# Orientation (body-fixed X, Y, Z angles) that brings the Z axis, about which a pin joint turns, to an axis.
TO_AXIS = {
    (0, 0, 1): (0, 0, 0),
    (1, 0, 0): (0, 1.5707963267948966, 0),
    (0, 1, 0): (-1.5707963267948966, 0, 0),
    (0, 0, -1): (3.141592653589793, 0, 0),
}


def columns(table):
    return {name: table.getDependentColumn(name) for name in table.getColumnLabels()}


def main(folder: Path, plan):
    out = {}
    trc = opensim.TimeSeriesTableVec3(str(folder / "walk.trc"))
    flat = trc.flatten(["_x", "_y", "_z"])
    out["trc"] = {
        "time": list(trc.getIndependentColumn()),
        "units": trc.getTableMetaDataString("Units"),
        "labels": list(trc.getColumnLabels()),
        "columns": {name: column.to_numpy().tolist() for name, column in columns(flat).items()},
    }
    for name in ("walk", "walk_grf"):
        table = opensim.TimeSeriesTable(str(folder / f"{name}.mot"))
        out[name] = {
            "time": list(table.getIndependentColumn()),
            "degrees": table.getTableMetaDataAsString("inDegrees"),
            "columns": {key: column.to_numpy().tolist() for key, column in columns(table).items()},
        }
    model = opensim.Model()
    frames = {"ground": model.getGround()}
    kept = []
    for body, parent, place, turns in plan["bodies"]:
        for k, (coordinate, axis) in enumerate(turns):
            last = k == len(turns) - 1
            name = body if last else f"{body}_{k}"
            frames[name] = opensim.Body(name, 1.0, opensim.Vec3(0), opensim.Inertia(1))
            model.addBody(frames[name])
            turn = opensim.Vec3(*TO_AXIS[tuple(axis)])
            joint = opensim.PinJoint(f"{name}_joint", frames[parent], opensim.Vec3(*place), turn, frames[name], opensim.Vec3(0), turn)
            joint.updCoordinate().setName(coordinate)
            joint.updCoordinate().setRangeMin(-10)
            joint.updCoordinate().setRangeMax(10)
            model.addJoint(joint)
            kept.append(joint)
            parent, place = name, (0.0, 0.0, 0.0)
    for name, body, place in plan["markers"]:
        marker = opensim.Marker(name, frames[body], opensim.Vec3(*place))
        model.addMarker(marker)
        kept.append(marker)
    model.finalizeConnections()
    state = model.initSystem()
    out["markers"] = {name: {} for name, _, _ in plan["markers"]}
    angles = out["walk"]["columns"]
    for row in plan["rows"]:
        for _, _, _, turns in plan["bodies"]:
            for coordinate, _ in turns:
                model.getCoordinateSet().get(coordinate).setValue(state, angles[coordinate][row] * 3.141592653589793 / 180, False)
        model.realizePosition(state)
        for name, _, _ in plan["markers"]:
            place = model.getMarkerSet().get(name).getLocationInGround(state)
            out["markers"][name][row] = [place.get(i) for i in range(3)]
    return out


if __name__ == "__main__":
    opensim.Logger.setLevelString("off")
    print(json.dumps(main(Path(sys.argv[1]), json.loads(sys.argv[2]))))
