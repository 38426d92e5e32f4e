//! Columns in the Arrow C data interface, without the Arrow crates: five structs and three callbacks.
//!
//! A batch owns its buffers behind an `Arc`. What is exported points into them and holds a count, so that nothing is copied and
//! nothing is freed while polars, pandas or pyarrow look at it. <https://arrow.apache.org/docs/format/CDataInterface.html>

use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// One column; an empty mask says that every entry is there.
#[derive(Debug)]
pub enum RecordColumn {
    /// Counters, with a bit for each entry that is there.
    U64 { values: Vec<u64>, mask: Vec<u8>, nulls: usize },
    /// Numbers.
    F64(Vec<f64>),
    /// Text: where each entry begins and ends, and the bytes of all.
    Text { offsets: Vec<i64>, bytes: Vec<u8> },
}

impl RecordColumn {
    /// Counters that may be absent.
    pub fn optional(values: impl Iterator<Item = Option<u64>>) -> Self {
        let (mut numbers, mut mask, mut nulls) = (Vec::new(), Vec::new(), 0);
        for (i, value) in values.enumerate() {
            if i % 8 == 0 {
                mask.push(0u8);
            }
            mask[i / 8] |= u8::from(value.is_some()) << (i % 8);
            nulls += usize::from(value.is_none());
            numbers.push(value.unwrap_or(0));
        }
        if nulls == 0 {
            mask.clear();
        }
        Self::U64 { values: numbers, mask, nulls }
    }

    /// Counters.
    pub fn counts(values: impl Iterator<Item = u64>) -> Self {
        Self::U64 { values: values.collect(), mask: Vec::new(), nulls: 0 }
    }

    /// Words.
    pub fn text<'a>(words: impl Iterator<Item = &'a str>) -> Self {
        let (mut offsets, mut bytes) = (vec![0], Vec::new());
        for word in words {
            bytes.extend_from_slice(word.as_bytes());
            offsets.push(bytes.len().cast_signed() as i64);
        }
        Self::Text { offsets, bytes }
    }

    pub fn len(&self) -> usize {
        match self {
            Self::U64 { values, .. } => values.len(),
            Self::F64(values) => values.len(),
            Self::Text { offsets, .. } => offsets.len() - 1,
        }
    }

    fn format(&self) -> &'static str {
        match self {
            Self::U64 { .. } => "L",
            Self::F64(_) => "g",
            Self::Text { .. } => "U",
        }
    }

    fn nulls(&self) -> usize {
        if let Self::U64 { nulls, .. } = self { *nulls } else { 0 }
    }

    /// The mask, if entries are absent, and the data.
    fn buffers(&self) -> Vec<*const c_void> {
        fn start<T>(values: &[T]) -> *const c_void {
            values.as_ptr().cast()
        }
        match self {
            Self::U64 { values, mask, .. } => {
                vec![if mask.is_empty() { ptr::null() } else { start(mask) }, start(values)]
            }
            Self::F64(values) => vec![ptr::null(), start(values)],
            Self::Text { offsets, bytes } => vec![ptr::null(), start(offsets), start(bytes)],
        }
    }
}

/// Columns of one length, by name.
#[derive(Debug, Default)]
pub struct RecordBatch {
    pub columns: Vec<(String, RecordColumn)>,
}

impl RecordBatch {
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| column.len())
    }
}

/// `struct ArrowSchema`.
#[repr(C)]
struct Schema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut Schema,
    dictionary: *mut Schema,
    release: Option<unsafe extern "C" fn(*mut Schema)>,
    private_data: *mut c_void,
}

/// `struct ArrowArray`.
#[repr(C)]
struct Array {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut Array,
    dictionary: *mut Array,
    release: Option<unsafe extern "C" fn(*mut Array)>,
    private_data: *mut c_void,
}

/// `struct ArrowArrayStream`.
#[repr(C)]
struct Stream {
    get_schema: Option<unsafe extern "C" fn(*mut Stream, *mut Schema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut Stream, *mut Array) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut Stream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut Stream)>,
    private_data: *mut c_void,
}

/// What a schema points to.
struct OwnedSchema {
    _format: CString,
    _name: CString,
    children: Vec<*mut Schema>,
}

/// What an array points to.
struct OwnedArray {
    _batch: Arc<RecordBatch>,
    _buffers: Box<[*const c_void]>,
    children: Vec<*mut Array>,
}

/// A flag of the interface: entries may be absent.
const NULLABLE: i64 = 2;

impl Schema {
    fn new(format: &str, name: &str, nullable: bool, children: Vec<Self>) -> Self {
        let plain = |text: &str| CString::new(text.replace('\0', "")).unwrap_or_default();
        let (format, name) = (plain(format), plain(name));
        let (format_at, name_at) = (format.as_ptr(), name.as_ptr());
        let children = children.into_iter().map(|child| Box::into_raw(Box::new(child))).collect();
        let mut owned = Box::new(OwnedSchema { _format: format, _name: name, children });
        Self {
            format: format_at,
            name: name_at,
            metadata: ptr::null(),
            flags: if nullable { NULLABLE } else { 0 },
            n_children: owned.children.len().cast_signed() as i64,
            children: owned.children.as_mut_ptr(),
            dictionary: ptr::null_mut(),
            release: Some(release_schema),
            private_data: Box::into_raw(owned).cast(),
        }
    }

    fn of(batch: &RecordBatch) -> Self {
        let child =
            |(name, column): &(String, RecordColumn)| Self::new(column.format(), name, true, Vec::new());
        Self::new("+s", "", false, batch.columns.iter().map(child).collect())
    }
}

impl Array {
    fn new(
        batch: &Arc<RecordBatch>,
        length: usize,
        nulls: usize,
        buffers: Vec<*const c_void>,
        children: Vec<Self>,
    ) -> Self {
        let mut buffers = buffers.into_boxed_slice();
        let (n_buffers, buffers_at) = (buffers.len().cast_signed() as i64, buffers.as_mut_ptr());
        let children = children.into_iter().map(|child| Box::into_raw(Box::new(child))).collect();
        let mut owned = Box::new(OwnedArray { _batch: batch.clone(), _buffers: buffers, children });
        Self {
            length: length.cast_signed() as i64,
            null_count: nulls.cast_signed() as i64,
            offset: 0,
            n_buffers,
            n_children: owned.children.len().cast_signed() as i64,
            buffers: buffers_at,
            children: owned.children.as_mut_ptr(),
            dictionary: ptr::null_mut(),
            release: Some(release_array),
            private_data: Box::into_raw(owned).cast(),
        }
    }

    fn of(batch: &Arc<RecordBatch>) -> Self {
        let child = |(_, column): &(String, RecordColumn)| {
            Self::new(batch, column.len(), column.nulls(), column.buffers(), Vec::new())
        };
        Self::new(batch, batch.rows(), 0, vec![ptr::null()], batch.columns.iter().map(child).collect())
    }
}

/// SAFETY of the three releases: the pointer is to a struct of ours that has not been released, as the interface demands, so
/// that its private data and children are the boxes that `new` gave away.
unsafe extern "C" fn release_schema(schema: *mut Schema) {
    unsafe {
        let owned = Box::from_raw((*schema).private_data.cast::<OwnedSchema>());
        for child in &owned.children {
            drop(Box::from_raw(*child));
        }
        (*schema).release = None;
    }
}

unsafe extern "C" fn release_array(array: *mut Array) {
    unsafe {
        let owned = Box::from_raw((*array).private_data.cast::<OwnedArray>());
        for child in &owned.children {
            drop(Box::from_raw(*child));
        }
        (*array).release = None;
    }
}

unsafe extern "C" fn release_stream(stream: *mut Stream) {
    unsafe {
        drop(Box::from_raw((*stream).private_data.cast::<Rest>()));
        (*stream).release = None;
    }
}

/// A struct that nobody has taken over is released here. A child that was moved out has no release left.
impl Drop for Schema {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: it has not been released.
            unsafe { release(self) }
        }
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: it has not been released.
            unsafe { release(self) }
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: it has not been released.
            unsafe { release(self) }
        }
    }
}

/// What a stream has still to give.
struct Rest {
    batch: Arc<RecordBatch>,
    given: bool,
}

unsafe extern "C" fn get_schema(stream: *mut Stream, out: *mut Schema) -> c_int {
    // SAFETY: the stream is ours and alive; `out` is memory for a schema that holds none.
    unsafe { ptr::write(out, Schema::of(&(*(*stream).private_data.cast::<Rest>()).batch)) }
    0
}

unsafe extern "C" fn get_next(stream: *mut Stream, out: *mut Array) -> c_int {
    // SAFETY: as for the schema.
    unsafe {
        let rest = &mut *(*stream).private_data.cast::<Rest>();
        if rest.given {
            // An array without a release is the end.
            ptr::write_bytes(out, 0, 1);
        } else {
            rest.given = true;
            ptr::write(out, Array::of(&rest.batch));
        }
    }
    0
}

unsafe extern "C" fn get_last_error(_: *mut Stream) -> *const c_char {
    ptr::null()
}

/// The buffers are read only and the counts atomic.
unsafe impl Send for Schema {}
unsafe impl Send for Array {}
unsafe impl Send for Stream {}

/// The capsule of a schema.
pub fn schema_capsule<'py>(py: Python<'py>, batch: &RecordBatch) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value(py, Schema::of(batch), c"arrow_schema")
}

/// The capsules of a batch.
pub fn array_capsules<'py>(
    py: Python<'py>,
    batch: &Arc<RecordBatch>,
) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
    Ok((schema_capsule(py, batch)?, PyCapsule::new_with_value(py, Array::of(batch), c"arrow_array")?))
}

/// The capsule of a stream of one batch.
pub fn stream_capsule<'py>(py: Python<'py>, batch: &Arc<RecordBatch>) -> PyResult<Bound<'py, PyCapsule>> {
    let rest = Box::new(Rest { batch: batch.clone(), given: false });
    let stream = Stream {
        get_schema: Some(get_schema),
        get_next: Some(get_next),
        get_last_error: Some(get_last_error),
        release: Some(release_stream),
        private_data: Box::into_raw(rest).cast(),
    };
    PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
}
