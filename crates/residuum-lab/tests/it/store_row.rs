//! Records as CSV, to the bit.

use residuum_lab::store::{Row, rows_from_csv, rows_to_csv};

#[test]
fn rows_come_back_to_the_bit() {
    let row =
        |epoch, index, value| Row { epoch, step: 7, metric: "gap".into(), part: "1".into(), index, value };
    let rows =
        vec![row(None, Some(3), 0.1 + 0.2), row(Some(2), None, -1.0e-300), row(None, None, f64::INFINITY)];
    let text = rows_to_csv(&rows);
    assert!(text.starts_with("epoch,step,metric,part,index,value\n,7,gap,1,3,0.30000000000000004\n"));
    assert_eq!(rows_from_csv(&text).unwrap(), rows);
    let named = vec![Row { part: "block, \"first\"".into(), ..row(None, None, 1.0) }];
    assert_eq!(rows_from_csv(&rows_to_csv(&named)).unwrap(), named);
    let error = rows_from_csv("epoch,step,metric,part,index,value\n1,2,gap,,x,0.5\n").unwrap_err();
    assert_eq!(error.to_string(), "line 2: index must be a number, got \"x\"");
    assert!(rows_from_csv("seed,value\n").is_err());
}
