//! Tensors of torch without a copy and without a call into Python: DLPack's table of C functions (`dlpack.h` 1.2 and newer).
//!
//! A tensor becomes a NumPy array in 1 to 3 µs, and a small layer is read in 2. Through the table its numbers are had in a tenth of one.

use std::ffi::{CStr, c_int, c_void};
use std::sync::OnceLock;

use pyo3::exceptions::{PyAttributeError, PyRuntimeError};
use pyo3::ffi::{PyErr_Clear, PyObject};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::error::{PyFailure, refuse};

const MAJOR: u32 = 1;
const NAME: &CStr = c"dlpack_exchange_api";
/// `kDLCPU`
const CPU: i32 = 1;

#[repr(C)]
#[derive(Clone, Copy)]
struct Version {
    major: u32,
    minor: u32,
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
pub struct DataType {
    code: u8,
    bits: u8,
    lanes: u16,
}

/// A type of numbers that is looked at in place.
pub trait Element {
    /// Its code, bits and lanes.
    const TYPE: DataType;
}

impl Element for f32 {
    const TYPE: DataType = DataType { code: 2, bits: 32, lanes: 1 };
}

impl Element for i64 {
    const TYPE: DataType = DataType { code: 0, bits: 64, lanes: 1 };
}

/// `DLTensor`
#[repr(C)]
struct View {
    data: *mut c_void,
    device_type: i32,
    device_id: i32,
    ndim: i32,
    dtype: DataType,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

/// `DLManagedTensorVersioned`
#[repr(C)]
struct Managed {
    version: Version,
    manager_ctx: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
    flags: u64,
    view: View,
}

/// `DLPackExchangeAPI`
#[repr(C)]
struct Exchange {
    version: Version,
    previous: *const c_void,
    allocate: *const c_void,
    export: *const c_void,
    import: Option<unsafe extern "C" fn(*mut Managed, *mut *mut PyObject) -> c_int>,
    look: Option<unsafe extern "C" fn(*mut PyObject, *mut View) -> c_int>,
    stream: *const c_void,
}

/// Where the table of torch is: it stays for the life of the process.
static TORCH: OnceLock<usize> = OnceLock::new();

/// Takes torch's table, once.
#[pyfunction]
pub fn use_tensors(table: &Bound<'_, PyCapsule>) -> Result<(), PyFailure> {
    let table = table.pointer_checked(Some(NAME))?.cast::<Exchange>();
    // SAFETY: a capsule of this name holds a table that begins with its version.
    let version = unsafe { table.as_ref().version };
    if version.major != MAJOR {
        let (given, minor) = (version.major, version.minor);
        return Err(refuse(format!("torch must speak DLPack {MAJOR}, got {given}.{minor}")));
    }
    TORCH.get_or_init(|| table.as_ptr() as usize);
    Ok(())
}

fn torch() -> Result<&'static Exchange, PyFailure> {
    let missing = || PyRuntimeError::new_err("residuum.torch must be imported first");
    let address = TORCH.get().ok_or_else(missing)?;
    // SAFETY: `use_tensors` has checked what is there, and torch keeps it for the life of the process.
    Ok(unsafe { &*(*address as *const Exchange) })
}

/// The numbers of a tensor, and its shape.
#[derive(Clone, Copy)]
pub struct Numbers<'a, T = f32> {
    pub values: &'a [T],
    pub shape: &'a [i64],
}

/// Where the numbers of a tensor are.
struct Lying<'a, T> {
    /// Dangling where there are none.
    first: *mut T,
    count: usize,
    shape: &'a [i64],
}

/// The numbers of a tensor that has them as tiles take them: of this type (float32 but for labels) on the CPU, one after the other.
/// None for any other one.
pub fn numbers<'a, T: Element>(tensor: &'a Bound<'_, PyAny>) -> Result<Option<Numbers<'a, T>>, PyFailure> {
    Ok(lying(tensor)?.map(|Lying { first, count, shape }| {
        // SAFETY: the tensor is of this type, contiguous and alive for as long as it is borrowed.
        Numbers { values: unsafe { std::slice::from_raw_parts(first, count) }, shape }
    }))
}

fn lying<'a, T: Element>(tensor: &'a Bound<'_, PyAny>) -> Result<Option<Lying<'a, T>>, PyFailure> {
    let exchange = torch()?;
    let look = exchange.look.ok_or_else(|| refuse("torch must let its tensors be looked at"))?;
    let mut view = std::mem::MaybeUninit::<View>::uninit();
    // SAFETY: the object is alive, and the view has room.
    if unsafe { look(tensor.as_ptr(), view.as_mut_ptr()) } != 0 {
        // No tensor, or one without memory. What is wrong with it is told in Python.
        // SAFETY: the interpreter's lock is held.
        unsafe { PyErr_Clear() };
        return Ok(None);
    }
    // SAFETY: it returned 0, so it has filled the view.
    let view = unsafe { view.assume_init() };
    let dims = usize::try_from(view.ndim)?;
    // SAFETY: sizes and strides have `ndim` entries, and live in the tensor; a tensor without dimensions may have no address.
    let [shape, strides] = [view.shape, view.strides].map(|at| {
        if dims == 0 || at.is_null() { &[][..] } else { unsafe { std::slice::from_raw_parts(at, dims) } }
    });
    let count = shape.iter().product::<i64>();
    if view.device_type != CPU || view.dtype != T::TYPE || !packed(shape, strides, count) {
        return Ok(None);
    }
    if count == 0 {
        return Ok(Some(Lying { first: std::ptr::dangling_mut(), count: 0, shape }));
    }
    let address = view.data as usize + usize::try_from(view.byte_offset)?;
    if view.data.is_null() || !address.is_multiple_of(align_of::<T>()) {
        return Ok(None);
    }
    Ok(Some(Lying { first: address as *mut T, count: usize::try_from(count)?, shape }))
}

/// A parameter and its gradient that lie alike, ready for a step.
pub struct Descent {
    to: *mut f32,
    by: *const f32,
    count: usize,
}

impl Descent {
    /// Both tensors; None if one is not as tiles take it, or their shapes differ.
    pub fn of(to: &Bound<'_, PyAny>, by: &Bound<'_, PyAny>) -> Result<Option<Self>, PyFailure> {
        let (Some(to), Some(by)) = (lying::<f32>(to)?, lying::<f32>(by)?) else { return Ok(None) };
        let alike = to.shape == by.shape;
        Ok(alike.then_some(Self { to: to.first, by: by.first, count: to.count }))
    }

    /// Adds `scale` times the gradient, each number in one rounding, as torch's SGD does where it has vectors.
    ///
    /// # Safety
    /// Both tensors must be alive, and the interpreter's lock held since they were looked at.
    pub unsafe fn add_scaled(&self, scale: f32) {
        for n in 0..self.count {
            // SAFETY: both have `count` numbers, and the memory of a tensor may be written. They may be the same.
            unsafe { *self.to.add(n) = (*self.by.add(n)).mul_add(scale, *self.to.add(n)) };
        }
    }
}

/// [`numbers`] of a tensor that may come from anywhere: None also for a view that torch negates when it is looked at. A parameter was
/// asked when its layer was made.
pub fn unbent<'a>(tensor: &'a Bound<'_, PyAny>) -> Result<Option<Numbers<'a>>, PyFailure> {
    // What is no tensor cannot be asked; what to say of it is told in Python.
    match tensor.call_method0(intern!(tensor.py(), "is_neg")) {
        Ok(negated) if !negated.is_truthy()? => numbers(tensor),
        Err(e) if !e.is_instance_of::<PyAttributeError>(tensor.py()) => Err(e.into()),
        _ => Ok(None),
    }
}

/// Whether numbers of this shape lie one after the other.
fn packed(shape: &[i64], strides: &[i64], count: i64) -> bool {
    let mut expected = 1;
    count == 0
        || shape.iter().zip(strides).rev().all(|(size, stride)| {
            let fits = *size == 1 || *stride == expected;
            expected *= size;
            fits
        })
}

/// A tensor's memory, with what describes it.
struct Owned {
    managed: Managed,
    values: Vec<f32>,
    /// Sizes, then strides.
    layout: Vec<i64>,
}

unsafe extern "C" fn free(managed: *mut Managed) {
    // SAFETY: `tensor` has put the owner there, and torch frees it once.
    drop(unsafe { Box::from_raw((*managed).manager_ctx.cast::<Owned>()) });
}

/// A new tensor with these numbers.
pub fn tensor<'py>(py: Python<'py>, shape: &[usize], values: Vec<f32>) -> Result<Bound<'py, PyAny>, PyFailure> {
    let import = torch()?.import.ok_or_else(|| refuse("torch must take tensors"))?;
    let strides = (0..shape.len()).map(|n| shape[n + 1..].iter().product());
    let layout = shape.iter().copied().chain(strides).map(i64::try_from).collect::<Result<_, _>>()?;
    let view = View {
        data: std::ptr::null_mut(),
        device_type: CPU,
        device_id: 0,
        ndim: i32::try_from(shape.len())?,
        dtype: f32::TYPE,
        shape: std::ptr::null_mut(),
        strides: std::ptr::null_mut(),
        byte_offset: 0,
    };
    let version = Version { major: MAJOR, minor: 0 };
    let managed = Managed { version, manager_ctx: std::ptr::null_mut(), deleter: Some(free), flags: 0, view };
    let owner = Box::into_raw(Box::new(Owned { managed, values, layout }));
    // SAFETY: the owner is ours until torch has taken it, and does not move.
    unsafe {
        let own = &mut *owner;
        own.managed.manager_ctx = owner.cast();
        own.managed.view.data = own.values.as_mut_ptr().cast();
        own.managed.view.shape = own.layout.as_mut_ptr();
        own.managed.view.strides = own.layout.as_mut_ptr().add(shape.len());
        let mut made = std::ptr::null_mut();
        if import(&raw mut own.managed, &raw mut made) != 0 {
            // What torch does not take stays ours.
            free(&raw mut (*owner).managed);
            return Err(PyErr::fetch(py).into());
        }
        Ok(Bound::from_owned_ptr(py, made))
    }
}
