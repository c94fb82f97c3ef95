/* array.h - a matrix of numbers in device memory, shared by reference: its memory is freed with the last reference,
 * which is what makes activations and temporaries disappear as soon as they are dead. */
#ifndef WORKLOADS_ARRAY_H
#define WORKLOADS_ARRAY_H
#include "device.h"
#include <memory>

template <class T> class array
{
  public:
    array() = default; /* none */
    /* Uninitialised, one allocation of its own. */
    array(size_t row_count, size_t column_count, enum role role = COMPUTE)
        : memory(std::make_shared<block>(row_count * column_count * sizeof(T), role)), rows(row_count), columns(column_count)
    {
    }

    explicit operator bool() const
    {
        return memory != nullptr;
    }
    T *data() const
    {
        return memory ? (T *)memory->address() + offset : nullptr;
    }
    size_t count() const
    {
        return rows * columns;
    }
    size_t bytes() const
    {
        return count() * sizeof(T);
    }
    /* No one else can see the contents or may still be reading them, so they may be changed in place. */
    bool alone() const
    {
        return memory.use_count() == 1 && memory->used_on_one_stream();
    }
    void used_for(enum role role) const
    {
        memory->used_for(role);
    }
    /* The same memory, seen from row `first`. */
    array slice(size_t first, size_t row_count) const
    {
        array part = *this;
        part.offset += first * columns;
        part.rows = row_count;
        return part;
    }
    /* The same memory in another shape of as many numbers. */
    array reshaped(size_t row_count, size_t column_count) const
    {
        array other = *this;
        other.rows = row_count;
        other.columns = column_count;
        return other;
    }

  private:
    std::shared_ptr<block> memory;
    size_t offset = 0;

  public:
    size_t rows = 0, columns = 0;
};

using tensor = array<float>;
using indices = array<int>;
#endif
