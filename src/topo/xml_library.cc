#include "topo/xml_library.h"

#include "base/error.h"
#include "base/shared_library.h"

namespace rondo::topo {
namespace {

// The library whose structs the headers of this build describe.
constexpr const char* kName = LIBXML_VERSION >= 21400 ? "libxml2.so.16" : "libxml2.so.2";

XmlLibrary load() {
  static SharedLibrary& library = *new SharedLibrary({kName});  // for the process's life
  XmlLibrary out{};
  library.need("xmlInitParser", &out.initParser);
  library.need("xmlCreatePushParserCtxt", &out.createPushParserCtxt);
  library.need("xmlCtxtUseOptions", &out.ctxtUseOptions);
  library.need("xmlParseChunk", &out.parseChunk);
  library.need("xmlStopParser", &out.stopParser);
  library.need("xmlFreeDoc", &out.freeDoc);
  library.need("xmlFreeParserCtxt", &out.freeParserCtxt);
  if (!library.complete()) {
    throw Error(rondoUnsupported, "descriptions in XML need libxml2: " + library.missing());
  }
  out.initParser();
  return out;
}

}  // namespace

const XmlLibrary& xmlLibrary() {
  static const XmlLibrary one = load();
  return one;
}

}  // namespace rondo::topo
