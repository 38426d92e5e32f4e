//! Tables as CSV.

use residuum::stats::Summary;
use residuum_lab::report::table::{Column, Table, TableCell};

#[test]
fn csv_keeps_all_digits_and_quotes_words() {
    let summary = Summary::of([1.0, 2.0, 4.0]);
    let table = Table {
        name: "t".into(),
        caption: "c".into(),
        columns: vec![Column::words("rule, or \"kind\""), Column::numbers("gap"), Column::numbers("n")],
        rows: vec![
            vec![TableCell::Text("a,b".into()), TableCell::estimate(summary), TableCell::Count(3)],
            vec![TableCell::Text("c".into()), TableCell::Missing, TableCell::Count(0)],
        ],
        notes: vec![],
    };
    let expected =
        format!("\"rule, or \"\"kind\"\"\",gap,gap SE,n\n\"a,b\",{},{},3\nc,,,0\n", summary.mean, summary.se);
    assert_eq!(table.to_csv(), expected);
}
