#include "../../benchmarks/rondo_bench/compare.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "../../benchmarks/rondo_bench/errors.h"

namespace rondo::bench {
namespace {

/// A file of rows that goes with the test.
class File {
 public:
  explicit File(const std::string& text)
      : path_(::testing::TempDir() + "rondo_compare_" + unique()) {
    std::ofstream(path_) << text;
  }
  ~File() { std::remove(path_.c_str()); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  const std::string& path() const { return path_; }

 private:
  static std::string unique() {
    static int count = 0;
    return std::to_string(::testing::UnitTest::GetInstance()->random_seed()) + "_" +
           std::to_string(reinterpret_cast<uintptr_t>(&count)) + "_" + std::to_string(++count);
  }
  std::string path_;
};

std::string row(size_t bytes, double p50, double min, int wrong = 0) {
  return R"({"collective": "bcast", "library": "rondo", "memory": "host", "ranks": 2, "bytes": )" +
         std::to_string(bytes) + R"(, "type": "float32", "op": "none", "usec_min": )" +
         std::to_string(min) + R"(, "usec_p50": )" + std::to_string(p50) +
         R"(, "usec_p99": 9, "busbw_GBps": 1, "wrong": )" + std::to_string(wrong) + "}";
}

std::string document(const std::string& rows) {
  return R"({"meta": {"machine": "here"}, "rows": [)" + rows + "]}";
}

Comparison compare(const std::string& before, const std::string& after,
                   const CompareOptions& options) {
  const File a(document(before));
  const File b(document(after));
  return compareRows(readMeasured(a.path()), readMeasured(b.path()), options);
}

TEST(BenchCompare, JoinsRowsAndCountsLosses) {
  const std::string before = row(4, 1, 1) + "," + row(64, 2, 2) + "," + row(256, 5, 5);
  const std::string after = row(256, 5.4, 6) + "," + row(64, 3, 2) + "," + row(1024, 5, 5);
  const Comparison result = compare(before, after, {});
  EXPECT_EQ(result.joined, 2u);
  EXPECT_EQ(result.slower, 1u);
  EXPECT_NE(result.table.find("1.500  slower"), std::string::npos) << result.table;
  EXPECT_NE(result.table.find("1.080\n"), std::string::npos) << result.table;
  EXPECT_NE(result.table.find("1 of the 3 rows of"), std::string::npos) << result.table;

  CompareOptions strict;
  strict.threshold = 1.05;
  EXPECT_EQ(compare(before, after, strict).slower, 2u);
  CompareOptions minima;
  minima.columns = {"min"};
  EXPECT_EQ(compare(before, after, minima).slower, 1u) << "6 / 5, not 3 / 2";
  CompareOptions both;
  both.columns = {"p50", "min"};
  EXPECT_EQ(compare(before, after, both).slower, 2u);
}

TEST(BenchCompare, WrongElementsOfARowWithoutPartnerAreALossToo) {
  const Comparison after = compare(row(4, 1, 1), row(4, 1, 1) + "," + row(8, 1, 1, 3), {});
  EXPECT_EQ(after.wrong, 1u);
  EXPECT_EQ(after.gone, 0u);
  EXPECT_NE(after.table.find("  wrong\n"), std::string::npos) << after.table;
  const Comparison before = compare(row(4, 1, 1) + "," + row(8, 1, 1, 3), row(4, 1, 1, 1), {});
  EXPECT_EQ(before.wrong, 2u);
  EXPECT_EQ(before.gone, 1u);
}

TEST(BenchCompare, SaysWhereTheSettingsDiffer) {
  Measured before, after;
  before.facts = {{"run", "in place"}, {"machine", "here"}, {"versions", "1"}, {"data", "sum"}};
  after.facts = {{"run", "hot"}, {"machine", "here"}, {"versions", "2"}};
  const std::string text = differences(before, after);
  EXPECT_NE(text.find("in run, before: in place\n"), std::string::npos) << text;
  EXPECT_NE(text.find("in run, after:  hot\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("machine"), std::string::npos) << text;
  EXPECT_EQ(text.find("versions"), std::string::npos) << "what is compared may differ in it";
  EXPECT_EQ(differences(before, before), "");
}

TEST(BenchCompare, ReadsTheHeadsFacts) {
  const File file(document(row(4, 1, 1)));
  EXPECT_EQ(readMeasured(file.path()).facts.at("machine"), "here");
}

TEST(BenchCompare, WrongElementsAreALoss) {
  EXPECT_EQ(compare(row(4, 1, 1), row(4, 1, 1, 3), {}).wrong, 1u);
  EXPECT_EQ(compare(row(4, 1, 1), row(4, 1, 1), {}).wrong, 0u);
}

std::string refusal(const std::string& text) {
  const File file(text);
  try {
    readMeasured(file.path());
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find(file.path()), std::string::npos) << error.what();
    return error.what();
  }
  return "accepted";
}

TEST(BenchCompare, RefusesWhatIsNoMeasurement) {
  EXPECT_NE(refusal("{").find("is not a JSON file"), std::string::npos);
  EXPECT_NE(refusal("[1, 2]").find("has no rows"), std::string::npos);
  EXPECT_NE(refusal("{}").find("has no rows"), std::string::npos);
  EXPECT_NE(refusal(document("")).find("has no rows"), std::string::npos);
  EXPECT_NE(refusal(document("{\"bytes\": 4}")).find("row 1 is not one"), std::string::npos);
  EXPECT_NE(refusal(document("7")).find("row 1 is not one"), std::string::npos);
  EXPECT_NE(refusal(document(row(4, 1, 1) + "," + row(4, 2, 2))).find("row 2 is about the same"),
            std::string::npos);
  EXPECT_THROW(readMeasured("/none/such"), UsageError);
  EXPECT_THROW(compare(row(4, 1, 1), row(8, 1, 1), {}), UsageError);
}

}  // namespace
}  // namespace rondo::bench
