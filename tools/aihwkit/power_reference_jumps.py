"""Cells of AIHWKIT's PowStepReferenceDevice that jump from their upper bound to their lower one.

A pulse works on v = w + ref and subtracts ref again. Where w = v - ref needs more digits than v has, adding ref back can give a
v one rounding above the bound it was clipped to. The next up-pulse then raises a negative number to the power gamma, which is
NaN unless gamma is whole, and the comparisons that clip a NaN take it to the lower bound.

Every cell gets up-pulses only, so a weight that falls by more than 0.3 has jumped. Prints one line per setting and the first
jump in numbers; exit code 1 if the settings that should jump do not, or the others do.
"""

import sys

import torch
from common import devices, hidden, pulse, pulse_tile

PULSES = 1000
CELLS = (10, 10)


def jumps(gamma, reference):
    """Jumps, cells that jumped, and the first jump, of 100 cells without any noise."""
    device = devices.PowStepReferenceDevice(
        pow_gamma=gamma, pow_gamma_dtod=0.0, dw_min=0.01, dw_min_dtod=0.0, dw_min_std=0.0, up_down_dtod=0.0,
        w_max=0.6, w_min=-0.6, w_max_dtod=0.3, w_min_dtod=0.3, reference_mean=reference,
        reference_std=0.3 if reference else 0.0, construction_seed=5,
    )
    tile = pulse_tile(device, *CELLS)
    own = hidden(tile)
    before = tile.get_weights().clone()
    count, cells, first = 0, set(), None
    for k in range(PULSES):
        pulse(tile, up=True)
        after = tile.get_weights().clone()
        for i, j in torch.nonzero(before - after > 0.3).tolist():
            count += 1
            cells.add((i, j))
            if first is None:
                first = (k, i, j, before[i, j].item(), after[i, j].item())
        before = after
    return count, len(cells), first, own


def main():
    failed = False
    print("gamma  reference     jumps  cells")
    for gamma, reference, expected in [(0.5, -0.7, True), (0.7, -0.7, True), (0.5, 0.0, False), (1.0, -0.7, False)]:
        count, cells, first, own = jumps(gamma, reference)
        print(f"{gamma:5}  {reference:4} ± {0.3 if reference else 0.0}  {count:6} {cells:6}")
        failed |= (count > 0) != expected
        if first and gamma == 0.5:
            k, i, j, high, low = first
            ref, top, bottom = (own[name][i, j].item() for name in ("reference", "max_bound", "min_bound"))
            v = (torch.tensor(high) + torch.tensor(ref)).item()
            print(f"       pulse {k}: w = {high:.7f} -> {low:.7f}; ref = {ref:.7f}, so v = {v:.8f} above the bound {top:.8f};")
            print(f"       the lower bound {bottom:.7f} minus ref is {bottom - ref:.7f}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
