#include "topo/draw_svg.h"

#include <algorithm>

#include "base/error.h"
#include "base/text_width.h"
#include "topo/draw_host.h"
#include "topo/draw_trees.h"

namespace rondo::topo {
namespace {

constexpr size_t kMostHosts = 4, kMostSwitches = 24;
/// Parts of all hosts but the first, and of the first.
constexpr size_t kMostParts = 8, kMostPartsOfFirst = 16;
constexpr double kMargin = 24, kBetween = 16, kWidest = 1330, kNarrowest = 560;
constexpr double kSwitchBox = 96;

class Drawing {
 public:
  Drawing(const Graph& graph, const Channels* channels)
      : graph_(graph), channels_(channels), host_(graph, channels, &canvas_) {}

  std::string run(const std::string& title) {
    const auto any = [this](auto has) {
      return std::any_of(graph_.links().begin(), graph_.links().end(), has);
    };
    const bool many = any([](const Link& link) { return link.count > 1; });
    const bool measured = any([](const Link& link) { return link.claimedBytes.has_value(); });
    canvas_.text({kMargin, kMargin + 6}, title, 18, "start", "#000", true);
    canvas_.text({kMargin, kMargin + 24},
                 std::string("Numbers on links: GB/s in each direction") +
                     (many ? ", in brackets of how many links together" : "") +
                     (measured ? "; * and bold: measured" : ""),
                 11, "start", "#555");
    double y = hosts(kMargin + 40);
    y = switches(y);
    if (channels_ != nullptr) y = drawTrees(graph_, *channels_, y, width(), &canvas_);
    y = legend(y);
    return canvas_.str(
        canvas_.right() > kNarrowest ? canvas_.right() + kMargin : kNarrowest + kMargin, y);
  }

 private:
  double width() const { return std::max(canvas_.right(), kNarrowest); }

  /// Side by side where they are narrow, and otherwise below each other.
  double hosts(double y) {
    const size_t all = graph_.hosts().size();
    double right = 0, lowest = y;
    size_t shown = 0, parts = 0;
    for (; shown < std::min(kMostHosts, all); ++shown) {
      const int host = static_cast<int>(shown);
      const std::vector<HostPart> own = partsOf(graph_, host);
      if (shown > 0 && parts + own.size() > kMostParts) break;
      parts += own.size();
      for (size_t i = 0; i < std::min(own.size(), kMostPartsOfFirst); ++i) {
        const HostLayout layout = layoutOf(graph_, own[i], host_.rings());
        const double wide = std::max(layout.width, textWidth(host_.nameOf(own[i]), 13) + 16);
        const bool beside = right > 0 && own.size() == 1 && right + wide < kWidest;
        if (!beside) {
          right = kMargin;
          y = lowest + (shown + i > 0 ? kBetween : 0);
        }
        HostLayout widened = layout;
        widened.width = wide;
        host_.draw(own[i], widened, {right, y});
        right += wide + kBetween;
        lowest = std::max(lowest, y + layout.height);
      }
      lowest = notes(own, lowest);
    }
    lowest += kBetween;
    if (shown == all) return lowest;
    canvas_.text({kMargin, lowest + 6},
                 format("... and %zu more host%s", all - shown, all - shown == 1 ? "" : "s"), 14,
                 "start", "#333");
    return lowest + 26;
  }
  /// What a host's parts leave out.
  double notes(const std::vector<HostPart>& parts, double y) {
    const std::string left = host_.missing(parts.front().host);
    std::vector<std::string> lines;
    if (parts.size() > kMostPartsOfFirst) {
      size_t devices = 0;
      for (size_t i = kMostPartsOfFirst; i < parts.size(); ++i) {
        devices += parts[i].devices.size() + parts[i].idle.size();
      }
      lines.push_back(format("... and %zu more GPUs, cards and CPUs", devices));
    }
    if (parts.size() > 1 && !left.empty()) lines.push_back(left);
    for (const std::string& line : lines) {
      canvas_.text({kMargin, y + 16}, line, 11, "start", "#555");
      y += 18;
    }
    return y;
  }

  double switches(double y) {
    const std::vector<int> all = graph_.all(NodeKind::Switch);
    if (all.empty()) return y;
    const double left = kMargin + kSwitchBox / 2, right = width();
    double x = left;
    y += 20;
    for (size_t i = 0; i < std::min(kMostSwitches, all.size()); ++i) {
      if (x + kSwitchBox / 2 > right) {
        x = left;
        y += 40;
      }
      size_t nics = 0;
      for (const Arc arc : graph_.from(all[i])) nics += graph_.node(graph_.target(arc)).host >= 0;
      const size_t up = graph_.from(all[i]).size() - nics;
      canvas_.box({{x, y}, kSwitchBox, kBoxHeight, fillOf(NodeKind::Switch)},
                  graph_.node(all[i]).name,
                  nics == 0 ? format("%zu leaves", up)
                  : up == 0 ? format("%zu NICs", nics)
                            : format("%zu NICs, %zu up", nics, up));
      x += kSwitchBox + 8;
    }
    if (all.size() > kMostSwitches) {
      canvas_.text({kMargin, y + 34},
                   format("... and %zu more switches", all.size() - kMostSwitches), 12, "start",
                   "#333");
      y += 24;
    }
    return y + 34;
  }

  /// A ring's places as far as there is room, with their hosts where there are several.
  std::string orderOf(const Ring& ring, const std::string& head) const {
    const double room = width() - kMargin - 30;
    std::string out = head;
    int host = -1;
    for (const int place : ring.places) {
      const Node& node = graph_.node(place);
      std::string next = " " + node.name;
      if (graph_.hosts().size() > 1 && node.host != host) {
        next =
            (host < 0 ? " " : ", ") + graph_.hosts()[static_cast<size_t>(node.host)] + ":" + next;
      }
      host = node.host;
      if (textWidth(out + next + " ...", 11) > room) return out + " ...";
      out += next;
    }
    return out;
  }

  double legend(double y) {
    // A single place has a ring and a tree without links.
    if (channels_ == nullptr || channels_->places.size() < 2) return y + kMargin;
    y += 14;
    for (size_t r = 0; r < host_.rings(); ++r, y += 17) {
      const Ring& ring = channels_->rings[r];
      canvas_.filled(format("M %.1f %.1f h 18 v 6 h -18 z", kMargin, y - 8), ringColour(r));
      canvas_.text(
          {kMargin + 26, y},
          orderOf(ring, format("ring %zu, %s GB/s:", r, gigabytes(ring.bytesPerSecond).c_str())),
          11, "start", "#000");
    }
    const size_t more = channels_->rings.size() - host_.rings();
    canvas_.text({kMargin, y + 2},
                 format("Rings: %zu, %s GB/s together%s. Trees: %zu, %s GB/s up and as much down.",
                        channels_->rings.size(), gigabytes(channels_->ringBytes()).c_str(),
                        more > 0 ? format(", %zu of them not drawn", more).c_str() : "",
                        channels_->trees.size(), gigabytes(channels_->treeBytes()).c_str()),
                 12, "start", "#000");
    return y + kMargin;
  }

  const Graph& graph_;
  const Channels* channels_;
  SvgCanvas canvas_;
  HostDrawing host_;
};

}  // namespace

std::string drawSvg(const Graph& graph, const Channels* channels, const std::string& title) {
  return Drawing(graph, channels).run(title);
}

}  // namespace rondo::topo
