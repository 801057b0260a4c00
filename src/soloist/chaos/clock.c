/* Preloaded into a private server: moves its wall clock by as many seconds as the file says that CLOCK_OFFSET names.
 * The clock that only ever goes forward stays as it is, as it does when somebody sets the time of a machine. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile long *offset;

static long moved_by(void)
{
    static long none = 0;
    if (!offset) {
        const char *path = getenv("CLOCK_OFFSET");
        int file = path ? open(path, O_RDONLY) : -1;
        void *seen = file >= 0 ? mmap(NULL, sizeof(long), PROT_READ, MAP_SHARED, file, 0) : MAP_FAILED;
        offset = seen == MAP_FAILED ? &none : (volatile long *)seen;
    }
    return *offset;
}

int clock_gettime(clockid_t which, struct timespec *at)
{
    int result = (int)syscall(SYS_clock_gettime, which, at);
    if (result == 0 && (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE))
        at->tv_sec += moved_by();
    return result;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *at)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at)
        *at = now.tv_sec;
    return now.tv_sec;
}
