/* answer MAILBOX ID: lock, question read, checkpoint read and replaced, answered document, pending copy gone. */
#include "common.h"

int main(int argc, char **argv) {
    if (argc != 3 || chdir(argv[1])) return 2;
    char name[300], path[400], bytes[1 << 16];
    snprintf(name, sizeof name, "%s.json", argv[2]);
    hold("locks/00");
    snprintf(path, sizeof path, "pending/%s", name);
    size_t question = take(path, bytes, sizeof bytes / 2);
    snprintf(path, sizeof path, "checkpoints/%s", name);
    size_t checkpoint = take(path, bytes + question, sizeof bytes - question);
    put("checkpoints", name, bytes + question, checkpoint, 1);
    put("answered", name, bytes, question, 0);
    snprintf(path, sizeof path, "pending/%s", name);
    if (unlink(path)) die(path);
    return 0;
}
