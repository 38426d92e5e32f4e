//! Linear systems and eigenvalues.

use std::f64::consts::PI;

use residuum::numeric::{solve, symmetric_eigenvalues};

#[test]
fn a_system_with_a_known_solution_is_solved() {
    // Needs a row exchange at once.
    let matrix = [0.0, 2.0, -1.0, 3.0, -1.0, 2.0, 1.0, 4.0, 1.0];
    let expected = [1.5, -2.0, 0.25];
    let rhs: Vec<f64> =
        matrix.chunks(3).map(|row| row.iter().zip(expected).map(|(a, x)| a * x).sum()).collect();
    let got = solve(&matrix, &rhs).expect("valid input");
    for (x, expected) in got.iter().zip(expected) {
        assert!((x - expected).abs() < 4.0 * f64::EPSILON, "{got:?}");
    }
    assert_eq!(solve(&[], &[]), Some(vec![]));
}

#[test]
fn bad_scaling_is_not_taken_for_singularity() {
    assert_eq!(solve(&[1.0, 0.0, 0.0, 1e-200], &[3.0, 2e-200]), Some(vec![3.0, 2.0]));
    let columns = solve(&[1.0, 1e-200, 1.0, 2e-200], &[2.0, 3.0]).expect("valid input");
    assert!((columns[0] - 1.0).abs() < 1e-14 && (columns[1] - 1e200).abs() < 1e186);
    let rows = solve(&[1.0, 1.0, 1e-200, 2e-200], &[2.0, 3e-200]).expect("valid input");
    assert!((rows[0] - 1.0).abs() < 1e-14 && (rows[1] - 1.0).abs() < 1e-14);
}

#[test]
fn singular_and_non_finite_matrices_give_none() {
    assert_eq!(solve(&[0.1, 0.2, 0.3, 0.6], &[1.0, 1.0]), None);
    assert_eq!(solve(&[0.0, 0.0, 0.0, 1.0], &[1.0, 1.0]), None);
    assert_eq!(solve(&[f64::NAN, 0.0, 0.0, 1.0], &[1.0, 1.0]), None);
    assert_eq!(solve(&[1.0], &[f64::INFINITY]), None);
}

#[test]
fn eigenvalues_of_the_discrete_laplacian_follow_the_cosine_law() {
    let n = 9;
    let mut matrix = vec![0.0; n * n];
    for i in 0..n {
        matrix[i * n + i] = 2.0;
        if i + 1 < n {
            matrix[i * n + i + 1] = -1.0;
        }
    }
    let got = symmetric_eigenvalues(&matrix, n);
    for (k, value) in got.iter().enumerate() {
        let expected = 2.0 - 2.0 * (PI * (k + 1) as f64 / (n + 1) as f64).cos();
        assert!((value - expected).abs() < 16.0 * f64::EPSILON, "{k}: {value} against {expected}");
    }
}

#[test]
fn eigenvalues_keep_trace_and_order_and_report_bad_input() {
    assert_eq!(symmetric_eigenvalues(&[3.0, 0.0, 0.0, -1.0], 2), [-1.0, 3.0]);
    let got = symmetric_eigenvalues(&[2.0, 1.0, 1.0, 2.0], 2);
    assert!((got[0] - 1.0).abs() < 1e-15 && (got[1] - 3.0).abs() < 1e-15);
    assert!(symmetric_eigenvalues(&[f64::NAN], 1)[0].is_nan());
    assert_eq!(symmetric_eigenvalues(&[], 0), [0.0; 0]);
}
