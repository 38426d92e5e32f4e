//! Files are whole under their name or not there.

use std::fs::{self, File};
use std::path::Path;

use residuum_lab::figure::FigureFormat;
use residuum_lab::files::{FIGURES, FigureError, FileError, csv_field, open_lock, save_figure, write_atomic};
use residuum_lab::store::Store;
use residuum_plot::Figure;

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn what_a_killed_writer_left_is_removed_and_what_a_live_one_writes_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for name in [".page.html.1-0.partial", ".page.html.2-7.partial", ".other.html.1-0.partial"] {
        fs::write(at(name), "half").unwrap();
    }
    let live = File::open(at(".page.html.2-7.partial")).unwrap();
    live.try_lock().unwrap();
    write_atomic(at("page.html"), b"whole").unwrap();
    assert_eq!(fs::read(at("page.html")).unwrap(), b"whole");
    assert!(!at(".page.html.1-0.partial").exists());
    assert!(at(".page.html.2-7.partial").exists() && at(".other.html.1-0.partial").exists());
}

/// A process can be killed between writing and removing the file by which it tries whether a store is writable.
#[test]
fn what_a_killed_probe_left_in_a_store_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    for before in [None, Some(".probe.1-0.partial")] {
        fs::create_dir_all(&store).unwrap();
        if let Some(name) = before {
            fs::write(store.join(name), "half").unwrap();
        }
        Store::create(&store).unwrap();
        assert_eq!(names(&store), ["store.json", "trials"], "after {before:?}");
    }
}

#[test]
fn replaces_the_old_file_and_leaves_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/er/record.csv");
    write_atomic(&path, b"a long first version").unwrap();
    write_atomic(&path, b"short").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"short");
    assert_eq!(names(path.parent().unwrap()), ["record.csv"]);
}

#[test]
fn formulas_of_spreadsheets_become_words() {
    assert_eq!(csv_field("=HYPERLINK(\"http://x\")"), "\"'=HYPERLINK(\"\"http://x\"\")\"");
    assert_eq!(
        ["+cmd", "-cmd", "@sum", "-0.5", "+1e3", "a=b"].map(csv_field),
        ["'+cmd", "'-cmd", "'@sum", "-0.5", "+1e3", "a=b"]
    );
}

#[cfg(unix)]
#[test]
fn a_lock_is_no_link_and_leaves_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let (victim, link) = (folder.path().join("victim"), folder.path().join(".lock"));
    fs::write(&victim, b"kept").unwrap();
    std::os::unix::fs::symlink(&victim, &link).unwrap();
    assert!(open_lock(&link).unwrap_err().to_string().contains("symbolic link"));
    open_lock(&victim).unwrap();
    assert_eq!(fs::read(&victim).unwrap(), b"kept");
}

/// A rename would put a file in the place of a device such as `/dev/null`.
#[cfg(unix)]
#[test]
fn what_is_no_file_is_not_replaced() {
    use std::os::unix::fs::FileTypeExt as _;
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for path in [&pipe, &folder.path().to_path_buf()] {
        let error = write_atomic(path, b"new").unwrap_err().to_string();
        assert!(error.contains("it must be a file, but is something else"), "{error}");
    }
    let tensors = residuum_nn::state::Tensors::new();
    let error = residuum_nn::state::write_safetensors(&pipe, &tensors).unwrap_err().to_string();
    assert!(error.contains("it must be a file, but is something else"), "{error}");
    assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
    assert_eq!(names(folder.path()), ["pipe"]);
}

#[test]
fn a_left_over_partial_file_is_not_in_the_way() {
    let folder = tempfile::tempdir().unwrap();
    let stale = folder.path().join(format!(".a.svg.{}-0.partial", std::process::id()));
    fs::write(&stale, b"stale").unwrap();
    write_atomic(folder.path().join("a.svg"), b"new").unwrap();
    assert_eq!(fs::read(folder.path().join("a.svg")).unwrap(), b"new");
    assert_eq!(names(folder.path()), ["a.svg"]);
}

#[test]
fn failure_names_the_path_and_cleans_up() {
    let folder = tempfile::tempdir().unwrap();
    let taken = folder.path().join("taken");
    fs::create_dir(&taken).unwrap();
    let error = write_atomic(&taken, b"x").unwrap_err();
    assert!(error.to_string().contains(&taken.display().to_string()), "{error}");
    assert_eq!(names(folder.path()), ["taken"]);

    fs::write(folder.path().join("plain"), b"").unwrap();
    let error = write_atomic(folder.path().join("plain/child"), b"x").unwrap_err();
    assert!(matches!(error, FileError::Folder { .. }), "{error}");
    assert!(matches!(write_atomic("..", b"x").unwrap_err(), FileError::NoName { .. }));
}

#[test]
fn a_figure_is_the_files_that_were_asked_for_and_nothing_else() {
    let figure = Figure::new(1).panel(residuum_plot::Panel::new("p"));
    let folder = tempfile::tempdir().unwrap();
    let paths = save_figure(&figure, folder.path().join("figures"), "all", &FIGURES).unwrap();
    assert_eq!(fs::read_to_string(&paths[0]).unwrap(), figure.to_svg());
    assert_eq!(fs::read(&paths[1]).unwrap(), figure.to_png(2.0).unwrap());
    assert_eq!(names(&folder.path().join("figures")), ["all.png", "all.svg"]);
    let papers = [FigureFormat::Pdf, FigureFormat::Pgf];
    let paths = save_figure(&figure, folder.path().join("papers"), "all", &papers).unwrap();
    assert_eq!(fs::read(&paths[0]).unwrap(), figure.to_pdf().unwrap());
    assert_eq!(fs::read_to_string(&paths[1]).unwrap(), figure.to_pgf());
    assert_eq!(names(&folder.path().join("papers")), ["all.pdf", "all.pgf"]);

    let blocked = folder.path().join("file");
    fs::write(&blocked, "").unwrap();
    assert!(matches!(save_figure(&figure, &blocked, "all", &FIGURES), Err(FigureError::File(_))));
}
