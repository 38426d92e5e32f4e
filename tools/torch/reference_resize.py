"""Bilinear resizing by PyTorch, for `tests/it/transforms.rs` of `residuum-data`.

    python tools/torch/reference_resize.py        # writes golden/torch/resize.json

Images are bytes, row by row, the channels of a pixel together; results are those of `interpolate` on bytes / 255.
Of large results only every `stride`-th value is kept.
"""

import json
import pathlib

import torch
import torch.nn.functional as functional

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "golden" / "torch"

# height, width, channels, new height, new width
CASES = [(5, 7, 3, 13, 11), (9, 8, 2, 4, 3), (4, 4, 1, 4, 4), (1, 3, 1, 4, 5), (8, 8, 1, 224, 224), (32, 32, 3, 224, 224)]


def case(height, width, channels, new_height, new_width):
    count = height * width * channels
    image = [(97 * i * i + 31 * i + 5) % 256 for i in range(count)]
    planes = torch.tensor(image, dtype=torch.uint8).reshape(1, height, width, channels).permute(0, 3, 1, 2)
    resized = functional.interpolate(
        planes.to(torch.float32) / 255, size=(new_height, new_width), mode="bilinear", align_corners=False
    )
    values = resized.permute(0, 2, 3, 1).reshape(-1)
    stride = max(1, values.numel() // 400)
    return {
        "from": [height, width, channels],
        "to": [new_height, new_width],
        "image": image,
        "stride": stride,
        "values": values[::stride].tolist(),
    }


def main():
    GOLDEN.mkdir(parents=True, exist_ok=True)
    document = {"torch": torch.__version__, "cases": [case(*c) for c in CASES]}
    (GOLDEN / "resize.json").write_text(json.dumps(document) + "\n")


if __name__ == "__main__":
    main()
