/* closed.c - a program that is nothing but a room and those below it: it links when none of them calls one above. */
int main(void)
{
    return 0;
}
