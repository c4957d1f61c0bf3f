/* The durable steps that the baselines share, in the fewest system calls. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static inline void die(const char *what) {
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(1);
}

static inline int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static inline void sync_folder(const char *folder) {
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fsync(fd)) die(folder);
    close(fd);
}

/* put: writes a file under a new name, or with `replace` under an existing one: write, fsync, rename, fsync of the folder. */
/* put_ahead: the data is on the disk afterwards. The caller makes the name durable. */
static inline void put_ahead(const char *folder, const char *name, const void *bytes, size_t size, int replace) {
    char temporary[4096], path[4096];
    snprintf(temporary, sizeof temporary, "%s/.tmp%d", folder, getpid());
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size || fsync(fd)) die(temporary);
    close(fd);
    if (replace ? rename(temporary, path) : syscall(SYS_renameat2, AT_FDCWD, temporary, AT_FDCWD, path, 1)) die(path);
}

static inline void put(const char *folder, const char *name, const void *bytes, size_t size, int replace) {
    put_ahead(folder, name, bytes, size, replace);
    sync_folder(folder);
}

static inline size_t take(const char *path, char *bytes, size_t room) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) die(path);
    ssize_t size = read(fd, bytes, room);
    if (size < 0) die(path);
    close(fd);
    return size;
}

static inline int hold(const char *path) {
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || flock(fd, LOCK_EX)) die(path);
    return fd;
}

static inline void append(const char *path, const char *line) {
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, line, strlen(line)) < 0) die(path);
    close(fd);
}

