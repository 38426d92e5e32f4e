"""The settings from which the defaults of a cascade by number of states were chosen, as a spec.

    python3 tools/search/cascade.py > cascade.toml
    residuum run cascade.toml --out cascade

Digits, soft bounds, three residual arrays: states × γ × β of the fastest link × α, two seeds each. Rates of transfers grow by 1.2 from link to
link and follow the schedule, α does not; periods are 2·⌊states/2⌋ᵐ.
"""

HEAD = """name = "cascade-states"
title = "8×8 digits, a cascade of four arrays"

[network]
model = "mlp"
hidden = [32]
activation = "tanh"

[data]
set = "digits"

[device]
response = "soft_bounds"
radius = 0.6
states = 10
step_spread = 0.1
cycle_noise = 0.1

[readout]
preset = "aihwkit"

[mapping]
output_scaling = "tile"

[digital]
learning_rate = 0.05

[training]
epochs = 20
batch_size = 10
schedule = { kind = "cosine", last = 0.02 }
seeds = [0, 1]
"""

LINKS = (2, 1, 0)


def variants():
    for states in (4, 6, 10, 20, 50):
        for gamma in sorted({round(min(4 / states, 0.408), 3), 0.25, 0.408}):
            for beta in (0.1, 0.2, 0.35, 0.7):
                for alpha in (0.5, 1.5):
                    rates = ", ".join(f"{beta * 1.2**m:.4f}" for m in LINKS)
                    periods = [2 * max(2, states // 2) ** m for m in LINKS]
                    yield f"""
[[variant]]
name = "n{states}-g{gamma}-b{beta}-a{alpha}"
device.states = {states}
rule = {{ kind = "residual_cascade", learning_rate = {{ constant = {alpha} }}, mixing = {gamma}, symmetric_point = "zero", \
transfer_rates = [{rates}], periods = {periods} }}
"""


if __name__ == "__main__":
    print(HEAD + "".join(variants()))
