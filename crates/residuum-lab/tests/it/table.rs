//! Tables of numbers in files of the user.

use std::path::Path;

use residuum_lab::table::NumberTable;

fn parse(text: &str) -> Result<NumberTable, String> {
    NumberTable::parse(text, Path::new("t.csv")).map_err(|e| e.to_string())
}

#[test]
fn headers_comments_and_columns() {
    let t = parse("# made by hand\na, b\n1,2\r\n3,4\n").unwrap();
    assert_eq!(t.column("b").unwrap(), [2.0, 4.0]);
    assert_eq!(t.column_at(0).unwrap(), [1.0, 3.0]);
    assert_eq!(t.only_column().unwrap_err().to_string(), "t.csv: has 2 columns; choose one with column = …");
    assert_eq!(parse("5\n6").unwrap().only_column().unwrap(), [5.0, 6.0]);
}

#[test]
fn bad_files_say_where() {
    assert_eq!(
        parse("x\n1\nnan\n").unwrap_err(),
        "t.csv, line 3: column 1 must be a finite number, got \"nan\""
    );
    assert_eq!(parse("a,b\n").unwrap_err(), "t.csv must have rows of numbers, got none");
    let ragged = "t.csv, line 3: must have 2 columns like the first row, got 1";
    assert_eq!(parse("1,2\n\n3\n").unwrap_err(), ragged);
}
