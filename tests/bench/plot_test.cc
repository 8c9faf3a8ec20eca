#include "../../benchmarks/rondo_bench/plot.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "../../benchmarks/rondo_bench/plot_marks.h"
#include "base/text_width.h"
#include "support/svg_texts.h"

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

TEST(BenchPlot, NarrowAxesHaveMarksToo) {
  EXPECT_EQ(decimalMarks(9, 95, 12), (std::vector<double>{10, 20, 50}));
  EXPECT_EQ(decimalMarks(1, 10, 12), (std::vector<double>{1, 2, 5, 10}));
  EXPECT_EQ(decimalMarks(0.5, 3000, 8), (std::vector<double>{1, 3, 10, 30, 100, 300, 1000, 3000}));
  EXPECT_EQ(decimalMarks(0.5, 3000, 5), (std::vector<double>{1, 10, 100, 1000}));
  // Every axis that a panel can have: three at least, and no more than there is room for.
  for (double low = 1e-3; low < 1e7; low *= 1.37) {
    for (double times = 10; times < 1e9; times *= 1.9) {
      for (const int most : {8, 12}) {
        const std::vector<double> marks = decimalMarks(low, low * times, most);
        EXPECT_GE(marks.size(), 3u) << low << " to " << low * times;
        EXPECT_LE(marks.size(), static_cast<size_t>(most)) << low << " to " << low * times;
        for (const double mark : marks) {
          EXPECT_GE(mark, low * (1 - 1e-6));
          EXPECT_LE(mark, low * times * (1 + 1e-6));
        }
      }
    }
  }
}

TEST(BenchPlot, TextsAreBrokenWhereTheyAreLong) {
  const std::vector<std::string> lines = wrapped("a: rondo 1 us, mpi 2 us, nccl 3 us", 12, 120);
  EXPECT_EQ(lines, (std::vector<std::string>{"a: rondo 1 us,", "mpi 2 us, nccl 3 us"}));
  for (const std::string& line : lines) EXPECT_LE(textWidth(line, 12), 120) << line;
  EXPECT_EQ(wrapped("one, two", 12, 500), (std::vector<std::string>{"one, two"}));
  std::string joined;
  for (const std::string& line : wrapped("no comma here at all", 12, 60)) {
    EXPECT_LE(textWidth(line, 12), 60) << line;
    joined += (joined.empty() ? "" : " ") + line;
  }
  EXPECT_EQ(joined, "no comma here at all");
  const std::vector<std::string> word = wrapped(std::string(200, 'w'), 12, 100);
  ASSERT_EQ(word.size(), 1u);
  EXPECT_TRUE(word[0].ends_with("w...")) << word[0];
  EXPECT_TRUE(wrapped("", 12, 100).empty());
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

using rondo::testing::expectTextsReadable;
using rondo::testing::SvgText;
using rondo::testing::svgTexts;

Figure figureOf(int panels, int columns, const std::vector<Point>& points) {
  Figure figure;
  figure.title = "rondo-bench allreduce";
  figure.notes = {"2 ranks, host memory", std::string(90, 'x') + " " + std::string(90, 'y')};
  figure.columns = columns;
  figure.panelHeight = columns == 3 ? 220 : 300;
  for (int i = 0; i < panels; ++i) {
    Panel panel;
    panel.title = i % 2 == 0 ? "Time, median" : "Bus bandwidth";
    panel.xLabel = "bytes";
    panel.yLabel = i % 2 == 0 ? "microseconds" : "GB/s";
    panel.series = {{"rondo", 0, false, points}, {"mpi", 1, true, points}};
    figure.panels.push_back(panel);
  }
  return figure;
}

/// Texts that are as numbers of an axis are, left of a panel and nothing else.
size_t numbersLeftOf(const std::string& svg, double x) {
  size_t found = 0;
  for (const SvgText& text : svgTexts(svg)) {
    found += text.box.right < x && std::isdigit(static_cast<unsigned char>(text.text[0])) ? 1 : 0;
  }
  return found;
}

TEST(BenchPlot, TextsCanBeReadWhateverIsDrawn) {
  const std::vector<Point> narrow{{65536, 21}, {131072, 33}, {262144, 57}, {524288, 92}};
  std::vector<Point> wide;
  for (double bytes = 1; bytes < 5e9; bytes *= 2) wide.push_back({bytes, 0.2 + bytes / 3000});
  std::vector<Point> uneven;
  for (double bytes = 100; bytes < 140; ++bytes) uneven.push_back({bytes, 3});
  uneven.push_back({1e9, 3});
  for (const auto& points : {narrow, wide, uneven, {{480, 7}}, std::vector<Point>{}}) {
    for (const int columns : {2, 3}) {
      const std::string svg = drawFigure(figureOf(5, columns, points));
      expectTextsReadable(svg);
      // Of the two or three panels of the first column.
      EXPECT_GE(numbersLeftOf(svg, 62), columns == 2 ? 9u : 6u) << points.size();
    }
  }
}

TEST(BenchPlot, ManyNamesAndLinesStayInThePicture) {
  Figure figure = figureOf(2, 2, {{4, 1}, {1024, 2}});
  for (int i = 0; i < 6; ++i) {
    const std::string name = "rondo complex128 user-defined " + std::to_string(i);
    figure.panels[0].series.push_back({name, i, false, {{4, 1}, {1024, 2}}});
  }
  figure.panels[0].series.push_back({std::string(300, 'w'), 1, true, {{4, 1}, {1024, 2}}});
  Panel texts;
  texts.title = "Of one size";
  for (int i = 0; i < 30; ++i) {
    std::string line = "reduce_scatter_" + std::to_string(i) + ":";
    for (int k = 0; k < 12; ++k)
      line += (k == 0 ? " " : ", ") + std::string("rondo int8 sum 12.5 us");
    texts.lines.push_back(line);
  }
  figure.panels.insert(figure.panels.begin(), texts);
  figure.title = std::string(200, 'W');
  const std::string svg = drawFigure(figure);
  expectTextsReadable(svg);
  EXPECT_EQ(count(svg, ">reduce_scatter_"), 30u);
  EXPECT_EQ(count(svg, "rondo int8 sum 12.5 us"), 30u * 12u) << "nothing is left out";
  figure.panels.resize(1);  // nothing but lines
  expectTextsReadable(drawFigure(figure));
}

}  // namespace
}  // namespace rondo::bench
