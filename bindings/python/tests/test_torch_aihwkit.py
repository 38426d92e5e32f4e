"""Configurations of AIHWKIT, recorded as plain objects with its names and defaults."""

import dataclasses
import json
import pathlib
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

import residuum.torch as rt  # noqa: E402
from residuum.aihwkit import NotModelled, from_rpu_config  # noqa: E402

GOLDEN = pathlib.Path(__file__).parents[3] / "golden" / "aihwkit" / "parameters.json"


def record(name, base=(), **fields):
    """An object of a class of this name with these attributes."""
    kind = dataclasses.make_dataclass(name, fields, bases=base)
    return kind(**fields)


def io(**changes):
    defaults = dict(
        is_perfect=False, mv_type="OnePass", inp_bound=1.0, inp_noise=0.0, inp_res=1 / 126, inp_sto_round=False, inp_asymmetry=0.0,
        out_bound=12.0, out_noise=0.06, out_noise_std=0.0, out_res=1 / 510, out_sto_round=False, out_scale=1.0, out_asymmetry=0.0,
        bound_management="Iterative", noise_management="AbsMax", w_noise=0.0, w_noise_type="None", ir_drop=0.0,
        ir_drop_g_ratio=571428.57, out_nonlinearity=0.0, out_nonlinearity_std=0.0, slope_calibration=0.0, v_offset_std=0.0,
        v_offset_w_min=-1.0, r_series=0.0, w_read_asymmetry_dtod=0.0, max_bm_factor=1000, max_bm_res=0.25,
        bm_test_negative_bound=True, nm_thres=0.0,
    )
    return SimpleNamespace(**{**defaults, **changes})


def update(**changes):
    defaults = dict(
        desired_bl=31, fixed_bl=True, pulse_type="StochasticCompressed", res=0, x_res_implicit=0, d_res_implicit=0, d_sparsity=False,
        sto_round=False, update_bl_management=True, update_management=True, um_grad_scale=1.0,
    )
    return SimpleNamespace(**{**defaults, **changes})


def device(name="SoftBoundsDevice", **changes):
    fields = json.loads(GOLDEN.read_text())["devices"][name]["fields"]
    return record(name, **{**fields, **changes})


def config(own, **changes):
    mapping = SimpleNamespace(
        digital_bias=True, weight_scaling_omega=0.0, learn_out_scaling=False, out_scaling_columnwise=False, max_input_size=512, max_output_size=512
    )
    defaults = dict(device=own, forward=io(), backward=io(), update=update(), mapping=mapping)
    return SimpleNamespace(**{**defaults, **changes})


TRANSFER = dict(
    gamma=0.0, gamma_vec=[], transfer_every=1.0, no_self_transfer=True, transfer_every_vec=[], units_in_mbatch=True,
    n_reads_per_transfer=1, transfer_columns=True, with_reset_prob=0.0, random_selection=False, fast_lr=0.01, transfer_lr=1.0,
    transfer_lr_vec=[], scale_transfer_lr=True,
)
BUFFER = dict(TRANSFER, step=1.0, momentum=0.0, forget_buffer=True)
CHOPPED = dict(
    BUFFER, units_in_mbatch=False, in_chop_prob=0.1, in_chop_random=True, out_chop_prob=0.0, buffer_granularity=1.0,
    auto_granularity=0.0, no_buffer=False, auto_scale=True, auto_momentum=0.99, correct_gradient_magnitudes=False,
)


def compound(name, fields, **changes):
    own = [device("SoftBoundsReferenceDevice"), device("SoftBoundsReferenceDevice", w_max=1.0)]
    update_of = update(desired_bl=31 if name == "TransferCompound" else 1)
    fields = dict(fields, unit_cell_devices=own, transfer_forward=io(noise_management="None", bound_management="None"), transfer_update=update_of)
    return record(name, **{**fields, **changes})


CASES = {
    **{name: lambda name=name: device(name) for name in json.loads(GOLDEN.read_text())["devices"] if name in __import__("residuum.aihwkit", fromlist=["DEVICES"]).DEVICES},
    "a preset": lambda: dataclasses.make_dataclass("ReRamSBPresetDevice", [], bases=(type(device()),))(**vars(device())),
    "VectorUnitCell": lambda: record("VectorUnitCell", unit_cell_devices=[device(), device()], update_policy="All", first_update_idx=0, gamma_vec=[1.0, 0.5]),
    "ReferenceUnitCell": lambda: record("ReferenceUnitCell", unit_cell_devices=[device(), device()], update_policy="SingleFixed", first_update_idx=0, gamma_vec=[1.0, -1.0]),
    "OneSidedUnitCell": lambda: record(
        "OneSidedUnitCell", unit_cell_devices=[device(), device()], refresh_every=10, units_in_mbatch=False, refresh_upper_thres=0.75,
        refresh_lower_thres=0.25, copy_inverted=False,
    ),
    "TransferCompound": lambda: compound("TransferCompound", TRANSFER, gamma=0.4),
    "BufferedTransferCompound": lambda: compound("BufferedTransferCompound", dict(BUFFER, thres_scale=1.0)),
    "ChoppedTransferCompound": lambda: compound("ChoppedTransferCompound", CHOPPED),
    "DynamicTransferCompound": lambda: compound(
        "DynamicTransferCompound", dict(CHOPPED, in_chop_random=False, experimental_correct_accumulation=False, buffer_cap=0.0, tail_weightening=5.0)
    ),
    "MixedPrecisionCompound": lambda: record(
        "MixedPrecisionCompound", device=device(), transfer_every=1, n_rows_per_transfer=-1, random_row=False, granularity=0.0,
        transfer_lr=1.0, n_x_bins=0, n_d_bins=0, stoc_round_x=True, stoc_round_d=True,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_configuration_trains_a_layer(case):
    tables = from_rpu_config(config(CASES[case]()), lr=0.1)
    torch.manual_seed(0)
    layer = rt.AnalogLinear(4, 3, **tables)
    optimizer = rt.Optimizer(layer.parameters(), lr=0.1)
    before = layer.get_weights()
    for _ in range(20):
        optimizer.zero_grad()
        layer(torch.ones(5, 4)).square().sum().backward()
        optimizer.step()
    assert not torch.equal(layer.get_weights(), before)


def test_numbers_arrive():
    tables = from_rpu_config(config(compound("TransferCompound", TRANSFER, gamma=0.4), update=update(desired_bl=7)), lr=0.05)
    rule = tables["rule"]
    assert rule["kind"] == "tiki_taka" and rule["mixing"] == 0.4 and rule["columns"] == 1 and rule["every"] == 1
    assert rule["learning_rate"] == {"constant": 0.01} and rule["transfer_rate"] == 0.05
    assert rule["pulses"] == {"scheme": "stochastic", "length": 7, "management": "length"}
    assert tables["device"]["main"]["aihwkit"]["w_max"] == 1.0 and tables["device"]["residual"]["aihwkit"]["w_max"] == 0.6
    assert tables["readout"]["input"] == {"bound": 1.0, "steps": 126} and tables["readout"]["output"]["noise"] == 0.06
    assert tables["readout"]["bound_management"] == {"kind": "iterative", "max_factor": 16}
    assert tables["readout"]["transfer"]["noise_management"] == "none"
    fixed = from_rpu_config(config(compound("TransferCompound", TRANSFER, scale_transfer_lr=False)), lr=0.05)
    assert fixed["rule"]["transfer_rate"] == {"constant": 1.0}
    perfect = from_rpu_config(config(device(), forward=io(is_perfect=True)), lr=0.1)
    assert perfect["readout"]["preset"] == "ideal" and "input" not in perfect["readout"]


def test_the_converters_of_the_defaults_are_the_preset():
    own, preset = (
        rt.AnalogLinear(4, 3, seed=1, name="a", device={"preset": "idealized"}, rule="analog", readout=readout)
        for readout in (from_rpu_config(config(device()), lr=0.1)["readout"], "aihwkit")
    )
    own.set_weights(preset.get_weights())
    own.bias.data.copy_(preset.bias)
    x = torch.randn(6, 4)
    assert torch.equal(own(x), preset(x))


def test_everything_that_is_not_modelled_is_named():
    cases = {
        "with_reset_prob": config(compound("TransferCompound", TRANSFER, with_reset_prob=0.1)),
        "transfer_columns": config(compound("TransferCompound", TRANSFER, transfer_columns=False)),
        "thres_scale": config(compound("BufferedTransferCompound", dict(BUFFER, thres_scale=2.0))),
        "auto_granularity": config(compound("ChoppedTransferCompound", CHOPPED, auto_granularity=1000.0)),
        "mv_type": config(device(), forward=io(mv_type="SplitMode")),
        "bound_management": config(device(), backward=io(bound_management="Shift")),
        "out_scale": config(device(), forward=io(out_scale=2.0)),
        "pulse_type": config(device(), update=update(pulse_type="NoneWithDevice")),
        "desired_bl": config(device(), update=update(desired_bl=100)),
        "IdealDevice": config(record("IdealDevice", construction_seed=0)),
        "must be alike": config(record("VectorUnitCell", unit_cell_devices=[device(), device(w_max=2.0)], update_policy="All", gamma_vec=[])),
        "batch_size": config(record("OneSidedUnitCell", unit_cell_devices=[device(), device()], refresh_every=1, units_in_mbatch=True, refresh_upper_thres=0.7, refresh_lower_thres=0.2)),
        "weight_scaling_omega": config(device(), mapping=SimpleNamespace(weight_scaling_omega=0.6)),
    }
    for words, given in cases.items():
        with pytest.raises(NotModelled, match=words):
            from_rpu_config(given, lr=0.1)
    with pytest.raises(NotModelled) as both:
        from_rpu_config(config(device(), forward=io(out_scale=2.0), update=update(sto_round=True)), lr=0.1)
    assert "out_scale" in str(both.value) and "sto_round" in str(both.value)
    with pytest.raises(ValueError, match="lr"):
        from_rpu_config(config(device()), lr=-1.0)
