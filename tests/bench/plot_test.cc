#include "../../benchmarks/rondo_bench/plot.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace rondo::bench {
namespace {

using Exponents = std::vector<int>;

TEST(BenchPlot, SizesOnTheAxisAreShort) {
  EXPECT_EQ(formatBytesTick(4), "4");
  EXPECT_EQ(formatBytesTick(1024), "1Ki");
  EXPECT_EQ(formatBytesTick(65536), "64Ki");
  EXPECT_EQ(formatBytesTick(1 << 20), "1Mi");
  EXPECT_EQ(formatDecimalTick(0.1), "0.1");
  EXPECT_EQ(formatDecimalTick(100), "100");
  EXPECT_EQ(formatDecimalTick(1000), "1k");
  EXPECT_EQ(formatDecimalTick(1e6), "1M");
}

TEST(BenchPlot, MarksAreFewAndEven) {
  EXPECT_EQ(chosenMarks({64, 4, 16, 4}, 10), (std::vector<double>{4, 16, 64}));
  EXPECT_EQ(chosenMarks({1, 2, 3, 4, 5, 6, 7}, 3), (std::vector<double>{1, 4, 7}));
  EXPECT_TRUE(chosenMarks({}, 3).empty());
  EXPECT_EQ(tickExponents(0.02, 300, 10), (Exponents{-1, 0, 1, 2}));
  EXPECT_EQ(tickExponents(0.1, 1000, 10), (Exponents{-1, 0, 1, 2, 3}));
  for (int most = 2; most < 12; ++most) {
    for (double high : {8.0, 1e3, 1e6, 1e12}) {
      EXPECT_LE(tickExponents(1e-9, high, most).size(), static_cast<size_t>(most));
    }
  }
}

size_t count(const std::string& text, const std::string& what) {
  size_t found = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

/// Every number of the attribute `name`.
std::vector<double> numbers(const std::string& svg, const std::string& name) {
  std::vector<double> result;
  const std::string start = " " + name + "=\"";
  for (size_t at = svg.find(start); at != std::string::npos; at = svg.find(start, at + 1)) {
    result.push_back(std::strtod(svg.c_str() + at + start.size(), nullptr));
  }
  return result;
}

TEST(BenchPlot, DrawsEveryPointInsideThePicture) {
  Panel panel;
  panel.title = "a < b & c";
  panel.series = {{"rondo", 0, false, {{4, 0.2}, {1024, 0.4}, {1 << 20, 100}}},
                  {"mpi", 1, true, {{4, 0.7}, {1024, 0}, {1 << 20, 250}}}};
  Figure figure;
  Panel empty;
  Panel texts;
  texts.lines = {"barrier: 1 us"};
  figure.panels = {panel, panel, empty, texts};
  const std::string svg = drawFigure(figure);
  EXPECT_EQ(count(svg, "a &lt; b &amp; c"), 2u);
  EXPECT_EQ(count(svg, "<circle"), 2u + 2 * 5) << "the legend's, and points above 0";
  EXPECT_EQ(count(svg, "stroke-dasharray"), 1u + 2);
  EXPECT_EQ(count(svg, "barrier: 1 us"), 1u);
  EXPECT_EQ(count(svg, "nan"), 0u);
  EXPECT_EQ(count(svg, "inf"), 0u);
  const double height = numbers(svg, "height").front();
  for (double x : numbers(svg, "cx")) EXPECT_TRUE(x > 0 && x < 900) << x;
  for (double y : numbers(svg, "cy")) EXPECT_TRUE(y > 0 && y < height) << y;
}

}  // namespace
}  // namespace rondo::bench
