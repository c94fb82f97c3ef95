"""kernels.py - what a kernel's types do not tell, declared: how structs are laid out, and what is written where the types leave it open.

A row describes a struct member by member, each at its natural alignment; a number before a letter repeats it:

    r w    an address of memory that is read, that is written
    p      an address of memory that is written unless the type of its elements says const
    a      8 bytes that are an address or a number
    l i h b   numbers of 8, 4, 2 and 1 bytes
    L I H B   the same where it is not certain that they have been set, or that the kernel looks at them: they do not count
    @24    the next member is at this offset

What follows the members that are given does not count."""

# Structs by their type without its arguments, with the number of the template's argument that is the type of the elements.
STRUCTS = {
    "at::PhiloxCudaState": ("2a l b", None),  # seed and offset, or where they are when a graph is captured
    # Of sizes and strides only the first are set, as many as the tensor has dimensions.
    "at::cuda::detail::TensorInfo": ("p", 0),
    "at::native::TensorSizeStride": ("", None),
    "torch::headeronly::detail::GenericPackedTensorAccessor": ("p", -4),
    "thrust::device_ptr": ("p", 0),
    "at::native::memory::LoadWithCast<1>": ("b i", None),
    "at::native::memory::LoadWithCast<2>": ("2b 2i", None),
    "at::native::memory::LoadWithCast<3>": ("3b 3i", None),
    "at::native::memory::LoadWithCast<4>": ("4b 4i", None),
    "at::native::memory::StoreWithCast<1>": ("b i", None),
    "at::native::memory::StoreWithCast<2>": ("2b 2i", None),
    "c10::complex": ("2l", None),
    "at_cuda_detail::cub::ScanTileState": ("3w", None),
    "at_cuda_detail::cub::ReduceByKeyScanTileState": ("3w", None),
    "at_cuda_detail::cub::GridEvenShare": ("", None),
    "OffsetCalculator": ("", None),
    "PyTorchMemEffAttention::AttentionKernel::Params": ("7r i 3w 7i b 8i 5l 5i b l i 2a l b 2w", None),
    # The last two are made by the kernel itself out of the one before.
    "PyTorchMemEffAttention::AttentionBackwardKernel::Params": ("7r w 2r 5w 2L 8i b 6l b 2a l b", None),
    "pytorch_flash::Flash_fwd_params": ("3r @112 2w @152 3w @176 11i @224 7r @328 2r @344 2r @372 i b 5i 2a l b w 4b i r", None),
}

# The first parameter of a kernel that uses less of it than others, which use the same type.
FIRST_PARAMETERS = {
    "flash_fwd_splitkv_combine_kernel": "@112 w @120 r @160 w @168 r",
    "flash_bwd_dot_do_o_kernel": "@112 r @224 2r @472 r @504 w @624 w",
    "flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel": "3r @160 r @224 2r @400 2a l b @432 r @448 r @472 r @488 3w @624 r",
    "flash_bwd_convert_dq_kernel": "@224 2r @480 w @504 r",
}

# The parameters of a kernel, in order, where types mislead: r, w as above, . as the type says, - does not count.
PARAMETERS = {
    "lstm_cell_forward": "rrrrrwww..",
    "lstm_cell_backward": "rwrrrrw..",
    "gru_cell_forward": "rrrrrww..",
    "gru_cell_backward": "wwrwr..",
    "batch_norm_reduce_statistics_kernel": "rr......r",
    "batch_norm_transform_input_kernel": "rwrrrr.",
    "batch_norm_backward_reduce_kernel": "rrrrwwww",
    "batch_norm_backward_elemt_kernel": "rrrrrrrw..",
    "nll_loss_forward_no_reduce_cuda_kernel": ".r.....",
    "vectorized_gather_kernel": ".rr......",
    "transform_vals": "r...",
}

# The same for what follows list and functor in a launch of multi_tensor_apply_kernel, by the functor.
AFTER_FUNCTOR = {
    "BinaryOpScalarTensorFunctor": ".r.",
    "FusedSgdMathFunctor": "..r.....rr",
}

# Which lists a functor writes: the number of the template's argument that says which, or a function of the number of lists.
LISTS_WRITTEN = {
    "UnaryOpFunctor": 3,
    "ZeroFunctor": 3,
    "BinaryOpScalarFunctor": 3,
    "BinaryOpScalarListFunctor": 3,
    "BinaryOpListAlphaFunctor": 3,
    "BinaryOpScalarTensorFunctor": 3,
    "PointwiseOpScalarFunctor": 3,
    "PointwiseOpScalarListFunctor": 3,
    "PointwiseOpScalar0dTensorFunctor": 3,
    "TernaryOpListFunctor": 3,
    "TernaryOpScalarFunctor": 3,
    "TernaryOpScalarListFunctor": 3,
    "CopyFunctor": 4,
    "PointwiseOpListFunctor": lambda lists: 1 << 2,
    "LpNormFunctor": lambda lists: 0,
    "LpMaxFunctor": lambda lists: 0,
    # Parameters and states; gradients only where the optimizer also takes a scale from them.
    "FusedAdamMathFunctor": lambda lists: (1 << lists) - 1 - (1 << 1),
    "FusedAdamMathFunctorMP": lambda lists: (1 << lists) - 1 - (1 << 1),
    "FusedAdagradMathFunctor": lambda lists: (1 << lists) - 1 - (1 << 1),
    "FusedSgdMathFunctor": lambda lists: (1 << lists) - 1 - (1 << 1),
}

# (number of blocks, bytes of each block's index) that multi-tensor lists have had: before and since CUDA 13.
LIST_BLOCKS = ((2240, 2), (320, 1))

# Bytes of the scalars that a multi-tensor list may have, one for each tensor.
SCALARS = {"bool": 1, "unsigned char": 1, "signed char": 1, "short": 2, "int": 4, "float": 4, "long": 8, "double": 8,
           "c10::complex<float>": 8, "c10::complex<double>": 16}
