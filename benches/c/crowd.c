/* crowd PROCESSES EACH NAME PROGRAM ARG...: starts PROCESSES processes at once. Each runs the program EACH times. Prints the
   nanoseconds of all.
   `{}` in an argument is a number that never repeats. */
#include "common.h"

int main(int argc, char **argv) {
    if (argc < 5) return 2;
    int processes = atoi(argv[1]), each = atoi(argv[2]);
    int64_t start = now_ns();
    for (int p = 0; p < processes; p++) {
        if (fork()) continue;
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        posix_spawn_file_actions_t files;
        posix_spawn_file_actions_init(&files);
        posix_spawn_file_actions_adddup2(&files, null, 1);
        for (int i = 0; i < each; i++) {
            char *args[64], room[8192], *free_room = room;
            int n = 0;
            for (; argv[n + 4]; n++) {
                char *given = argv[n + 4], *hole = strstr(given, "{}");
                args[n] = given;
                if (hole) {
                    args[n] = free_room;
                    free_room += 1 + sprintf(free_room, "%.*s%s-%d-%d%s", (int)(hole - given), given, argv[3], p, i, hole + 2);
                }
            }
            args[n] = 0;
            pid_t pid;
            int status;
            if ((errno = posix_spawn(&pid, args[0], &files, 0, args, environ))) die(args[0]);
            waitpid(pid, &status, 0);
            if (status) _exit(1);
        }
        _exit(0);
    }
    int status, failed = 0;
    while (wait(&status) > 0) failed |= status;
    printf("%lld\n", (long long)(now_ns() - start));
    return failed != 0;
}
