// The pager, as systemd's tools use it: the same variables, the same options for less, the same
// caution. A pager that is a full program (an editor, a shell) is a way to more rights where this
// runs with those of somebody else, so one that the environment names is trusted only with
// $SYSTEMD_PAGERSECURE beside it, and others than less only where the session is the user's own.
// SPDX-License-Identifier: MIT
#include "pager.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <systemd/sd-login.h>
#include <unistd.h>

#include "cleanup.h"
#include "environment.h"
#include "log.h"
#include "macro.h"

#define BLANKS " \t\n\r"

static const char *wanted_pager(void) {
    const char *pager = getenv("SYSTEMD_PAGER");
    return pager ? pager : getenv("PAGER");
}

static const char *less_options(void) {
    const char *options = getenv("SYSTEMD_LESS");
    return options ? options : "FRSXMK";
}

// The words of a command line, which are cut out of `line`, and NULL; NULL when out of memory.
static char **split(char *line) {
    char **words = calloc(strlen(line) / 2 + 2, sizeof *words), *rest;
    if (!words)
        return NULL;
    size_t count = 0;
    for (char *word = strtok_r(line, BLANKS, &rest); word; word = strtok_r(NULL, BLANKS, &rest))
        words[count++] = word;
    return words;
}

static bool is_none(const char *pager) {
    const char *word = pager + strspn(pager, BLANKS);
    size_t size = strcspn(word, BLANKS);
    bool alone = word[size + strspn(word + size, BLANKS)] == '\0';
    return size == 0 || (alone && size == 3 && memcmp(word, "cat", size) == 0);
}

static bool is_secure(const char *said) {
    uid_t owner;
    if (said)
        return environment_boolean(said) != 0;
    return sd_pid_get_owner_uid(0, &owner) < 0 || owner != geteuid();
}

static void set_environment(bool secure) {
    const char *charset = getenv("SYSTEMD_LESSCHARSET");
    if (!charset && strcmp(nl_langinfo(CODESET), "UTF-8") == 0)
        charset = "utf-8";
    setenv("LESS", less_options(), 1);
    if (charset)
        setenv("LESSCHARSET", charset, 1);
    if (secure)
        setenv("LESSSECURE", "1", 1);
    else
        unsetenv("LESSSECURE");
}

// The last pager of all.
static int copy(void) {
    for (;;) {
        char bytes[4096];
        ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);
        if (n <= 0)
            return n < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
        for (ssize_t written = 0, w; written < n; written += w) {
            w = write(STDOUT_FILENO, bytes + written, (size_t)(n - written));
            if (w < 0)
                return EXIT_FAILURE;
        }
    }
}

// Returns where no pager can be executed.
static void execute(const char *wanted) {
    static const char *const pagers[] = {"pager", "less", "more"};
    const char *said = secure_getenv("SYSTEMD_PAGERSECURE");
    bool secure = is_secure(said), trusted = environment_boolean(said) >= 0;
    set_environment(secure);

    _cleanup_free_ char *line = wanted && trusted ? strdup(wanted) : NULL;
    _cleanup_free_ char **words = line ? split(line) : NULL;
    if (words && words[0]) {
        execvp(words[0], words);
        if (errno != ENOENT)
            log_warning("Failed to execute '%s', using another pager: %s.", words[0],
                        strerror(errno));
    }
    for (size_t i = 0; i < ELEMENTS_OF(pagers); i++)
        if (!secure || strcmp(pagers[i], "less") == 0) // only less knows how to be secure
            execlp(pagers[i], pagers[i], (char *)NULL);
}

static _Noreturn void run(int input, const char *wanted) {
    signal(SIGINT, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGINT);
    if (dup2(input, STDIN_FILENO) < 0)
        _exit(EXIT_FAILURE);
    execute(wanted);
    // The output's other end must not be held open here, or it would never end.
    closefrom(STDERR_FILENO + 1);
    _exit(copy());
}

void pager_open(Pager *pager) {
    const char *wanted = wanted_pager();
    if (wanted && is_none(wanted))
        return;
    int pipe_fds[2];
    if (pipe2(pipe_fds, O_CLOEXEC) < 0)
        return;
    _cleanup_close_ int reading = pipe_fds[0], writing = pipe_fds[1];

    fflush(stdout);
    pid_t pid = fork();
    if (pid < 0)
        return;
    if (pid == 0)
        run(reading, wanted);
    if (dup2(writing, STDOUT_FILENO) < 0)
        return;
    pager->pid = pid;
    // Whoever leaves the pager early has seen enough.
    signal(SIGPIPE, SIG_IGN);
    // With K, less ends by Ctrl-C and so does this; otherwise Ctrl-C is the pager's, whose terminal
    // must not be lost to the shell.
    if (!strchr(less_options(), 'K'))
        signal(SIGINT, SIG_IGN);
}

void pager_close(Pager *pager) {
    if (pager->pid == 0)
        return;
    close(STDOUT_FILENO);
    while (waitpid(pager->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    pager->pid = 0;
}
