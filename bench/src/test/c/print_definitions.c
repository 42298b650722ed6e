/* Prints what page_content.h and page_numbers.h make, for the Java side to be held against. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "page_content.h"
#include "page_numbers.h"

int main(int argc, char **argv) {
    if (argc != 4) {
        return 2;
    }
    uint64_t seed = strtoull(argv[1], NULL, 10);
    uint64_t pages = strtoull(argv[2], NULL, 10);
    double exponent = strtod(argv[3], NULL);
    static uint64_t words[512];
    for (uint64_t page = 0; page < 8; page++) {
        page_content_fill(words, sizeof words, seed, page * 1000003);
        if (page_content_verify(words, sizeof words, seed, page * 1000003) != -1) {
            return 3;
        }
        for (int i = 0; i < 512; i++) {
            printf("%" PRIx64 "\n", words[i]);
        }
    }
    for (int pattern = PATTERN_RANDOM; pattern <= PATTERN_ZIPF; pattern++) {
        struct page_numbers numbers;
        page_numbers_init(&numbers, (enum page_pattern) pattern, pages, seed, exponent);
        for (int i = 0; i < 1000; i++) {
            printf("%" PRIu64 "\n", page_numbers_next(&numbers));
        }
    }
    return 0;
}
