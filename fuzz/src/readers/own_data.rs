//! Data of one's own: tables, arrays, images, and specs that name them.

use std::fs;
use std::path::Path;

use residuum_data::Cifar;
use residuum_data::catalogue::{ContentFile, Download, Entry, Identity, Layout, Packing};
use residuum_data::fetch::import;
use residuum_data::files::{
    ArrayPlace, Arrays, TableColumns, array_names, read_arrays, read_folder, read_table,
};
use residuum_lab::plan::plans;
use residuum_lab::spec::Folders;

use super::{in_file, parts, said, text};

/// A table of classes and of targets, whose column `y` is what is to be learned.
pub(super) fn table(case: &[u8], folder: &Path) -> String {
    in_file(case, folder, "table.csv", |path| {
        let classes = TableColumns { label: Some("y".into()), ..TableColumns::default() };
        let targets = TableColumns { targets: vec!["y".into()], ..TableColumns::default() };
        let train = read_table(path, &classes, None);
        let like = train.as_ref().ok().map(|train| read_table(path, &classes, Some(train)).is_ok());
        format!("{}{like:?}{}", said(train), said(read_table(path, &targets, None)))
    })
}

/// Inputs and labels, or targets, in two files.
pub(super) fn npy(case: &[u8], folder: &Path) -> String {
    let [x, y] = parts(case);
    let place = |name: &str| ArrayPlace { path: folder.join(name), name: None };
    let written = fs::write(folder.join("x.npy"), x).and_then(|()| fs::write(folder.join("y.npy"), y));
    match written {
        Err(e) => format!("the harness cannot write: {e}"),
        Ok(()) => both(|| (place("x.npy"), place("y.npy"))),
    }
}

/// Arrays of an archive.
pub(super) fn npz(case: &[u8], folder: &Path) -> String {
    in_file(case, folder, "data.npz", |path| {
        let place = |name: &str| ArrayPlace { path: path.into(), name: Some(name.into()) };
        format!("{}{}", said(array_names(path)), both(|| (place("x"), place("y"))))
    })
}

/// The arrays as classes, and as targets of a regression.
fn both(places: impl Fn() -> (ArrayPlace, ArrayPlace)) -> String {
    let read = |regression| {
        let (inputs, goals) = places();
        said(read_arrays(&Arrays { inputs, goals, regression, classes: None, shape: None }, None))
    };
    read(false) + &read(true)
}

/// An image of a class beside one of another class, grey and in colour.
pub(super) fn image(case: &[u8], folder: &Path, name: &str) -> String {
    let place = |class: &str| folder.join("images").join(class);
    let written = fs::create_dir_all(place("one"))
        .and_then(|()| fs::create_dir_all(place("two")))
        .and_then(|()| fs::write(place("one").join(name), case))
        .and_then(|()| fs::write(place("two").join(name), case));
    match written {
        Err(e) => format!("the harness cannot write: {e}"),
        Ok(()) => [1, 3].map(|channels| said(read_folder(&folder.join("images"), channels, None))).concat(),
    }
}

/// An archive of a data set: two files of records, two of each class and one.
pub(super) fn archive(case: &[u8], folder: &Path) -> String {
    let file = |name: &str, per_class: usize| ContentFile {
        name: name.into(),
        bytes: 100 * per_class as u64 * 3074,
        identity: Identity::Records { cifar: Cifar::Hundred, per_class },
    };
    let entry = Entry {
        name: "made".into(),
        title: String::new(),
        page: String::new(),
        licence: String::new(),
        layout: Layout::Cifar(Cifar::Hundred),
        downloads: vec![Download {
            name: "made.tar.gz".into(),
            addresses: Vec::new(),
            packing: Packing::TarGzip,
            md5: None,
            files: vec![file("train.bin", 2), file("test.bin", 1)],
        }],
        folders: Vec::new(),
    };
    in_file(case, folder, "made.tar.gz", |path| {
        let place = folder.join("made");
        let outcome = said(import(&entry, path, &place).map(|files| files.len()));
        // What is there and whole would not be read again.
        let _ = fs::remove_dir_all(place);
        outcome
    })
}

/// A spec and the two tables that it names.
pub(super) fn spec(case: &[u8], folder: &Path) -> String {
    let [spec, train, test] = parts(case);
    let written =
        fs::write(folder.join("train.csv"), train).and_then(|()| fs::write(folder.join("test.csv"), test));
    match written {
        Err(e) => format!("the harness cannot write: {e}"),
        Ok(()) => said(plans(&text(spec), &Folders::new(folder), None, "spec").map(|p| p.len())),
    }
}
