"""Every constructor field of every pulsed device and preset of AIHWKIT with its default value.

Beside the fields stand the two numbers AIHWKIT derives from them: the weight granularity of its update management and
the number of states, (w_max - w_min) / granularity.

usage: python reference_parameters.py [--out FOLDER]
writes parameters.json
"""

import argparse
import inspect

from common import DEVICES, GOLDEN, PRESETS, VERSIONS, configuration, pulse_tile, significant, write


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=GOLDEN)
    options = parser.parse_args()
    document = {**VERSIONS, "devices": {}}
    for name, kind in {**DEVICES, **PRESETS}.items():
        state = pulse_tile(kind(), 1, 1).dump_extra()
        document["devices"][name] = {
            "base": inspect.getmro(kind)[1].__name__, "fields": configuration(kind()),
            "weight_granularity": significant(state["rpu.rpu_device.weight_granularity"][0], 7),
            "num_states": significant(state["rpu.rpu_device.num_states"][0], 7),
        }
    write(options.out, "parameters.json", document)


if __name__ == "__main__":
    main()
