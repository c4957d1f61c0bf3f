/* poke FIFO FIRST COUNT PAUSE_MS FROM TO: moves COUNT files, from FROM/wFIRST.json on, to TO one by one. Prints the nanoseconds from each
   rename to the main() of the agent that is started for it. */
#include "common.h"

int main(int argc, char **argv) {
    if (argc != 7) return 2;
    int fd = open(argv[1], O_RDWR | O_CLOEXEC);
    if (fd < 0) die(argv[1]);
    for (int first = atoi(argv[2]), n = first; n < first + atoi(argv[3]); n++) {
        char from[4096], to[4096];
        snprintf(from, sizeof from, "%s/w%d.json", argv[5], n);
        snprintf(to, sizeof to, "%s/w%d.json", argv[6], n);
        int64_t start = now_ns(), begun;
        if (rename(from, to)) die(from);
        alarm(30);
        if (read(fd, &begun, sizeof begun) != sizeof begun) die(argv[1]);
        printf("%lld\n", (long long)(begun - start));
        fflush(stdout);
        usleep(atoi(argv[4]) * 1000);
    }
    return 0;
}
