/* data.h - real data, and how it reaches the device: pinned staging buffers, filled and copied one batch ahead. */
#ifndef WORKLOADS_DATA_H
#define WORKLOADS_DATA_H
#include "array.h"
#include "options.h"
#include <string>
#include <vector>

/* One batch on the device. Text has `tokens` and a target for each, images have `images` and a target each. */
struct batch {
    int size; /* examples */
    indices tokens;
    tensor images;
    indices targets;
};

class dataset
{
  public:
    virtual ~dataset() = default;
    /* Writes examples for batch `number`, from the part that is trained on or from the part held out. */
    virtual void fill(uint64_t number, int size, bool held_out, float *images, int *tokens, int *targets) const = 0;

    size_t image_numbers = 0, token_count = 0, target_count = 0; /* per example */
};

/* Bytes of a text and the byte that follows each. `by_time`: all sequences' first bytes come first, then all second ones. */
class text : public dataset
{
  public:
    text(const struct options &o, bool by_time);
    void fill(uint64_t number, int size, bool held_out, float *images, int *tokens, int *targets) const override;

  private:
    std::string bytes;
    size_t sequence;
    uint64_t seed;
    bool by_time;
};

/* Digits of 8 x 8 pixels from 0 to 1. */
class digits : public dataset
{
  public:
    explicit digits(const struct options &o);
    void fill(uint64_t number, int size, bool held_out, float *images, int *tokens, int *targets) const override;

  private:
    std::string bytes;
    std::vector<int> order; /* shuffled; the last sixth is held out */
};

/* Copies batch after batch to the device. Data that cannot be read ends the program with status 1. */
class loader
{
  public:
    loader(const dataset &from, int largest, bool held_out);
    ~loader();
    loader(const loader &) = delete;
    loader &operator=(const loader &) = delete;

    /* Starts to copy the next batch, of `size` examples. Two may be on the way. */
    void start(int size);
    /* The oldest batch that was started; COMPUTE waits for it. */
    struct batch take();

  private:
    struct slot {
        void *staging; /* pinned */
        cudaEvent_t copied;
        struct batch batch;
    } slots[2];
    const dataset &data;
    bool held_out;
    uint64_t started = 0, taken = 0;
};
#endif
