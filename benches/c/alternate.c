/* alternate ROUNDS [+OFFSET] // PROGRAM ARG... // PROGRAM ARG... : runs the programs by turns and prints one line a process:
   its place, nanoseconds from the spawn to the end, its largest memory in KiB, its status, microseconds of the processor. `{}` in an
   argument is the round. */
#include "common.h"

static int null;

static int64_t run(char **argv, const char *round, long *memory, int *status, long *spent) {
    char *args[64], room[8192], *free_room = room;
    int n = 0;
    for (; argv[n] && strcmp(argv[n], "//"); n++) {
        char *hole = strstr(argv[n], "{}");
        args[n] = argv[n];
        if (hole) {
            args[n] = free_room;
            free_room += 1 + sprintf(free_room, "%.*s%s%s", (int)(hole - argv[n]), argv[n], round, hole + 2);
        }
    }
    args[n] = 0;
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, null, 0);
    posix_spawn_file_actions_adddup2(&files, null, 1);
    pid_t pid;
    struct rusage used;
    int64_t start = now_ns();
    if ((errno = posix_spawn(&pid, args[0], &files, 0, args, environ))) die(args[0]);
    wait4(pid, status, 0, &used);
    int64_t time = now_ns() - start;
    *memory = used.ru_maxrss;
    *spent = (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000 + used.ru_utime.tv_usec + used.ru_stime.tv_usec;
    posix_spawn_file_actions_destroy(&files);
    return time;
}

int main(int argc, char **argv) {
    char **programs[16];
    int count = 0, offset = 0;
    if (argc < 4) return 2;
    for (int n = 2; n < argc; n++) {
        if (argv[n][0] == '+' && !count) offset = atoi(argv[n] + 1);
        if (!strcmp(argv[n], "//") && count < 16) programs[count++] = argv + n + 1;
    }
    null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int round = 0; round < atoi(argv[1]); round++) {
        char text[16];
        sprintf(text, "%d", round + offset);
        for (int turn = 0; turn < count; turn++) {
            /* Every other round runs backwards, so that no program always comes behind the same neighbour. */
            int which = round % 2 ? count - 1 - turn : turn;
            long memory, spent;
            int status;
            int64_t time = run(programs[which], text, &memory, &status, &spent);
            printf("%d %lld %ld %d %ld\n", which, (long long)time, memory, status, spent);
        }
    }
    return 0;
}
