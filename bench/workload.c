/* workload.c - the values and the table of workloads. */

#include "workload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BIG             10240
#define DIGITS_REPEATED 12
#define MIXED_REPEAT    10

static const dict_entry five_entries[] = {
    {"A", 1234567}, {"B", 1234567}, {"C", 1234567}, {"D", 1234567}, {"E", 1234567}};
static const char *const one_empty[] = {""};
static const uint64_t one_zero[] = {0};
static uint64_t fifteen_ints[15];
static uint64_t big_ints[BIG];
static const char *big_strings[BIG];
static char mixed_signature[MIXED_REPEAT * (sizeof GROUP_SIGNATURE - 1) + 1];
static uint64_t chunks[N_CHUNKS][CHUNK_LEN / sizeof(uint64_t)];

/* The values that all three bodies share. */
#define SAME_VALUES                                                                                \
    .path = BENCH_PATH, .interface = BENCH_INTERFACE, .member = "TestSignal",                      \
    .string = "Testtest", .number = UINT64_MAX, .struct_number = UINT64_MAX,                       \
    .struct_string = "TesttestTestest"

static const body mixed = {
    SAME_VALUES,    .signature = mixed_signature, .repeat = MIXED_REPEAT, .dict = five_entries,
    .n_dict = 5,    .ints = fifteen_ints,         .n_ints = 15,           .strings = one_empty,
    .n_strings = 1, .message_len = 2977};

static const body big_array = {SAME_VALUES,    .signature = GROUP_SIGNATURE,
                               .repeat = 1,    .dict = five_entries,
                               .n_dict = 1,    .ints = big_ints,
                               .n_ints = BIG,  .strings = one_empty,
                               .n_strings = 1, .message_len = 82129};

static const body big_str_array = {SAME_VALUES,      .signature = GROUP_SIGNATURE,
                                   .repeat = 1,      .dict = five_entries,
                                   .n_dict = 1,      .ints = one_zero,
                                   .n_ints = 1,      .strings = big_strings,
                                   .n_strings = BIG, .message_len = 563209};

const workload workloads[] = {
    {"MarshalMixed", MARSHAL, &mixed},
    {"MarshalBigArray", MARSHAL, &big_array},
    {"MarshalBigStrArray", MARSHAL, &big_str_array},
    {"MarshalSend", SEND, &mixed},
    {"UnmarshalMixed", UNMARSHAL, &mixed},
    {"UnmarshalBigArray", UNMARSHAL, &big_array},
    {"UnmarshalBigStrArray", UNMARSHAL, &big_str_array},
    {"Stream", STREAM, NULL},
    {"RoundTrip", CALL, NULL},
    {"RoundTripBus", CALL_BUS, NULL},
};
const size_t n_workloads = sizeof workloads / sizeof workloads[0];

/* The decimal index, written twelve times. */
static bool make_big_strings(void)
{
    enum { MOST = DIGITS_REPEATED * 5 + 1 };
    char *p = malloc((size_t)BIG * MOST);
    if (!p)
        return false;
    for (size_t i = 0; i < BIG; i++) {
        big_strings[i] = p;
        for (int k = 0; k < DIGITS_REPEATED; k++)
            p += sprintf(p, "%zu", i);
        p++;
    }
    return true;
}

bool workloads_init(void)
{
    for (size_t i = 0; i < 15; i++)
        fifteen_ints[i] = UINT64_MAX;
    for (size_t i = 0; i < MIXED_REPEAT; i++)
        memcpy(mixed_signature + i * (sizeof GROUP_SIGNATURE - 1), GROUP_SIGNATURE,
               sizeof GROUP_SIGNATURE);
    for (size_t i = 0; i < N_CHUNKS; i++)
        for (size_t k = 0; k < CHUNK_LEN / sizeof(uint64_t); k++)
            chunks[i][k] = i + k * UINT64_C(0x9e3779b97f4a7c15);
    return make_big_strings();
}

digest body_digest(const body *b)
{
    digest d = {.integers = b->number + b->struct_number,
                .lengths = strlen(b->string) + strlen(b->struct_string)};
    for (size_t i = 0; i < b->n_dict; i++) {
        d.integers += (uint64_t)(int64_t)b->dict[i].value;
        d.lengths += strlen(b->dict[i].key);
    }
    for (size_t i = 0; i < b->n_ints; i++)
        d.integers += b->ints[i];
    for (size_t i = 0; i < b->n_strings; i++)
        d.lengths += strlen(b->strings[i]);
    d.integers *= b->repeat;
    d.lengths *= b->repeat;
    return d;
}

void digest_ints(digest *d, const void *ints, size_t n)
{
    const uint64_t *p = ints;
    uint64_t sum[4] = {0};
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (size_t k = 0; k < 4; k++)
            sum[k] += p[i + k];
    for (; i < n; i++)
        sum[0] += p[i];
    d->integers += sum[0] + sum[1] + sum[2] + sum[3];
}

const uint8_t *stream_chunk(uint64_t i)
{
    return (const uint8_t *)chunks[i % N_CHUNKS];
}

/* The number in front says that nothing was lost, doubled or reordered. More
 * is compared once a round only, so that it does not weigh on the figures. */
bool stream_chunk_good(uint64_t i, const void *bytes, size_t len)
{
    const uint8_t *chunk = stream_chunk(i);
    if (len != CHUNK_LEN || memcmp(bytes, chunk, sizeof(uint64_t)) != 0)
        return false;
    return i % 4096 != 0 || memcmp(bytes, chunk, CHUNK_LEN) == 0;
}
