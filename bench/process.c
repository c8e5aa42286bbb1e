/* process.c - other programs. */

#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

pid_t process_start(char *const argv[], int keep, int out, bool quiet)
{
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(127);
    if (keep >= 0)
        fcntl(keep, F_SETFD, 0);
    if (out >= 0)
        dup2(out, STDOUT_FILENO);
    if (quiet)
        dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
    execvp(argv[0], argv);
    _exit(127);
}

int process_wait(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void process_end(pid_t pid)
{
    const struct timespec moment = {.tv_nsec = 10000000};
    kill(pid, SIGTERM);
    for (int i = 0; i < 200; i++) {
        if (waitpid(pid, NULL, WNOHANG) == pid)
            return;
        nanosleep(&moment, NULL);
    }
    kill(pid, SIGKILL);
    process_wait(pid);
}

const char *process_self(void)
{
    return "/proc/self/exe";
}
