/* Functions, tables and fields in C. */

struct limits {
    unsigned long least, most, spare;
};

static const struct limits limits = { .least = 3, .most = 27, .spare = 40 };

static const unsigned char lengths[8] = { 2, 7, 1, 8, 2, 8, 1, 8 };

static const unsigned long aligned[8] __attribute__((aligned(8))) = { 5, 3, 6, 2, 5, 3, 6, 2 };

volatile unsigned long result;

/* Is called through a pointer. */
static unsigned long add(unsigned long number) {
    for (unsigned long index = 0; index < 11; index++)
        result += number;
    return result;
}

static unsigned long never(unsigned long number) {
    for (unsigned long index = 0; index < 70; index++)
        result += number * limits.spare;
    return result;
}

unsigned long (*const operations[2])(unsigned long) = { add, never };

__attribute__((noinline)) unsigned long c_square(unsigned long number) {
    for (unsigned long index = 0; index < aligned[number % 8]; index++)
        result += index;
    return number * number;
}

unsigned long c_unused(unsigned long number) {
    for (unsigned long index = 0; index < 33; index++)
        result ^= number;
    return result;
}

unsigned long c_sum(unsigned long count) {
    unsigned long sum = 0;
    for (unsigned long index = limits.least; index < limits.most; index++)
        for (unsigned long round = 0; round < lengths[index % 8]; round++)
            sum += c_square(index);
    return sum + operations[count > 1000](count);
}
