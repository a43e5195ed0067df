/* A library that looks at the environment when it is loaded. */
#include <stdlib.h>
#include <string.h>

extern char **environ;

static unsigned long rounds = 30;
static unsigned long more = 0;
static const unsigned long steps[4] = { 1, 2, 1, 4 };
volatile unsigned long scaled;

__attribute__((constructor)) static void load(void) {
    const char *value = getenv("SCALE_ROUNDS");
    if (value)
        rounds = strtoul(value, 0, 10);
    for (char **entry = environ; *entry; entry++)
        if (!strncmp(*entry, "SCALE_MORE=", 11))
            more = strtoul(*entry + 11, 0, 10);
}

unsigned long scale_unused(unsigned long number) {
    for (unsigned long index = 0; index < 60; index++)
        scaled ^= number;
    return scaled;
}

unsigned long scale(unsigned long number) {
    for (unsigned long index = 0; index < rounds + more; index += steps[index % 4])
        scaled += number;
    return scaled;
}
