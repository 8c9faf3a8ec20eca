#pragma once
// Small reads from a tree that may not be this machine's.

#include <string>
#include <vector>

namespace rondo::doctor {

class Tree {
 public:
  explicit Tree(std::string root) : root_(std::move(root)) {}

  /// The whole file, or its first line without its end; "" if there is none.
  std::string read(const std::string& path) const;
  std::string line(const std::string& path) const;
  /// The number at the file's beginning; `fallback` if there is none.
  long long number(const std::string& path, long long fallback) const;
  bool exists(const std::string& path) const;
  /// Names in a directory, sorted, without those that begin with a dot.
  std::vector<std::string> list(const std::string& path) const;

 private:
  std::string root_;
};

/// Lines of `text`.
std::vector<std::string> lines(const std::string& text);

}  // namespace rondo::doctor
