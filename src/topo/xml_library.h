#pragma once
// libxml2, loaded when the first description in XML is read: programs that read none do without it.

#include <libxml/SAX2.h>
#include <libxml/parser.h>
#include <libxml/parserInternals.h>

namespace rondo::topo {

/// The few functions that parseXml() calls.
struct XmlLibrary {
  decltype(&::xmlInitParser) initParser;
  decltype(&::xmlCreatePushParserCtxt) createPushParserCtxt;
  decltype(&::xmlCtxtUseOptions) ctxtUseOptions;
  decltype(&::xmlParseChunk) parseChunk;
  decltype(&::xmlStopParser) stopParser;
  decltype(&::xmlFreeDoc) freeDoc;
  decltype(&::xmlFreeParserCtxt) freeParserCtxt;
};

/// Throws Error(rondoUnsupported) that says what is missing. Any thread.
const XmlLibrary& xmlLibrary();

}  // namespace rondo::topo
