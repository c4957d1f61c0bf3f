/* post FOLDER NAME: one durable new file of 1 KiB. */
#include "common.h"

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    char bytes[1024];
    memset(bytes, 'x', sizeof bytes);
    put(argv[1], argv[2], bytes, sizeof bytes, 0);
    return 0;
}
