/* libcuda.c - no code: whoever opens libcuda.so finds the calls of our library, which the one that is made of this needs. */
int cuInit(unsigned flags);

/* Nobody calls it: linkers leave out libraries that nothing is taken from. */
__attribute__((used)) static int (*const taken)(unsigned) = cuInit;
