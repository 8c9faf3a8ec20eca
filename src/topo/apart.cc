#include "topo/apart.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <exception>

#include "base/error.h"

namespace rondo::topo {
namespace {

constexpr unsigned kMostSeconds = 10;
/// No status that a sanitizer or the C library ends a process with.
constexpr int kThrew = 113;

void writeAll(int fd, const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    const ssize_t done = write(fd, text.data() + at, text.size() - at);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return;
    at += static_cast<size_t>(done);
  }
}

[[noreturn]] void child(const std::function<std::string()>& action, int fd) {
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  alarm(kMostSeconds);
  const int quiet = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (quiet >= 0) {
    dup2(quiet, STDERR_FILENO);
    dup2(quiet, STDOUT_FILENO);
  }
  int status = kThrew;
  try {
    writeAll(fd, action());
    status = 0;
  } catch (const std::exception& error) {
    writeAll(fd, error.what());
  }
  _exit(status);
}

std::string readAll(int fd) {
  std::string text;
  char piece[65536];
  for (;;) {
    const ssize_t got = read(fd, piece, sizeof piece);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(piece, static_cast<size_t>(got));
  }
}

}  // namespace

ApartResult runApart(const std::function<std::string()>& action) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw systemError("pipe2", errno);
  const pid_t pid = fork();
  if (pid < 0) {
    const int why = errno;
    close(ends[0]);
    close(ends[1]);
    throw systemError("fork", why);
  }
  if (pid == 0) child(action, ends[1]);
  close(ends[1]);
  ApartResult result;
  result.text = readAll(ends[0]);
  close(ends[0]);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  result.threw = WIFEXITED(status) && WEXITSTATUS(status) == kThrew;
  result.died = !result.threw && !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  return result;
}

}  // namespace rondo::topo
