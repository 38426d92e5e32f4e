//! The public data sets: their files, download addresses, and checksums.
//!
//! Checksums are of the uncompressed contents, since archives differ between mirrors. The SHA-256 sums of MNIST,
//! Fashion-MNIST and CIFAR-10 were computed from copies: MNIST's have the published MD5 sums of the raw files,
//! Fashion-MNIST's are those of the Debian package `dataset-fashion-mnist`, CIFAR-10's have the MD5 sums that others
//! state for the members of the official archive. For CIFAR-100 only the MD5 sum of the official archive is
//! published, so its contents are verified by structure.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::{Cifar, DataError, ImageShape, Split, embedded, idx};

/// A data set that can be named, and what is known of it without a look at files.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// What it is called.
    pub name: &'static str,
    /// Size of its images.
    pub image: ImageShape,
    /// Number of classes.
    pub classes: usize,
    /// Images to train and to test on.
    pub images: [usize; 2],
    /// Where it comes from.
    pub origin: Origin,
}

/// Where a data set comes from.
#[derive(Clone, Copy, Debug)]
pub enum Origin {
    /// The program itself.
    Embedded(fn() -> Result<Split, DataError>),
    /// Files that can be fetched.
    Files(fn() -> Entry),
}

/// Every data set.
pub const SETS: [Known; 6] = [
    Known {
        name: "digits",
        image: ImageShape::new(8, 8, 1),
        classes: 10,
        images: [1442, 355],
        origin: Origin::Embedded(embedded::digits),
    },
    Known {
        name: "fashion-mnist-subset",
        image: ImageShape::new(28, 28, 1),
        classes: 10,
        images: [2000, 500],
        origin: Origin::Embedded(embedded::fashion_subset),
    },
    Known {
        name: "mnist",
        image: ImageShape::new(28, 28, 1),
        classes: 10,
        images: [60_000, 10_000],
        origin: Origin::Files(mnist),
    },
    Known {
        name: "fashion-mnist",
        image: ImageShape::new(28, 28, 1),
        classes: 10,
        images: [60_000, 10_000],
        origin: Origin::Files(fashion_mnist),
    },
    Known {
        name: "cifar10",
        image: ImageShape::new(32, 32, 3),
        classes: 10,
        images: [50_000, 10_000],
        origin: Origin::Files(cifar10),
    },
    Known {
        name: "cifar100",
        image: ImageShape::new(32, 32, 3),
        classes: 100,
        images: [50_000, 10_000],
        origin: Origin::Files(cifar100),
    },
];

impl Known {
    /// The data set of this name.
    pub fn named(name: &str) -> Option<Self> {
        SETS.into_iter().find(|set| set.name == name)
    }
}

/// A data set that can be fetched.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its name here, and the folder it is stored in.
    pub name: String,
    /// One-line description.
    pub title: String,
    /// Its home page.
    pub page: String,
    /// Licence, as far as known.
    pub licence: String,
    /// How its files are read.
    pub layout: Layout,
    /// The files to download.
    pub downloads: Vec<Download>,
    /// Folders in which other tools keep the files, searched on import.
    pub folders: Vec<String>,
}

/// How the files of a data set are read.
#[derive(Clone, Copy, Debug)]
pub enum Layout {
    /// Four IDX files with MNIST's names and ten classes.
    Mnist,
    /// Binary CIFAR records.
    Cifar(Cifar),
    /// A format of its own: reads the folder.
    Own(fn(&Path) -> Result<Split, DataError>),
}

/// One file to download, and its contents.
#[derive(Clone, Debug)]
pub struct Download {
    /// Its name.
    pub name: String,
    /// Addresses; the first that responds is used.
    pub addresses: Vec<String>,
    /// How the contents are compressed.
    pub packing: Packing,
    /// MD5 of the compressed file, where nothing else is published.
    pub md5: Option<String>,
    /// The files in it.
    pub files: Vec<ContentFile>,
}

/// How contents are compressed for transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// One file, gzipped.
    Gzip,
    /// A gzipped tar archive.
    TarGzip,
}

/// An uncompressed file on disk.
#[derive(Clone, Debug)]
pub struct ContentFile {
    /// Its name.
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// How it is verified.
    pub identity: Identity,
}

/// How the contents of a file are verified.
#[derive(Clone, Debug)]
pub enum Identity {
    /// Its SHA-256, in lower-case hexadecimal.
    Sha256(String),
    /// Unknown checksum; CIFAR records with this many images in every class.
    Records {
        /// Which records.
        cifar: Cifar,
        /// Images of each class.
        per_class: usize,
    },
}

impl Entry {
    /// Reads the data set from the folder of its files.
    pub fn read(&self, folder: &Path) -> Result<Split, DataError> {
        match self.layout {
            Layout::Cifar(cifar) => cifar.read(folder),
            Layout::Own(read) => read(folder),
            Layout::Mnist => {
                let read = |part: &str| {
                    let file = |kind: &str| folder.join(format!("{part}-{kind}-ubyte"));
                    idx::read(&self.name, &file("images-idx3"), &file("labels-idx1"), 10)
                };
                Ok(Split { train: read("train")?, test: read("t10k")? })
            }
        }
    }
}

/// The data sets that can be fetched.
pub fn catalogue() -> Vec<Entry> {
    let files = |set: Known| if let Origin::Files(entry) = set.origin { Some(entry()) } else { None };
    SETS.into_iter().filter_map(files).collect()
}

/// The entry of this name.
pub fn find(name: &str) -> Result<Entry, DataError> {
    let entries = catalogue();
    let known = entries.iter().map(|e| e.name.as_str()).collect::<Vec<_>>().join(", ");
    let found = entries.into_iter().find(|e| e.name == name);
    found.ok_or_else(|| DataError::Unknown { name: name.into(), known })
}

/// Reads a data set by name: `digits` and `fashion-mnist-subset` are embedded, the others of the [`catalogue`] are in
/// folders of their names under `root`.
pub fn load(name: &str, root: &Path) -> Result<Split, DataError> {
    match Known::named(name).map(|set| set.origin) {
        Some(Origin::Embedded(read)) => read(),
        Some(Origin::Files(entry)) => entry().read(&root.join(name)),
        None => {
            let known = SETS.map(|set| set.name).join(", ");
            Err(DataError::Unknown { name: name.into(), known })
        }
    }
}

/// The default folder of data sets: `$RESIDUUM_DATA`, or `residuum` in the user's data folder, which is
/// `$XDG_DATA_HOME` or `~/.local/share`, on macOS `~/Library/Application Support`, on Windows `%LOCALAPPDATA%`.
/// `None` when the environment sets none of them.
pub fn default_root() -> Option<PathBuf> {
    root_from(|name| env::var_os(name).filter(|value| !value.is_empty()))
}

fn root_from(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let folder = |name: &str| variable(name).map(PathBuf::from);
    let home = |rest: &str| folder("HOME").map(|home| home.join(rest));
    folder("RESIDUUM_DATA").or_else(|| {
        let data = if cfg!(windows) {
            folder("LOCALAPPDATA")
        } else if cfg!(target_os = "macos") {
            home("Library/Application Support")
        } else {
            folder("XDG_DATA_HOME").or_else(|| home(".local/share"))
        };
        data.map(|data| data.join("residuum"))
    })
}

fn mnist() -> Entry {
    // The author's own site comes last: it has often refused downloads, and the contents are checked anyway.
    let bases = [
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "https://storage.googleapis.com/cvdf-datasets/mnist/",
        "http://yann.lecun.com/exdb/mnist/",
    ];
    Entry {
        name: "mnist".into(),
        title: "handwritten digits, 28×28 grey, 60 000 + 10 000, 10 classes".into(),
        page: "http://yann.lecun.com/exdb/mnist/".into(),
        licence: "CC BY-SA 3.0 as commonly stated (LeCun, Cortes)".into(),
        layout: Layout::Mnist,
        downloads: idx_downloads(
            &bases,
            [
                "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
                "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
                "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
                "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
            ],
        ),
        folders: vec!["MNIST/raw".into()],
    }
}

fn fashion_mnist() -> Entry {
    let bases = [
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
        "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
    ];
    Entry {
        name: "fashion-mnist".into(),
        title: "articles of clothing, 28×28 grey, 60 000 + 10 000, 10 classes".into(),
        page: "https://github.com/zalandoresearch/fashion-mnist".into(),
        licence: "MIT (Zalando SE)".into(),
        layout: Layout::Mnist,
        downloads: idx_downloads(
            &bases,
            [
                "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
                "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
                "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
                "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
            ],
        ),
        folders: vec!["FashionMNIST/raw".into()],
    }
}

/// The four files of MNIST and its relatives; sums in the order train images, train labels, test images, test labels.
fn idx_downloads(bases: &[&str], sums: [&str; 4]) -> Vec<Download> {
    let (image_bytes, header) = (28 * 28, 16);
    let files = [
        ("train-images-idx3-ubyte", header + 60_000 * image_bytes),
        ("train-labels-idx1-ubyte", 8 + 60_000),
        ("t10k-images-idx3-ubyte", header + 10_000 * image_bytes),
        ("t10k-labels-idx1-ubyte", 8 + 10_000),
    ];
    let download = |((name, bytes), sum): ((&str, u64), &str)| Download {
        name: format!("{name}.gz"),
        addresses: bases.iter().map(|base| format!("{base}{name}.gz")).collect(),
        packing: Packing::Gzip,
        md5: None,
        files: vec![ContentFile { name: name.into(), bytes, identity: Identity::Sha256(sum.into()) }],
    };
    files.into_iter().zip(sums).map(download).collect()
}

fn cifar10() -> Entry {
    let sums = [
        ("data_batch_1.bin", "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5"),
        ("data_batch_2.bin", "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed"),
        ("data_batch_3.bin", "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67"),
        ("data_batch_4.bin", "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48"),
        ("data_batch_5.bin", "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add"),
        ("test_batch.bin", "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"),
    ];
    let file = |(name, sum): (&str, &str)| ContentFile {
        name: name.into(),
        bytes: 10_000 * 3073,
        identity: Identity::Sha256(sum.into()),
    };
    Entry {
        name: "cifar10".into(),
        title: "small photographs, 32×32 colour, 50 000 + 10 000, 10 classes".into(),
        page: "https://www.cs.toronto.edu/~kriz/cifar.html".into(),
        licence: "none stated; cite Krizhevsky (2009)".into(),
        layout: Layout::Cifar(Cifar::Ten),
        downloads: vec![Download {
            name: "cifar-10-binary.tar.gz".into(),
            addresses: vec!["https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz".into()],
            packing: Packing::TarGzip,
            md5: None,
            files: sums.into_iter().map(file).collect(),
        }],
        folders: vec!["cifar-10-batches-bin".into()],
    }
}

fn cifar100() -> Entry {
    let file = |name: &str, per_class: usize| ContentFile {
        name: name.into(),
        bytes: 100 * per_class as u64 * 3074,
        identity: Identity::Records { cifar: Cifar::Hundred, per_class },
    };
    Entry {
        name: "cifar100".into(),
        title: "small photographs, 32×32 colour, 50 000 + 10 000, 100 classes".into(),
        page: "https://www.cs.toronto.edu/~kriz/cifar.html".into(),
        licence: "none stated; cite Krizhevsky (2009)".into(),
        layout: Layout::Cifar(Cifar::Hundred),
        downloads: vec![Download {
            name: "cifar-100-binary.tar.gz".into(),
            addresses: vec!["https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz".into()],
            packing: Packing::TarGzip,
            // From the home page.
            md5: Some("03b5dce01913d631647c71ecec9e9cb8".into()),
            files: vec![file("train.bin", 500), file("test.bin", 100)],
        }],
        folders: vec!["cifar-100-binary".into()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(variables: &[(&str, &str)]) -> Option<PathBuf> {
        root_from(|name| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| value.into()))
    }

    #[test]
    fn the_variable_of_our_own_comes_first() {
        assert_eq!(root(&[("RESIDUUM_DATA", "/d"), ("HOME", "/h")]), Some("/d".into()));
        assert_eq!(root(&[]), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_data_folder_of_the_user_comes_next() {
        assert_eq!(root(&[("XDG_DATA_HOME", "/x"), ("HOME", "/h")]), Some("/x/residuum".into()));
        assert_eq!(root(&[("HOME", "/h")]), Some("/h/.local/share/residuum".into()));
    }

    #[test]
    fn the_catalogue_is_well_formed() {
        for entry in catalogue() {
            assert_eq!(find(&entry.name).unwrap().title, entry.title);
            for download in &entry.downloads {
                assert!(download.addresses.iter().all(|a| a.ends_with(&download.name)));
                for file in &download.files {
                    let hex =
                        |sum: &str| sum.len() == 64 && sum.bytes().all(|b| b"0123456789abcdef".contains(&b));
                    match &file.identity {
                        Identity::Sha256(sum) => assert!(hex(sum), "{sum}"),
                        Identity::Records { .. } => assert!(download.md5.is_some()),
                    }
                }
            }
        }
        for set in SETS {
            match set.origin {
                Origin::Files(entry) => assert_eq!(entry().name, set.name),
                Origin::Embedded(read) => {
                    let Split { train, test } = read().unwrap();
                    assert_eq!(
                        ([train.len(), test.len()], train.shape()),
                        (set.images, set.image),
                        "{}",
                        set.name
                    );
                }
            }
        }
        let error = load("mnits", Path::new(".")).unwrap_err().to_string();
        assert!(error.starts_with("data set must be one of digits, "), "{error}");
    }
}
