#include "topo/xml_library.h"

#include <dlfcn.h>

#include "base/error.h"

namespace rondo::topo {
namespace {

// The library whose structs the headers of this build describe.
constexpr const char* kName = LIBXML_VERSION >= 21400 ? "libxml2.so.16" : "libxml2.so.2";

template <class Function>
void find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  if (*function == nullptr) {
    throw Error(rondoUnsupported, format("%s has no function %s", kName, name));
  }
}

XmlLibrary load() {
  void* const library = dlopen(kName, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw Error(rondoUnsupported,
                format("descriptions in XML need libxml2, which is not there: %s", dlerror()));
  }
  XmlLibrary out{};
  find(library, "xmlInitParser", &out.initParser);
  find(library, "xmlCreatePushParserCtxt", &out.createPushParserCtxt);
  find(library, "xmlCtxtUseOptions", &out.ctxtUseOptions);
  find(library, "xmlParseChunk", &out.parseChunk);
  find(library, "xmlStopParser", &out.stopParser);
  find(library, "xmlFreeDoc", &out.freeDoc);
  find(library, "xmlFreeParserCtxt", &out.freeParserCtxt);
  out.initParser();
  return out;
}

}  // namespace

const XmlLibrary& xmlLibrary() {
  static const XmlLibrary one = load();
  return one;
}

}  // namespace rondo::topo
