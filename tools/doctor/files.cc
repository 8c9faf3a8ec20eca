#include "doctor/files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace rondo::doctor {

std::string Tree::read(const std::string& path) const {
  std::ifstream in(root_ + "/" + path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

std::string Tree::line(const std::string& path) const {
  const std::string text = read(path);
  return text.substr(0, text.find('\n'));
}

long long Tree::number(const std::string& path, long long fallback) const {
  try {
    return std::stoll(line(path));
  } catch (const std::exception&) {
    return fallback;
  }
}

bool Tree::exists(const std::string& path) const {
  std::error_code error;
  return std::filesystem::exists(root_ + "/" + path, error);
}

std::vector<std::string> Tree::list(const std::string& path) const {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator at(root_ + "/" + path, error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name[0] != '.') names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

}  // namespace rondo::doctor
