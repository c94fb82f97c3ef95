/* test-kernel-names.c - kernels have names that people can tell apart in a line. */
#include "kernel_names.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

static void is_read(const char *symbol, const char *expected)
{
    char *name = kernel_readable_name(symbol);
    assert_string_equal(name, expected);
    free(name);
}

static void is_shortened(const char *readable, const char *expected)
{
    char *name = kernel_short_name(readable);
    assert_string_equal(name, expected);
    free(name);
}

static void a_symbol_is_read_without_result_and_parameters(void **state)
{
    is_read("_ZN2at6native4FillIfEEvPfi", "at::native::Fill<float>");
    is_read("_ZN12_GLOBAL__N_13addEPfS0_", "(anonymous namespace)::add");
    is_read("triton_poi_fused_add_0", "triton_poi_fused_add_0");
    is_read("", "");
}

static void a_plain_name_is_short_already(void **state)
{
    static const char *const names[] = {
        "triton_poi_fused_add_0", "fusion_12", "copy host to device", "", "<", "a::", "k(ernel"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        is_shortened(names[i], names[i]);
}

static void name_spaces_go(void **state)
{
    is_shortened("at::native::softmax_warp_forward", "softmax_warp_forward");
    is_shortened("at::native::(anonymous namespace)::rms", "rms");
    is_shortened("at::native::(anonymous namespace)::layer_norm<float, float, false>", "layer_norm");
}

/* PyTorch's, as its library has them. */
static void of_a_template_stays_what_is_done(void **state)
{
    is_shortened("at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, "
                 "at::native::GeluType)::{lambda()#2}::operator()() const::{lambda()#2}::operator()() "
                 "const::{lambda(float)#1}, std::array<char*, 2ul>, false>",
                 "vectorized_elementwise_kernel<GeluCUDAKernelImpl>");
    is_shortened("at::native::reduce_kernel<128, 4, at::native::ReduceOp<float, at::native::func_wrapper_t<float, "
                 "at::native::sum_functor<float, float, float>::operator()(at::TensorIterator&)::{lambda(float, float)#1}>, "
                 "unsigned int, float, 4, 4> >",
                 "reduce_kernel<sum_functor>");
    is_shortened("at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float, float, "
                 "float>, unsigned int, float, 4, 4> >",
                 "reduce_kernel<MeanOps>");
    is_shortened(
        "at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<at::native::BinaryFunctor<float, "
        "float, float, at::native::binary_internal::MulFunctor<float> > >(at::TensorIteratorBase&, "
        "at::native::BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> > "
        "const&)::{lambda(int)#1}>",
        "elementwise_kernel<MulFunctor>");
    is_shortened("at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
                 "namespace)::TensorListMetadata<4>, at::native::(anonymous namespace)::FusedAdamMathFunctor<float, 4, "
                 "(at::native::ADAM_MODE)0, false>, float const*, double>",
                 "multi_tensor_apply_kernel<FusedAdamMathFunctor>");
    is_shortened("cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nn_align1>",
                 "Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nn_align1>");
}

static void a_name_that_breaks_off_is_shortened_as_far_as_it_goes(void **state)
{
    is_shortened("at::native::elementwise_kernel<128, 2, at::native::MulFunctor<flo", "elementwise_kernel<MulFunctor>");
    is_shortened("a::b<c(d, e", "b<c>");
    is_shortened("a::b<", "b");
    is_shortened("a::(anonymous name", "(anonymous name");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_symbol_is_read_without_result_and_parameters),
        cmocka_unit_test(a_plain_name_is_short_already),
        cmocka_unit_test(name_spaces_go),
        cmocka_unit_test(of_a_template_stays_what_is_done),
        cmocka_unit_test(a_name_that_breaks_off_is_shortened_as_far_as_it_goes),
    };
    return cmocka_run_group_tests_name("kernel names", tests, NULL, NULL);
}
