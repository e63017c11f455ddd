//! Reads the weights that are part of the binary.
//!
//! Their files are statics: a constant is copied into each codegen unit that uses it.

use safetensors::{Dtype, SafeTensors};

use crate::matmul::Linear;

/// The file of weights is not what this version expects.
#[derive(Debug, thiserror::Error)]
#[error("models/minilm-reader: {0}")]
pub struct WeightsError(String);

impl WeightsError {
    pub(crate) fn new(problem: String) -> Self {
        Self(problem)
    }
}

/// The tensors of a file.
pub(crate) struct Weights {
    tensors: SafeTensors<'static>,
}

impl Weights {
    pub(crate) fn new(file: &'static [u8]) -> Result<Self, WeightsError> {
        Ok(Self { tensors: SafeTensors::deserialize(file).map_err(|e| WeightsError(e.to_string()))? })
    }

    /// Returns a tensor of int8 where it lies in the file, with its numbers of rows and columns.
    pub(crate) fn bytes(&self, name: &str) -> Result<(&'static [u8], usize, usize), WeightsError> {
        let (data, shape) = self.tensor(name, Dtype::I8)?;
        match shape[..] {
            [rows, columns] => Ok((data, rows, columns)),
            _ => Err(WeightsError(format!("{name} has {} dimensions", shape.len()))),
        }
    }

    /// Copies a tensor of floats, which is small.
    pub(crate) fn floats(&self, name: &str, count: usize) -> Result<Vec<f32>, WeightsError> {
        let (data, _) = self.tensor(name, Dtype::F32)?;
        let (values, _) = data.as_chunks::<4>();
        if values.len() != count {
            return Err(WeightsError(format!("{name} has {} values, not {count}", values.len())));
        }
        Ok(values.iter().map(|v| f32::from_le_bytes(*v)).collect())
    }

    /// Returns a matrix with its scales and its bias.
    pub(crate) fn linear(&self, name: &str, inputs: usize, outputs: usize) -> Result<Linear, WeightsError> {
        let (weights, rows, columns) = self.bytes(name)?;
        if (rows, columns) != (outputs, inputs) {
            return Err(WeightsError(format!("{name} is {rows} x {columns}, not {outputs} x {inputs}")));
        }
        let scales = self.floats(&format!("{name}.scales"), outputs)?;
        Ok(Linear { weights, scales, bias: self.floats(&format!("{name}.bias"), outputs)?, inputs })
    }

    fn tensor(&self, name: &str, dtype: Dtype) -> Result<(&'static [u8], Vec<usize>), WeightsError> {
        let view = self.tensors.tensor(name).map_err(|e| WeightsError(e.to_string()))?;
        if view.dtype() != dtype {
            return Err(WeightsError(format!("{name} has another type of values")));
        }
        Ok((view.data(), view.shape().to_vec()))
    }
}
