#include <cerrno>
#include <cstring>

#include "errors.h"
#include "report.h"

namespace rondo::bench {

ReportFile::ReportFile(const char* option, const std::string& path)
    : stream_(path), what_(std::string(option) + " " + path) {
  if (stream_) return;
  throw UsageError(what_ + ": cannot be written (" + std::strerror(errno) +
                   "); allowed is a file in a folder that exists");
}

void ReportFile::flush() {
  stream_.flush();
  if (!stream_ && why_ == 0) why_ = errno != 0 ? errno : EIO;
}

void ReportFile::finish() {
  flush();
  if (why_ != 0) throw RunError(what_ + ": cannot be written (" + std::strerror(why_) + ")");
}

}  // namespace rondo::bench
