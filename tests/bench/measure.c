/* SPDX-License-Identifier: Apache-2.0 */
#include "measure.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static bool all_ok = true;

static int64_t
read_us(clockid_t clock)
{
    struct timespec now;
    (void) clock_gettime(clock, &now);
    return (int64_t) now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t
bench_now_us(void)
{
    return read_us(CLOCK_MONOTONIC);
}

int64_t
bench_cpu_us(void)
{
    return read_us(CLOCK_PROCESS_CPUTIME_ID);
}

int64_t
bench_resident_bytes(void)
{
    long long size = 0;
    long long resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file)
        return 0;
    const int read = fscanf(file, "%lld %lld", &size, &resident);
    (void) fclose(file);
    return read == 2 ? resident * sysconf(_SC_PAGESIZE) : 0;
}

void
bench_line(const char *what, double value, const char *unit, enum bench_bar kind, double bar)
{
    (void) printf("%-44s %14.1f %s", what, value, unit);
    if (kind != BENCH_REPORT) {
        const bool ok = kind == BENCH_AT_LEAST ? value >= bar : value <= bar;
        (void) printf("  (bar %s %.0f) %s", kind == BENCH_AT_LEAST ? ">=" : "<=", bar,
                      ok ? "ok" : "SHORT");
        all_ok = all_ok && ok;
    }
    (void) puts("");
    (void) fflush(stdout);
}

bool
bench_all_ok(void)
{
    return all_ok;
}

size_t
bench_key(int64_t number, char ret_key[64])
{
    return (size_t) snprintf(ret_key, 64, "sandbox/b%08lld", (long long) number);
}

void
bench_document(int64_t number, int64_t generation, struct slu_buffer *out)
{
    slu_buffer_reset(out);
    slu_buffer_printf(
        out,
        "{\"kind\":\"Sandbox\",\"id\":\"b%08lld\",\"scope\":{\"tenantId\":\"acme\",\"projectId\":"
        "\"web\"},\"generation\":%lld,\"spec\":{\"provider\":\"local\",\"state\":\"running\","
        "\"placement\":{\"provider_pool\":\"default\"},\"ttlMs\":86400000,\"alias\":\"bench %lld\","
        "\"resources\":{\"cpuCount\":1,\"memoryMb\":512,\"diskMb\":1024},\"owners\":[{\"kind\":"
        "\"user\",\"id\":\"u-1\"}],\"profile\":{\"python\":\"3.12\",\"node\":\"22\"}}}",
        (long long) number, (long long) generation, (long long) generation);
}

static const char *const capabilities[] = {"exec", "idempotent_create", "pause", NULL};
static char pool[] = "default";

const struct slu_provider_instance *
bench_instance(void)
{
    static struct slu_provider_instance instance = {.name = "local",
                                                    .type = "local",
                                                    .pools = {pool},
                                                    .pool_count = 1,
                                                    .capabilities = capabilities,
                                                    .concurrent = 50,
                                                    .per_second = 1000,
                                                    .resync_ms = INT64_C(86400000)};
    return &instance;
}

struct slu_engine_config
bench_config(int shard, int shard_count)
{
    struct slu_engine_config config = {.shard = shard,
                                       .shard_count = shard_count,
                                       .cluster = "",
                                       .owner_url = "http://127.0.0.1:1",
                                       .instances = bench_instance(),
                                       .instance_count = 1,
                                       .default_provider = "local",
                                       .seed = 1};
    slu_engine_config_defaults(&config);
    return config;
}
