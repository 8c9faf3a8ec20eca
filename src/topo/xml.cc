#include "topo/xml.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "topo/quantities.h"
#include "topo/xml_library.h"

namespace rondo::topo {
namespace {

std::string textOf(const xmlChar* text) {
  return text == nullptr ? "" : reinterpret_cast<const char*>(text);
}

/// One run of the parser. libxml2 is C: nothing may be thrown through it, so what is wrong is kept.
class Parsing {
 public:
  explicit Parsing(const std::string& name) : name_(name) {
    handler_.initialized = XML_SAX2_MAGIC;
    handler_.startElementNs = &Parsing::start;
    handler_.endElementNs = &Parsing::end;
    handler_.entityDecl = &Parsing::entity;
    handler_.serror = &Parsing::error;
  }

  XmlElement run(const std::string& text) {
    const std::unique_ptr<xmlParserCtxt, void (*)(xmlParserCtxtPtr)> context(
        xml_.createPushParserCtxt(&handler_, this, nullptr, 0, nullptr), &Parsing::release);
    if (context == nullptr) throw Error(rondoSystemError, name_ + ": libxml2 has no memory");
    context_ = context.get();
    xml_.ctxtUseOptions(context_, XML_PARSE_NONET | XML_PARSE_NOCDATA);
    constexpr size_t kPiece = 1 << 20;
    for (size_t at = 0; at < text.size() && fault_.empty(); at += kPiece) {
      const size_t length = std::min(kPiece, text.size() - at);
      xml_.parseChunk(context_, text.data() + at, static_cast<int>(length), 0);
    }
    if (fault_.empty()) xml_.parseChunk(context_, "", 0, 1);
    if (fault_.empty() && (!done_ || context_->wellFormed == 0)) failAtEnd();
    if (!fault_.empty()) throw Error(rondoInvalidArgument, fault_);
    return std::move(root_);
  }

 private:
  static void release(xmlParserCtxtPtr context) {
    if (context->myDoc != nullptr) xmlLibrary().freeDoc(context->myDoc);
    xmlLibrary().freeParserCtxt(context);
  }

  void fail(const std::string& what, int line = 0) {
    if (!fault_.empty()) return;
    if (line == 0) line = context_->input != nullptr ? context_->input->line : 1;
    fault_ = format("%s:%d: ", name_.c_str(), line) + what;
    xml_.stopParser(context_);
  }

  void failAtEnd() {
    if (open_.empty()) return fail("it ends before there is an element");
    fail(format("it ends too early: <%.40s> of line %d is not closed", open_.back()->name.c_str(),
                open_.back()->line));
  }

  static void start(void* self, const xmlChar* name, const xmlChar*, const xmlChar*, int,
                    const xmlChar**, int attributes, int, const xmlChar** values) {
    static_cast<Parsing*>(self)->startElement(name, attributes, values);
  }
  void startElement(const xmlChar* name, int attributes, const xmlChar** values) {
    if (!fault_.empty()) return;
    if (++elements_ > kMostXmlElements) {
      return fail(format("more than %zu elements", kMostXmlElements));
    }
    if (open_.size() >= static_cast<size_t>(kMostXmlDepth)) {
      return fail(format("more than %d elements inside each other", kMostXmlDepth));
    }
    XmlElement* element = &root_;
    if (!open_.empty()) {
      // Only the innermost open element grows, so that no open one moves.
      open_.back()->children.emplace_back();
      element = &open_.back()->children.back();
    }
    element->name = textOf(name);
    element->line = context_->input->line;
    // libxml2 gives each attribute as name, prefix, URI, begin and end of its value.
    for (int i = 0; i < attributes; ++i, values += 5) {  // NOLINT(bugprone-infinite-loop)
      element->attributes.push_back(
          {textOf(values[0]), std::string(reinterpret_cast<const char*>(values[3]),
                                          static_cast<size_t>(values[4] - values[3]))});
    }
    open_.push_back(element);
  }

  static void end(void* self, const xmlChar*, const xmlChar*, const xmlChar*) {
    auto& parsing = *static_cast<Parsing*>(self);
    if (parsing.open_.empty()) return;
    parsing.open_.pop_back();
    parsing.done_ = parsing.open_.empty();
  }

  static void entity(void* self, const xmlChar* name, int, const xmlChar*, const xmlChar*,
                     xmlChar*) {
    static_cast<Parsing*>(self)->fail(
        format("declares the entity \"%.40s\"; entities are not allowed", textOf(name).c_str()));
  }

  static void error(void* self, xmlErrorPtr error) {
    if (error->level < XML_ERR_ERROR) return;
    auto& parsing = *static_cast<Parsing*>(self);
    if (error->code == XML_ERR_DOCUMENT_END && !parsing.done_) return parsing.failAtEnd();
    std::string what = error->message != nullptr ? error->message : "not XML";
    while (!what.empty() && what.back() == '\n') what.pop_back();
    parsing.fail("not well-formed XML: " + what, error->line);
  }

  const std::string& name_;
  const XmlLibrary& xml_ = xmlLibrary();
  xmlSAXHandler handler_ = {};
  xmlParserCtxtPtr context_ = nullptr;
  XmlElement root_;
  std::vector<XmlElement*> open_;
  size_t elements_ = 0;
  bool done_ = false;
  std::string fault_;
};

}  // namespace

const std::string* XmlElement::find(std::string_view attribute) const {
  for (const XmlAttribute& a : attributes) {
    if (a.name == attribute) return &a.value;
  }
  return nullptr;
}

void XmlSource::refuse(const XmlElement& at, const std::string& what) const {
  throw Error(rondoInvalidArgument, format("%s:%d: ", name_.c_str(), at.line) + what);
}

void XmlSource::note(const XmlElement& at, const std::string& what) {
  if (std::find(seen_.begin(), seen_.end(), what) != seen_.end()) return;
  seen_.push_back(what);
  warnings_.push_back(format("%s:%d: %s", name_.c_str(), at.line, what.c_str()));
}

void XmlSource::unknown(const XmlElement& element, const std::string& parent) {
  note(element, format("unknown element <%.40s> in <%.40s> is ignored", element.name.c_str(),
                       parent.c_str()));
}

const std::string& XmlSource::need(const XmlElement& element, std::string_view attribute) const {
  const std::string* value = element.find(attribute);
  if (value == nullptr) {
    refuse(element, format("<%s> needs the attribute %s", element.name.c_str(),
                           std::string(attribute).c_str()));
  }
  return *value;
}

uint64_t XmlSource::whole(const XmlElement& element, std::string_view attribute, uint64_t least,
                          uint64_t most, uint64_t fallback) const {
  const std::string* text = element.find(attribute);
  if (text == nullptr) return fallback;
  uint64_t value = 0;
  if (!parseWhole(*text, least, most, &value)) {
    refuse(element, format("%s is \"%.40s\"; allowed: %llu to %llu", std::string(attribute).c_str(),
                           text->c_str(), static_cast<unsigned long long>(least),
                           static_cast<unsigned long long>(most)));
  }
  return value;
}

XmlElement parseXml(const std::string& text, const std::string& name) {
  return Parsing(name).run(text);
}

std::string readFile(const std::string& path) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (file == nullptr) {
    throw Error(rondoInvalidArgument, systemError(path + " cannot be read", errno).sentence());
  }
  std::string text;
  char piece[65536];
  size_t got = 0;
  while ((got = std::fread(piece, 1, sizeof piece, file.get())) > 0) {
    text.append(piece, got);
    if (text.size() > kMostXmlBytes) {
      throw Error(rondoInvalidArgument,
                  format("%s: longer than %zu MiB", path.c_str(), kMostXmlBytes >> 20));
    }
  }
  if (std::ferror(file.get()) != 0) {  // a folder, as an example
    throw Error(rondoInvalidArgument, systemError(path + " cannot be read", errno).sentence());
  }
  return text;
}

std::string xmlEscape(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

}  // namespace rondo::topo
