/* claim MAILBOX AGENT: the watcher in C. It does the same reads, writes, fsyncs and spawns from an answer to its agent, and nothing
   else.
   claim MAILBOX AGENT NAME: the supervisor that the watcher starts.
   claim exec AGENT: dies with its parent, and becomes the agent. */
#include "common.h"

static char self[4096];

static pid_t start(char **args, int in, int from) {
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    if (in >= 0) posix_spawn_file_actions_adddup2(&files, in, 0);
    if (from >= 0) posix_spawn_file_actions_adddup2(&files, from, 1);
    posix_spawnattr_t how;
    posix_spawnattr_init(&how);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP);
    pid_t pid;
    if ((errno = posix_spawn(&pid, args[0], &files, &how, args, environ))) die(args[0]);
    return pid;
}

static void supervise(char *agent, char *name) {
    char path[4096], run[4096], bytes[65536];
    snprintf(path, sizeof path, "runs/%s/q/lock", name);
    hold(path);
    snprintf(run, sizeof run, "runs/%s/q/1", name);
    snprintf(path, sizeof path, "%s/run.json", run);
    size_t size = take(path, bytes, sizeof bytes);
    snprintf(path, sizeof path, "running/%s.q.json", name);
    take(path, bytes + size, sizeof bytes - size);
    snprintf(path, sizeof path, "%s/events.jsonl", run);
    put_ahead(run, "run.json", bytes, size, 1);
    int in[2], from[2];
    if (pipe(in) || pipe(from)) die("pipe");
    fcntl(in[1], F_SETFD, FD_CLOEXEC), fcntl(from[0], F_SETFD, FD_CLOEXEC);
    char *args[] = {self, "exec", agent, 0};
    start(args, in[0], from[1]);
    close(in[0]), close(from[1]);
    sync_folder(run);
    snprintf(run, sizeof run, "runs/%s/q", name);
    sync_folder(run);
    snprintf(run, sizeof run, "runs/%s", name);
    sync_folder(run);
    sync_folder("runs");
    snprintf(run, sizeof run, "%s.json", name);
    put("workflows", run, bytes, 200, 1);
    if (write(in[1], bytes, size) < 0) die("agent");
    while (read(from[0], bytes, sizeof bytes) > 0) append(path, bytes);
    wait(0);
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    if (!strcmp(argv[1], "exec")) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        execv(argv[2], argv + 2);
        die(argv[2]);
    }
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0 || chdir(argv[1])) die(argv[1]);
    if (argc == 4) {
        supervise(argv[2], argv[3]);
        return 0;
    }
    signal(SIGCHLD, SIG_IGN);
    mkdir("workflows", 0700), mkdir("runs", 0700), mkdir("running", 0700), mkdir("locks", 0700);
    int events = inotify_init1(IN_CLOEXEC);
    if (inotify_add_watch(events, "answered", IN_MOVED_TO) < 0) die("answered");
    fprintf(stderr, "watching\n");
    char room[4096], bytes[65536], path[4096], to[4096], name[300];
    while (read(events, room, sizeof room) > 0) {
        struct inotify_event *event = (void *)room;
        snprintf(name, sizeof name, "%.*s", (int)(strlen(event->name) - 5), event->name);
        int lock = hold("locks/00");
        snprintf(path, sizeof path, "answered/%s.json", name);
        size_t size = take(path, bytes, sizeof bytes);
        /* Writes runs/NAME/q, its lock, the claim (durable) and the attempt. The attempt is made durable before the agent gets input. */
        snprintf(to, sizeof to, "runs/%s", name);
        mkdir(to, 0700);
        snprintf(room, sizeof room, "runs/%s/q", name);
        mkdir(room, 0700);
        snprintf(to, sizeof to, "%s/lock", room);
        int run = hold(to);
        snprintf(to, sizeof to, "running/%s.q.json", name);
        if (syscall(SYS_renameat2, AT_FDCWD, path, AT_FDCWD, to, 1)) die(to);
        sync_folder("running");
        snprintf(to, sizeof to, "%s/1", room);
        mkdir(to, 0700);
        put_ahead(to, "run.json", bytes, size, 0);
        append("audit.jsonl", "{\"event\":\"claimed\"}\n");
        close(run);
        close(lock);
        char *args[] = {self, argv[1], argv[2], name, 0};
        start(args, -1, -1);
    }
    return 0;
}
