/* The agent of the watcher's benchmark: tells a FIFO when its main() began, answers in stream-json, and ends.
   Environment: BENCH_FIFO is the FIFO. With BENCH_HOLD it waits so many milliseconds. With BENCH_LINES it writes so many numbered
   lines before the result. */
#include "common.h"

static void say(const char *line) {
    if (write(1, line, strlen(line)) < 0) die("stdout");
}

int main(int argc, char **argv) {
    int64_t begun = now_ns();
    const char *fifo = getenv("BENCH_FIFO"), *wait = getenv("BENCH_HOLD"), *lines = getenv("BENCH_LINES");
    int fd = fifo ? open(fifo, O_WRONLY | O_CLOEXEC) : -1;
    if (fd >= 0 && write(fd, &begun, sizeof begun) < 0) die(fifo);
    const char *session = "00000000-0000-4000-8000-000000000000";
    for (int n = 1; n < argc; n++)
        if (!strncmp(argv[n], "--session-id=", 13)) session = argv[n] + 13;
    char line[1024];
    snprintf(line, sizeof line, "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"%s\",\"model\":\"m\",\"permissionMode\":\"default\",\"tools\":[]}\n", session);
    say(line);
    for (int n = 0; lines && n < atoi(lines); n++) {
        usleep(20000);
        snprintf(line, sizeof line, "{\"type\":\"assistant\",\"message\":{\"id\":\"m%d\",\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"at %lld.\"}]},\"session_id\":\"%s\"}\n", n, (long long)now_ns(), session);
        say(line);
    }
    if (wait) {
        /* Like the real agent, it writes some text before its result. */
        snprintf(line, sizeof line, "{\"type\":\"assistant\",\"message\":{\"id\":\"m\",\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"Done.\"}]},\"session_id\":\"%s\"}\n", session);
        say(line);
        usleep(atoi(wait) * 1000);
    }
    snprintf(line, sizeof line, "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"done\",\"session_id\":\"%s\",\"num_turns\":1,\"total_cost_usd\":0}\n", session);
    say(line);
    return 0;
}
