//! The file as a whole, and the forms that several fields share.

use super::Default::{Required, Value, Words};
use super::{Field, Kind, Section};

const BOTH: &[Kind] = &[Kind::Problem, Kind::Network];
const PROBLEM: &[Kind] = &[Kind::Problem];
const NETWORK: &[Kind] = &[Kind::Network];

pub(super) const FILE: &[Section] = &[Section {
    title: "The file",
    of: BOTH,
    text: "A spec with `[problem]` minimises an objective (`residuum run`, or `sweep` for a grid), one with `[network]` trains networks (`residuum train`, or `sweep`).",
    fields: &[
        Field::new("title", "text", "–", Words("none"), "for tables and figures"),
        Field::new(
            "name",
            "letters, digits, `-`, `_`, `.`",
            "–",
            Words("that of the file"),
            "for the folders of runs",
        ),
        Field::new(
            "cell",
            "tables",
            "–",
            Words("none"),
            "named changes of the file; every cell is tried with every variant",
        ),
        Field::new(
            "cell.name",
            "letters, digits, `-`, `_`, `.`",
            "–",
            Required,
            "its name; the other fields of the table are laid over the file",
        ),
        Field::new("cell.title", "text", "–", Words("the name"), "the words for it in tables and legends"),
        Field::new("variant", "tables", "–", Words("none"), "named changes of the file: one trial each"),
        Field::new(
            "variant.name",
            "letters, digits, `-`, `_`, `.`",
            "–",
            Required,
            "its name; the other fields of the table are laid over the file",
        ),
        Field::new("variant.title", "text", "–", Words("the name"), "the words for it in tables and legends"),
        Field::new(
            "profile",
            "tables by name",
            "–",
            Words("none"),
            "changes that are laid over all others with `--profile NAME`; `full` is the file without one",
        ),
        Field::new(
            "sweep",
            "a list for each swept field",
            "–",
            Words("none"),
            "axes of the grid, by dotted path: every combination is tried, after cells, variants and profile; tables in a list may have a `name` or `title`",
        ),
        Field::new(
            "sweep.zip",
            "tables of lists",
            "–",
            Words("none"),
            "axes that move together: lists of one length",
        ),
        Field::new(
            "sweep.exclude",
            "tables of values",
            "–",
            Words("none"),
            "points that have all of these values are left out; `cell` and `variant` go by name",
        ),
    ],
}];

pub(super) const FORMS: &[Section] = &[
    Section {
        title: "Seeds",
        of: BOTH,
        text: "`7`, `[1, 2, 3]`, or a table. One trial each.",
        fields: &[
            Field::new("range.first", "whole number", "–", Words("0"), "the first seed"),
            Field::new("range.count", "whole number, 1 to 1 000 000", "–", Required, "how many"),
        ],
    },
    Section {
        title: "Vectors",
        of: PROBLEM,
        text: "A number for all entries, a list, a formula in the index `i` (from 0) and the number of entries `n` such as `\"0.5 + i/n\"`, or a table.",
        fields: &[
            Field::new("vector.csv", "path", "–", Words("none"), "a CSV file, relative to the spec"),
            Field::new("vector.column", "name, or number from 0", "–", Words("the only one"), "its column"),
            Field::new(
                "vector.uniform",
                "[lo, hi] with lo < hi",
                "that of the vector",
                Words("none"),
                "independent uniform entries, drawn anew for each seed",
            ),
            Field::new(
                "vector.normal",
                "[mean, deviation]",
                "that of the vector",
                Words("none"),
                "independent normal entries, drawn anew for each seed",
            ),
        ],
    },
    Section {
        title: "Matrices",
        of: PROBLEM,
        text: "Rows in brackets, `[[1, 0], [0, 2]]`, or a table.",
        fields: &[Field::new(
            "matrix.csv",
            "path",
            "–",
            Required,
            "a CSV file of numbers, relative to the spec",
        )],
    },
    Section {
        title: "Rates that change",
        of: PROBLEM,
        text: "A number, or a schedule in the step k.",
        fields: &[
            Field::new(
                "schedule.kind",
                "`constant`, `inverse`, `step`, `cosine`, `warm_up`",
                "–",
                Required,
                "initial/(1 + k/half_life) for `inverse`; initial·factor^⌊k/every⌋ for `step`; half a cosine for `cosine`; rate·(k+1)/steps until it is reached for `warm_up`",
            ),
            Field::new(
                "schedule.rate",
                "number ≥ 0",
                "that of the rate",
                Required,
                "of `constant` and `warm_up`: the rate",
            ),
            Field::new(
                "schedule.initial",
                "number ≥ 0",
                "that of the rate",
                Required,
                "of `inverse`, `step`, `cosine`: the rate at k = 0",
            ),
            Field::new(
                "schedule.half_life",
                "number > 0",
                "steps",
                Required,
                "of `inverse`: when half of it is left",
            ),
            Field::new("schedule.every", "whole number ≥ 1", "steps", Required, "of `step`: between drops"),
            Field::new("schedule.factor", "number ≥ 0", "–", Required, "of `step`: of each drop"),
            Field::new(
                "schedule.last",
                "number ≥ 0",
                "that of the rate",
                Value("0.0"),
                "of `cosine`: the rate at the end",
            ),
            Field::new(
                "schedule.steps",
                "whole number ≥ 1",
                "steps",
                Required,
                "of `cosine` and `warm_up`: how long",
            ),
        ],
    },
    Section {
        title: "Rates that do not follow the schedule",
        of: NETWORK,
        text: "A number follows the schedule of `[training]`; a table does not.",
        fields: &[Field::new(
            "rate.constant",
            "number ≥ 0",
            "that of the rate",
            Required,
            "the rate in every step",
        )],
    },
    Section {
        title: "Numbers that vary between cells",
        of: PROBLEM,
        text: "A number for all cells, or a distribution over them.",
        fields: &[
            Field::new(
                "distribution.kind",
                "`normal`, `log_normal`, `uniform`, `log_spaced`",
                "–",
                Required,
                "which distribution; `log_spaced` runs over the index and is not random",
            ),
            Field::new("distribution.mean", "number", "that of the field", Required, "of `normal`"),
            Field::new("distribution.median", "number > 0", "that of the field", Required, "of `log_normal`"),
            Field::new(
                "distribution.deviation",
                "number ≥ 0",
                "that of the field; none for `log_normal`",
                Required,
                "of `normal`, and of the logarithm for `log_normal`",
            ),
            Field::new(
                "distribution.lo",
                "number",
                "that of the field",
                Required,
                "lower end of `uniform` and `log_spaced`",
            ),
            Field::new(
                "distribution.hi",
                "number > lo",
                "that of the field",
                Required,
                "upper end of `uniform` and `log_spaced`",
            ),
        ],
    },
    Section {
        title: "Zero-shifting",
        of: PROBLEM,
        text: "Up and down pulses in turn, until the cells rest at their symmetric points.",
        fields: &[
            Field::new(
                "zero_shift.pulse_step",
                "number > 0",
                "weight",
                Required,
                "change by one pulse where q = 1",
            ),
            Field::new("zero_shift.pairs", "whole number ≥ 1", "pairs of pulses", Required, "how many"),
            Field::new(
                "zero_shift.cycle_noise",
                "number ≥ 0",
                "relative to the step",
                Value("0.0"),
                "deviation from pulse to pulse",
            ),
            Field::new(
                "zero_shift.averaged",
                "whole number, 1 to pairs",
                "pairs of pulses",
                Words("1, or half of the pairs with cycle noise"),
                "pairs at the end over which the mean is taken",
            ),
        ],
    },
    Section {
        title: "Converters",
        of: NETWORK,
        text: "Of `readout.input` and `readout.output`.",
        fields: &[
            Field::new(
                "converter.bound",
                "number > 0",
                "signal",
                Words("none"),
                "values are clipped to ± this",
            ),
            Field::new("converter.steps", "whole number", "levels", Words("exact"), "levels between ±bound"),
            Field::new(
                "converter.stochastic",
                "true or false",
                "–",
                Words("that of the preset"),
                "whether rounding is stochastic",
            ),
            Field::new(
                "converter.noise",
                "number ≥ 0",
                "signal",
                Words("that of the preset"),
                "deviation of added noise",
            ),
            Field::new(
                "converter.negative_loss",
                "number",
                "relative",
                Words("that of the preset"),
                "share of negative values that is lost",
            ),
        ],
    },
    Section {
        title: "Pulse trains",
        of: NETWORK,
        text: "Of `rule.pulses` and `rule.transfer_pulses`.",
        fields: &[
            Field::new(
                "train.scheme",
                "`stochastic`, `deterministic`, `mean_count`, `expected`",
                "–",
                Value("\"stochastic\""),
                "how an increment becomes pulses; `expected` writes it without",
            ),
            Field::new("train.length", "whole number, 1 to 31", "slots", Value("31"), "longest train"),
            Field::new(
                "train.management",
                "`length`, `scale`, `fixed`",
                "–",
                Value("\"length\""),
                "what follows the size of the increment",
            ),
        ],
    },
    Section {
        title: "Spreads",
        of: NETWORK,
        text: "A number is the deviation of a normal spread.",
        fields: &[Field::new(
            "spread.log_normal",
            "number, 0 to 3",
            "–",
            Required,
            "deviation of the logarithm",
        )],
    },
    Section {
        title: "Levels",
        of: NETWORK,
        text: "Of `rule.quantize_errors` and `rule.quantize_inputs`.",
        fields: &[
            Field::new("levels.levels", "whole number", "levels", Value("2"), "how many"),
            Field::new(
                "levels.stochastic",
                "true or false",
                "–",
                Value("false"),
                "whether rounding is stochastic",
            ),
        ],
    },
];
