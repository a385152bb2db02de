/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one fuzz target on the files and folders given, without a fuzzer: every build replays the
 * corpora. Without any file it fails, so that a moved corpus is noticed. */
#include "../fuzz.h"
#include "slu/base/buffer.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int
replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return 0;

    struct slu_buffer input = {0};
    char block[4096];
    size_t size;
    while ((size = fread(block, 1, sizeof(block), file)) > 0)
        slu_buffer_append(&input, block, size);
    fclose(file);

    /* A copy of the exact size, so that a sanitizer sees each byte read beyond it. */
    uint8_t *exact = malloc(input.size ? input.size : 1);
    if (!exact)
        abort();
    if (input.size)
        memcpy(exact, input.data, input.size);
    LLVMFuzzerTestOneInput(exact, input.size);
    free(exact);
    slu_buffer_done(&input);
    return 1;
}

static int
replay_folder(const char *path)
{
    DIR *folder = opendir(path);
    if (!folder)
        return replay_file(path);

    int count = 0;
    for (const struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        struct slu_buffer file = {0};
        slu_buffer_printf(&file, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] != '.')
            count += replay_file(file.data);
        slu_buffer_done(&file);
    }
    closedir(folder);
    return count;
}

int
main(int argc, char **argv)
{
    int count = 0;
    for (int i = 1; i < argc; i++)
        count += replay_folder(argv[i]);
    printf("%d inputs\n", count);
    return count > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
