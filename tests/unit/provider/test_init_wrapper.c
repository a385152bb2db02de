/* SPDX-License-Identifier: Apache-2.0 */
/* The wrapper for real, under /bin/sh, in a workspace of its own: behaviour.md rule 9. */
#include "../../../lib/provider/init_wrapper.h"
#include "exchange.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char workspace[64];

static int
enter_workspace(void **state)
{
    (void) state;
    snprintf(workspace, sizeof(workspace), "/tmp/slu-init-XXXXXX");
    return mkdtemp(workspace) && chdir(workspace) == 0 ? 0 : -1;
}

static int
leave_workspace(void **state)
{
    (void) state;
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s", workspace);
    return chdir("/") || system(command); /* NOLINT(cert-env33-c): a path made by mkdtemp. */
}

struct run {
    pid_t pid;
    int output;
};

static struct run
start(const char *number, const char *call, const char *command)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    struct run run = {.pid = fork(), .output = ends[0]};
    assert_true(run.pid >= 0);
    if (run.pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        execl("/bin/sh", "sh", "-c", slu_init_outer, "sluice-init", slu_init_inner, "h", number,
              call, command, NULL);
        _exit(127);
    }
    close(ends[1]);
    return run;
}

/* The exit the wrapper tells, or −1 when it tells none. */
static int
finish(struct run run)
{
    char text[64] = "";
    size_t size = 0;
    for (ssize_t got; size < sizeof(text) - 1 &&
                      (got = read(run.output, text + size, sizeof(text) - 1 - size)) > 0;)
        size += (size_t) got;
    close(run.output);
    int status = 0;
    assert_int_equal(waitpid(run.pid, &status, 0), run.pid);
    const size_t prefix = strlen(SLU_INIT_EXIT_LINE);
    if (strncmp(text, SLU_INIT_EXIT_LINE, prefix) != 0)
        return -1;
    return (int) strtol(text + prefix, NULL, 10);
}

static int
run(const char *number, const char *call, const char *command)
{
    return finish(start(number, call, command));
}

static void
assert_file(const char *path, const char *expect)
{
    char text[256] = "";
    FILE *file = fopen(path, "re");
    if (!file)
        fail_msg("%s is missing", path);
    const size_t size = fread(text, 1, sizeof(text) - 1, file);
    text[size] = '\0';
    fclose(file);
    assert_string_equal(text, expect);
}

/* Waits until a file is there and not empty; the command under test writes it. */
static void
wait_for(const char *path)
{
    for (int i = 0; i < 1000; i++) {
        struct stat info;
        if (stat(path, &info) == 0 && info.st_size > 0)
            return;
        usleep(10 * 1000);
    }
    fail_msg("%s did not appear", path);
}

static long
read_number(const char *path)
{
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    char line[64];
    assert_non_null(fgets(line, sizeof(line), file));
    fclose(file);
    return strtol(line[0] == 's' ? line + strlen("started ") : line, NULL, 10);
}

static void
test_wrapper_runs_once_and_repeats_the_answer(void **state)
{
    (void) state;
    assert_int_equal(run("1", "5", "echo ran >> out; pwd > where"), 0);
    assert_int_equal(run("1", "5", "echo ran >> out"), 0);
    assert_int_equal(run("1", "6", "echo ran >> out"), 0); /* Decided anew by a new leader. */
    assert_file("out", "ran\n");
    assert_file(".sluice/init/h/1", "exit 0 5\n");
    char where[80];
    snprintf(where, sizeof(where), "%s\n", workspace);
    assert_file("where", where);
}

static void
test_wrapper_tells_a_failure_and_keeps_it_for_its_call(void **state)
{
    (void) state;
    assert_int_equal(run("1", "5", "echo ran >> out; exit 3"), 3);
    assert_int_equal(run("1", "5", "echo ran >> out; exit 3"), 3);
    assert_file("out", "ran\n");
    assert_file(".sluice/init/h/1", "exit 3 5\n");
}

static void
test_wrapper_begins_anew_after_a_failure(void **state)
{
    (void) state;
    assert_int_equal(run("1", "5", "echo one >> out"), 0);
    assert_int_equal(run("2", "6", "echo two >> out; false"), 1);
    assert_int_equal(run("1", "7", "echo one >> out"), 0);
    assert_int_equal(run("1", "7", "echo one >> out"), 0);
    assert_int_equal(run("2", "8", "echo two >> out"), 0);
    assert_int_equal(run("2", "9", "echo two >> out"), 0);
    assert_file("out", "one\ntwo\none\ntwo\n");
}

static void
test_two_wrappers_at_once_run_it_once(void **state)
{
    (void) state;
    for (int round = 0; round < 5; round++) {
        char number[8];
        snprintf(number, sizeof(number), "%d", round + 1);
        struct run both[4];
        for (size_t i = 0; i < SLU_COUNT(both); i++)
            both[i] = start(number, "5", "echo ran >> out; sleep 0.2; exit 4");
        for (size_t i = 0; i < SLU_COUNT(both); i++)
            assert_int_equal(finish(both[i]), 4);
    }
    assert_file("out", "ran\nran\nran\nran\nran\n");
}

static void
test_wrapper_waits_for_one_that_lives(void **state)
{
    (void) state;
    struct run first = start("1", "5", "echo ran >> out; sleep 0.5; echo end >> out");
    wait_for("out");
    /* The exchange ends; the process it started is killed; the command goes on. */
    kill(first.pid, SIGKILL);
    assert_int_equal(finish(first), -1);
    assert_int_equal(run("1", "5", "echo again >> out"), 0);
    assert_file("out", "ran\nend\n");
}

static void
kill_session(pid_t leader)
{
    /* The wrapper leads a session and a group of its own; the command is in it. */
    assert_int_equal(kill(-leader, SIGKILL), 0);
}

static void
test_wrapper_repeats_one_that_was_killed(void **state)
{
    (void) state;
    struct run first = start("1", "5", "echo $$ > pid; sleep 60");
    wait_for("pid");
    kill_session((pid_t) read_number(".sluice/init/h/1"));
    assert_int_equal(finish(first), -1);
    struct run both[2];
    for (size_t i = 0; i < SLU_COUNT(both); i++)
        both[i] = start("1", "5", "echo again >> out; sleep 0.2");
    for (size_t i = 0; i < SLU_COUNT(both); i++)
        assert_int_equal(finish(both[i]), 0);
    assert_file("out", "again\n");
}

static void
test_wrapper_takes_a_pid_used_again_for_dead(void **state)
{
    (void) state;
    assert_int_equal(system("mkdir -p .sluice/init/h"), 0); /* NOLINT(cert-env33-c) */
    FILE *claim = fopen(".sluice/init/h/1.claim.1", "we");
    assert_non_null(claim);
    fprintf(claim, "%d 1 another-boot\n", (int) getpid()); /* Alive, but not that process. */
    fclose(claim);
    assert_int_equal(run("1", "5", "echo ran >> out"), 0);
    assert_file("out", "ran\n");
}

static void
test_wrapper_gives_the_command_no_way_to_speak_for_it(void **state)
{
    (void) state;
    assert_int_equal(run("1", "5", "echo '" SLU_INIT_EXIT_LINE "0'; exit 9"), 9);
}

#define IN_WORKSPACE(test) cmocka_unit_test_setup_teardown(test, enter_workspace, leave_workspace)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        IN_WORKSPACE(test_wrapper_runs_once_and_repeats_the_answer),
        IN_WORKSPACE(test_wrapper_tells_a_failure_and_keeps_it_for_its_call),
        IN_WORKSPACE(test_wrapper_begins_anew_after_a_failure),
        IN_WORKSPACE(test_two_wrappers_at_once_run_it_once),
        IN_WORKSPACE(test_wrapper_waits_for_one_that_lives),
        IN_WORKSPACE(test_wrapper_repeats_one_that_was_killed),
        IN_WORKSPACE(test_wrapper_takes_a_pid_used_again_for_dead),
        IN_WORKSPACE(test_wrapper_gives_the_command_no_way_to_speak_for_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
