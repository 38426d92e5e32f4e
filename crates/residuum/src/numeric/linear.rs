//! Dense linear algebra for small matrices, stored row by row.

/// The solution x of `matrix * x = rhs` by elimination with row scaling and partial pivoting.
///
/// `None` when the matrix is singular to working precision or holds a value that is not finite.
///
/// # Panics
/// When `matrix` is not `rhs.len()` by `rhs.len()`.
///
/// ```
/// use residuum::numeric::solve;
/// assert_eq!(solve(&[0.0, 2.0, 4.0, 1.0], &[2.0, 5.0]), Some(vec![1.0, 1.0]));
/// ```
pub fn solve(matrix: &[f64], rhs: &[f64]) -> Option<Vec<f64>> {
    let n = rhs.len();
    assert_eq!(matrix.len(), n * n, "matrix must have {n} x {n} entries, got {}", matrix.len());
    let mut rows = scaled_rows(matrix, rhs)?;
    let column_sizes: Vec<f64> =
        (0..n).map(|j| rows.iter().fold(0.0, |size: f64, row| size.max(row[j].abs()))).collect();

    for j in 0..n {
        let pivot = (j..n).max_by(|&i, &k| rows[i][j].abs().total_cmp(&rows[k][j].abs()))?;
        // Below this size the pivot is what rounding left of a zero.
        let negligible = n as f64 * f64::EPSILON * column_sizes[j];
        let size = rows[pivot][j].abs();
        if size <= negligible || !size.is_finite() {
            return None;
        }
        rows.swap(j, pivot);
        let (upper, lower) = rows.split_at_mut(j + 1);
        let top = &upper[j];
        for row in lower {
            let factor = row[j] / top[j];
            for (entry, above) in row[j..].iter_mut().zip(&top[j..]) {
                *entry -= factor * above;
            }
        }
    }

    let mut solution = vec![0.0; n];
    for i in (0..n).rev() {
        let known: f64 = (i + 1..n).map(|j| rows[i][j] * solution[j]).sum();
        solution[i] = (rows[i][n] - known) / rows[i][i];
    }
    solution.iter().all(|x| x.is_finite()).then_some(solution)
}

/// The rows with `rhs` appended, each divided by its largest entry so that pivots can be compared.
fn scaled_rows(matrix: &[f64], rhs: &[f64]) -> Option<Vec<Vec<f64>>> {
    let n = rhs.len();
    (0..n)
        .map(|i| {
            let row = &matrix[i * n..(i + 1) * n];
            let size = row.iter().fold(0.0, |size: f64, entry| size.max(entry.abs()));
            let usable = size > 0.0 && row.iter().all(|entry| entry.is_finite());
            usable.then(|| {
                // A power of two divides without rounding.
                let scale = size.log2().floor().exp2();
                row.iter().chain([&rhs[i]]).map(|entry| entry / scale).collect()
            })
        })
        .collect()
}

/// All eigenvalues of a symmetric `n` by `n` matrix in increasing order, by cyclic Jacobi rotations.
///
/// Only the upper triangle is read. Each eigenvalue is accurate to about machine precision times the
/// largest one. An entry that is not finite gives NaN throughout.
///
/// # Panics
/// When `matrix` does not have `n * n` entries.
pub fn symmetric_eigenvalues(matrix: &[f64], n: usize) -> Vec<f64> {
    assert_eq!(matrix.len(), n * n, "matrix must have {n} x {n} entries, got {}", matrix.len());
    let mut a = matrix.to_vec();
    for i in 0..n {
        for j in 0..i {
            a[i * n + j] = a[j * n + i];
        }
    }
    if a.iter().any(|entry| !entry.is_finite()) {
        return vec![f64::NAN; n];
    }
    let size = a.iter().fold(0.0, |size: f64, entry| size.max(entry.abs()));
    // Convergence is quadratic: a handful of sweeps is usual, and this many is never reached.
    for _ in 0..64 {
        let off = (0..n).flat_map(|i| (i + 1..n).map(move |j| i * n + j)).map(|k| a[k].abs());
        if off.fold(0.0, f64::max) <= f64::EPSILON * f64::EPSILON * size {
            break;
        }
        for i in 0..n {
            for j in i + 1..n {
                rotate(&mut a, n, i, j);
            }
        }
    }
    let mut eigenvalues: Vec<f64> = (0..n).map(|i| a[i * n + i]).collect();
    eigenvalues.sort_by(f64::total_cmp);
    eigenvalues
}

/// The rotation in the plane (i, j) that makes entry (i, j) zero.
fn rotate(a: &mut [f64], n: usize, i: usize, j: usize) {
    let target = a[i * n + j];
    if target == 0.0 {
        return;
    }
    let theta = (a[j * n + j] - a[i * n + i]) / (2.0 * target);
    // The smaller root keeps the angle below 45 degrees, which is what makes the sweeps converge.
    let tangent = theta.signum() / (theta.abs() + theta.hypot(1.0));
    let cosine = 1.0 / tangent.hypot(1.0);
    let sine = tangent * cosine;
    a[i * n + i] -= tangent * target;
    a[j * n + j] += tangent * target;
    a[i * n + j] = 0.0;
    a[j * n + i] = 0.0;
    for k in (0..n).filter(|&k| k != i && k != j) {
        let (first, second) = (a[i * n + k], a[j * n + k]);
        let rotated = (cosine * first - sine * second, sine * first + cosine * second);
        (a[i * n + k], a[j * n + k]) = rotated;
        (a[k * n + i], a[k * n + j]) = rotated;
    }
}
