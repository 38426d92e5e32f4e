//! `residuum data`: exit codes, streams, files, over a real socket.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Output;
use std::thread;
use std::time::Duration;

use assert_cmd::Command;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

fn data(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::cargo_bin("residuum").unwrap();
    command.env("RESIDUUM_DATA", folder).arg("data").args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Black images with the labels of CIFAR-100: all that can be checked of it.
fn records(per_class: usize) -> Vec<u8> {
    let mut bytes = vec![0; 100 * per_class * 3074];
    bytes.chunks_exact_mut(3074).enumerate().for_each(|(i, record)| record[1] = (i % 100) as u8);
    bytes
}

fn lay_cifar100(folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    for (name, per_class) in [("train.bin.gz", 500), ("test.bin.gz", 100)] {
        let mut encoder = GzEncoder::new(fs::File::create(folder.join(name)).unwrap(), Compression::fast());
        encoder.write_all(&records(per_class)).unwrap();
        encoder.finish().unwrap();
    }
}

#[test]
fn files_are_imported_listed_and_verified() {
    let (from, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    lay_cifar100(from.path());
    let output = data(root.path(), &["fetch", "cifar100", "--from", from.path().to_str().unwrap()]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let told = text(&output.stdout);
    assert!(told.contains("50000 training images, 10000 test images"), "{told}");
    assert_eq!(told.matches("imported    checksum unknown, structure verified").count(), 2, "{told}");

    let list: Value = serde_json::from_slice(&data(root.path(), &["list", "--json"]).stdout).unwrap();
    let states: Vec<_> = list["sets"].as_array().unwrap().iter().map(|s| &s["state"]).collect();
    assert_eq!(states, ["absent", "absent", "absent", "here"]);

    assert!(data(root.path(), &["verify"]).status.success());
    let path = root.path().join("cifar100/test.bin");
    let mut damaged = fs::read(&path).unwrap();
    damaged[1] = 5;
    fs::write(&path, damaged).unwrap();
    let output = data(root.path(), &["verify", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["files"][0]["whole"], &report["files"][1]["whole"]), (&true.into(), &false.into()));
    let told = report["files"][1]["told"].as_str().unwrap();
    assert!(told.ends_with("must have 100 images of class 0, got 99"), "{told}");
}

#[test]
fn misuse_and_failure_end_with_2_and_say_why() {
    let root = tempfile::tempdir().unwrap();
    let output = data(root.path(), &["fetch", "mnits"]);
    assert_eq!(output.status.code(), Some(2));
    let told = text(&output.stderr);
    assert!(told.contains("data set must be one of mnist, fashion-mnist, cifar10, cifar100"), "{told}");
    let output = data(root.path(), &["fetch", "mnist", "--from", root.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("must hold train-images-idx3-ubyte"), "{}", text(&output.stderr));
    assert_eq!(data(root.path(), &["verify", "mnist"]).status.code(), Some(1));
}

#[test]
fn what_a_mirror_sends_is_checked() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    // The mirror twice, as wrong contents get a second chance; then the official address, through the proxy.
    let server = thread::spawn(move || {
        let answer = |stream: &mut TcpStream, line: &str, answer: &str| {
            // A request may come in pieces; it ends with an empty line.
            let lines = BufReader::new(&*stream).lines().map(Result::unwrap);
            let request: Vec<String> = lines.take_while(|l| !l.is_empty()).collect();
            assert!(request[0].starts_with(line), "{request:?}");
            stream.write_all(format!("HTTP/1.1 {answer}").as_bytes()).unwrap();
        };
        let hello = "200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";
        let no = "403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        let accept = || listener.accept().unwrap().0;
        answer(&mut accept(), "GET /m/cifar-10-binary.tar.gz ", hello);
        answer(&mut accept(), "GET /m/cifar-10-binary.tar.gz ", hello);
        answer(&mut accept(), "CONNECT www.cs.toronto.edu:443 ", no);
    });
    let root = tempfile::tempdir().unwrap();
    let mut command = Command::cargo_bin("residuum").unwrap();
    for variable in ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"] {
        command.env_remove(variable);
    }
    command.env("HTTPS_PROXY", &address).env("ALL_PROXY", &address).env("RESIDUUM_DATA", root.path());
    command.args(["data", "fetch", "cifar10", "--mirror", &format!("{address}/m")]);
    let output = command.timeout(Duration::from_mins(1)).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let told = text(&output.stderr);
    assert!(told.contains("/m/cifar-10-binary.tar.gz: wrong contents: "), "{told}");
    assert!(!root.path().join("cifar10/data_batch_1.bin").exists());
    server.join().unwrap();
}
