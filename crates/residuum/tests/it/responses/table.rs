//! Files of a tabulated response.

use residuum::response::Tabulated;

fn message(text: &str) -> String {
    Tabulated::from_csv(text).expect_err(text).to_string()
}

#[test]
fn columns_comments_and_line_ends_are_free() {
    let plain = Tabulated::from_csv("w,q_plus,q_minus\n-1,1.8,0.2\n0.5,0.9,1.0\n2,0,3e0\n").unwrap();
    let other =
        "\u{feff}# measured\r\n\r\n q_minus , w,q_plus \r\n0.2,-1,1.8\r\n#\r\n1.0,0.5,0.9\r\n3.0, 2 ,0\r\n";
    assert_eq!(Tabulated::from_csv(other).unwrap(), plain);
    assert_eq!(Tabulated::new(&[-1.0, 0.5, 2.0], &[1.8, 0.9, 0.0], &[0.2, 1.0, 3.0]).unwrap(), plain);
}

#[test]
fn errors_name_line_column_and_text() {
    let header = "w,q_plus,q_minus";
    assert_eq!(message("# nothing\n\n"), "a table needs the header w,q_plus,q_minus, got no line with content");
    assert_eq!(
        message("\nw,q_plus\n0,1\n"),
        "line 2: the header must name w, q_plus and q_minus once each, in any order, got \"w,q_plus\""
    );
    assert!(message("w,q_plus,q_minus,w\n").starts_with("line 1: the header must name"));
    assert_eq!(
        message(&format!("{header}\n0,1,1\n# x\n1,1.2e,1\n")),
        "line 4: q_plus must be a number, got \"1.2e\""
    );
    assert_eq!(message(&format!("{header}\n0,1\n")), "line 2: a row must have 3 fields, got 2 in \"0,1\"");
    assert_eq!(message(&format!("{header}\n0,1,1\n")), "a table needs at least 2 rows, got 1");
    assert_eq!(
        message(&format!("{header}\n0,1,1\n0,1,1\n")),
        "line 3: w must increase from row to row, got 0 after 0"
    );
    assert_eq!(message(&format!("{header}\n0,1,NaN\n1,1,1\n")), "line 2: q_minus must be finite, got NaN");
    assert!(message(&format!("{header}\n0,1,1\n1,0,1\n2,1,1\n")).starts_with(
        "line 3: q_plus must be positive (0 is allowed in the first and the last row only), got 0 at w = 1"
    ));
    assert!(message(&format!("{header}\n0,1,-0.1\n1,1,1\n")).contains("q_minus must be positive"));
    assert_eq!(
        message(&format!("{header}\n0,1,1\n1,0,0\n")),
        "line 3: q_plus and q_minus must not both be 0, got 0 and 0 at w = 1"
    );
}

#[test]
fn errors_of_slices_name_the_node() {
    let error = Tabulated::new(&[0.0, 1.0], &[1.0, f64::INFINITY], &[1.0, 1.0]).expect_err("infinite");
    assert_eq!(error.to_string(), "node 1: q_plus must be finite, got inf");
    let error = Tabulated::new(&[0.0, 1.0], &[1.0], &[1.0, 1.0]).expect_err("short");
    assert_eq!(error.to_string(), "q_plus must have one value per node, 2, got 1");
}
