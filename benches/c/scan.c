/* scan FOLDER...: reads the names and nothing else. */
#include "common.h"

int main(int argc, char **argv) {
    size_t names = 0;
    for (int n = 1; n < argc; n++) {
        DIR *folder = opendir(argv[n]);
        if (!folder) die(argv[n]);
        while (readdir(folder)) names++;
        closedir(folder);
    }
    printf("%zu\n", names);
    return 0;
}
