"""Turns a PyTorch state dict (`.pth`, such as torchvision's weights) into a safetensors file with the same names.

    python tools/torch/pth_to_safetensors.py resnet18-f37072fd.pth resnet18.safetensors
"""

import sys

import torch

from common import write_safetensors


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    state = torch.load(sys.argv[1], map_location="cpu", weights_only=True)
    # Training scripts often wrap the state with other things.
    state = state.get("state_dict", state.get("model", state))
    # Some were saved from a parallel wrapper, which prefixes every name.
    state = {name.removeprefix("module."): value for name, value in state.items()}
    write_safetensors(sys.argv[2], state)
    print(sys.argv[2], len(state), "tensors")


if __name__ == "__main__":
    main()
