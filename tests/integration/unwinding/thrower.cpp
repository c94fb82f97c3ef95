/* thrower.cpp - throws through several frames with objects to destroy, and counts what arrives. */
#include <stdexcept>
#include <string>

static int alive;

struct counted {
    counted()
    {
        alive++;
    }
    ~counted()
    {
        alive--;
    }
};

static void fall(int depth, int value)
{
    counted here;
    if (depth == 0)
        throw std::runtime_error(std::to_string(value));
    fall(depth - 1, value);
}

extern "C" int caught(int times)
{
    int right = 0;
    for (int i = 0; i < times; i++) {
        try {
            fall(i % 20, i);
        } catch (const std::runtime_error &e) {
            right += std::stoi(e.what()) == i && alive == 0;
        }
    }
    return right;
}
