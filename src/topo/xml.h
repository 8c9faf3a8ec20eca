#pragma once
// XML that anybody may have written: read by libxml2 with entities and network off, and within
// limits, into a tree that knows its lines.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace rondo::topo {

struct XmlAttribute {
  std::string name, value;
};

struct XmlElement {
  std::string name;
  int line = 0;
  std::vector<XmlAttribute> attributes;
  std::vector<XmlElement> children;

  /// nullptr: it has no such attribute.
  const std::string* find(std::string_view attribute) const;
};

/// A text's name and what is to be said about it. Unknown elements and attributes are left out,
/// with one warning for all of one name.
class XmlSource {
 public:
  explicit XmlSource(std::string name) : name_(std::move(name)) {}
  const std::string& name() const { return name_; }
  /// "FILE:LINE: what", an Error(rondoInvalidArgument).
  [[noreturn]] void refuse(const XmlElement& at, const std::string& what) const;
  void unknown(const XmlElement& element, const std::string& parent);
  /// A warning "FILE:LINE: what", at the first place of all that say the same.
  void note(const XmlElement& at, const std::string& what);
  const std::vector<std::string>& warnings() const { return warnings_; }

  /// The attribute, or a refusal that says what is missing.
  const std::string& need(const XmlElement& element, std::string_view attribute) const;
  /// A whole number in [least, most], `fallback` if it is not there.
  uint64_t whole(const XmlElement& element, std::string_view attribute, uint64_t least,
                 uint64_t most, uint64_t fallback) const;

 private:
  std::string name_;
  std::vector<std::string> warnings_;
  std::vector<std::string> seen_;
};

constexpr size_t kMostXmlBytes = 256u << 20;
constexpr size_t kMostXmlElements = 2'000'000;
constexpr int kMostXmlDepth = 64;

/// Throws Error(rondoInvalidArgument) with file and line.
XmlElement parseXml(const std::string& text, const std::string& name);

/// A whole file; throws Error with its name, also if it is longer than kMostXmlBytes.
std::string readFile(const std::string& path);

/// For an attribute's value.
std::string xmlEscape(const std::string& text);

}  // namespace rondo::topo
