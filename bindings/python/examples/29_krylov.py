"""Solving A x = b with products on tiles: GMRES is coarse there, and refinement in digital memory makes it exact."""

import numpy as np
from _common import small
from residuum import TileMatrix


class OnTiles:
    """Products with a matrix through converters."""

    def __init__(self, matrix, readout):
        self.scale = np.abs(matrix).max() / 0.5
        tables = {"device": {"preset": "idealized"}, "rule": {"kind": "analog"}, "readout": readout}
        self.matrix = TileMatrix(tables, (matrix / self.scale).astype(np.float32), seed=0, name="A")

    def __call__(self, x):
        y = np.empty((1, len(x)), np.float32)
        self.matrix.read(x.astype(np.float32)[None], y)
        return self.scale * y[0].astype(np.float64)


def gmres(product, b, steps):
    """The best combination of b, Ab, A²b, …"""
    basis, coefficients = [b / np.linalg.norm(b)], np.zeros((steps + 1, steps))
    for k in range(steps):
        v = product(basis[k])
        for j, q in enumerate(basis):
            coefficients[j, k] = q @ v
            v = v - coefficients[j, k] * q
        coefficients[k + 1, k] = np.linalg.norm(v)
        basis.append(v / coefficients[k + 1, k])
    right = np.zeros(steps + 1)
    right[0] = np.linalg.norm(b)
    return np.stack(basis[:steps], 1) @ np.linalg.lstsq(coefficients, right, rcond=None)[0]


def main():
    size = 30 if small() else 100
    draw = np.random.default_rng(0)
    a = np.eye(size) + 0.3 * draw.standard_normal((size, size)) / np.sqrt(size)
    b = draw.standard_normal(size)
    tiles = OnTiles(a, {"preset": "aihwkit", "output": {"noise": 0.01}})
    x, residuals = np.zeros(size), [1.0]
    for _ in range(16):
        x = x + gmres(tiles, b - a @ x, 6)
        residuals.append(np.linalg.norm(b - a @ x) / np.linalg.norm(b))
    print("residual after each refinement:", ", ".join(f"{r:.1e}" for r in residuals))
    assert residuals[-1] < 1e-3
    return residuals[-1]


if __name__ == "__main__":
    main()
