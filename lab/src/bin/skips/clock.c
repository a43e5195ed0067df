/* Preloaded to make a process the same in each run: every reading of the clock is a tenth of a second after the last one,
   random numbers are all alike, and no other program is found, since how often its output is looked for depends on the time.
   Adds up the bytes that the process reads, and writes their number to the file BYTES. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

static atomic_long readings, bytes;

int clock_gettime(clockid_t clock, struct timespec *time) {
    long tenths = atomic_fetch_add(&readings, 1) + 1;
    (void)clock;
    time->tv_sec = 1700000000 + tenths / 10;
    time->tv_nsec = tenths % 10 * 100000000;
    return 0;
}

ssize_t getrandom(void *to, size_t length, unsigned flags) {
    (void)flags;
    memset(to, 7, length);
    return (ssize_t)length;
}

int posix_spawnp(pid_t *id, const char *file, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
                 char *const arguments[], char *const environment[]) {
    (void)id, (void)file, (void)actions, (void)attributes, (void)arguments, (void)environment;
    return ENOENT;
}

static ssize_t added(ssize_t count) {
    if (count > 0)
        atomic_fetch_add(&bytes, count);
    return count;
}

ssize_t read(int file, void *to, size_t length) {
    static ssize_t (*next)(int, void *, size_t);
    if (!next)
        next = (ssize_t (*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");
    return added(next(file, to, length));
}

ssize_t pread64(int file, void *to, size_t length, off64_t at) {
    static ssize_t (*next)(int, void *, size_t, off64_t);
    if (!next)
        next = (ssize_t (*)(int, void *, size_t, off64_t))dlsym(RTLD_NEXT, "pread64");
    return added(next(file, to, length, at));
}

__attribute__((destructor)) static void report(void) {
    const char *path = getenv("BYTES");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (file) {
        fprintf(file, "%ld\n", (long)bytes);
        fclose(file);
    }
}
