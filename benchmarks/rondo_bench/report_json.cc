#include <nlohmann/json.hpp>

#include "report.h"

namespace rondo::bench {
namespace {

using Json = nlohmann::ordered_json;

class JsonReporter : public Reporter {
 public:
  explicit JsonReporter(const std::string& path) : file_("--json", path) {}

  void begin(const RunInfo& info) override {
    info_ = info;
    Json meta = Json::object();
    for (const auto& [name, text] : info.facts) meta[name] = text;
    document_ = {{"meta", meta}, {"rows", Json::array()}};
  }

  void row(const Row& row) override {
    Json object = {{"collective", row.collective},
                   {"library", row.library},
                   {"memory", info_.memory},
                   {"ranks", row.ranks},
                   {"bytes", row.bytes},
                   {"type", row.type},
                   {"op", row.op},
                   {"usec_min", row.usec.min},
                   {"usec_p50", row.usec.p50},
                   {"usec_p99", row.usec.p99},
                   {"busbw_GBps", row.busbw},
                   {"wrong", row.wrong}};
    for (const std::string& column : info_.extraColumns) {
      if (const auto value = row.extra(column)) object[column] = *value;
    }
    document_["rows"].push_back(std::move(object));
  }

  void end() override {
    file_ << document_.dump(1) << '\n';
    file_.finish();
  }

 private:
  ReportFile file_;
  RunInfo info_;
  Json document_;
};

}  // namespace

std::unique_ptr<Reporter> makeJsonReporter(const std::string& path) {
  return std::make_unique<JsonReporter>(path);
}

}  // namespace rondo::bench
