/* libspillway.c - stands in for our library when libcuda.so is linked. */
int cuInit(unsigned flags);

int cuInit(unsigned flags)
{
    return 0;
}
