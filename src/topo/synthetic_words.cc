#include "topo/synthetic_words.h"

#include "base/error.h"
#include "topo/graph.h"
#include "topo/quantities.h"

namespace rondo::topo {
namespace {

constexpr size_t kMostText = 4096;
constexpr const char* kForm =
    "a description is, as an example, \"16 x (2 cpu, 8 gpu nvlink=450 nvswitch, 8 nic=50) rail\"";

bool isSpace(char c) { return c == ' ' || c == '\t' || c == '\n'; }
bool isMark(char c) { return c == '(' || c == ')' || c == ',' || c == '='; }

class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) {
    if (text.size() > kMostText) {
      throw Error(rondoInvalidArgument,
                  format("a synthetic machine of %zu characters; allowed: up to %zu", text.size(),
                         kMostText));
    }
    split();
  }

  MachineWords parse() {
    if (isNumber() && next() == "x") {
      words_.hosts = whole("a number of hosts", Graph::kMostHosts);
      ++at_;
      if (word() != "(") refuse("\"(\" after \"x\"");
    }
    const bool enclosed = take("(");
    do part();
    while (take(","));
    if (enclosed) {
      if (!take(")")) refuse("a comma and a further part, a word of this part, or \")\"");
      fabric();
    }
    if (at_ != tokens_.size()) refuse(enclosed ? "the end" : "a comma and a further part");
    return words_;
  }

 private:
  struct Token {
    std::string text;
    size_t place;
  };

  void split() {
    for (size_t i = 0; i < text_.size();) {
      if (isSpace(text_[i])) {
        ++i;
        continue;
      }
      size_t end = i + 1;
      if (!isMark(text_[i])) {
        while (end < text_.size() && !isSpace(text_[end]) && !isMark(text_[end])) ++end;
      }
      tokens_.push_back({text_.substr(i, end - i), i});
      i = end;
    }
  }

  [[noreturn]] void refuse(const std::string& allowed) const {
    const bool atEnd = at_ >= tokens_.size();
    throw Error(rondoInvalidArgument,
                format("synthetic machine, %s: expected %s; %s",
                       atEnd ? "at its end"
                             : format("character %zu, at \"%.40s\"", tokens_[at_].place + 1,
                                      tokens_[at_].text.c_str())
                                   .c_str(),
                       allowed.c_str(), kForm));
  }

  std::string word() const { return at_ < tokens_.size() ? tokens_[at_].text : ""; }
  std::string next() const { return at_ + 1 < tokens_.size() ? tokens_[at_ + 1].text : ""; }
  bool isNumber() const { return !word().empty() && word()[0] >= '0' && word()[0] <= '9'; }
  bool take(const char* text) {
    if (word() != text || at_ >= tokens_.size()) return false;
    ++at_;
    return true;
  }

  int whole(const char* what, uint64_t most) {
    uint64_t value = 0;
    if (!parseWhole(word(), 1, most, &value)) {
      refuse(format("%s from 1 to %llu", what, static_cast<unsigned long long>(most)));
    }
    ++at_;
    return static_cast<int>(value);
  }
  int wholeAfterSign(const char* what, uint64_t most) {
    if (!take("=")) refuse("\"=\"");
    return whole(what, most);
  }
  uint64_t bandwidth() {
    if (!take("=")) refuse("\"=\"");
    uint64_t value = 0;
    if (!parseBandwidth(word(), &value)) refuse(kBandwidthAllowed);
    ++at_;
    return value;
  }

  void part() {
    const int count = whole("a number and what there are so many of,", 4096);
    if (take("cpu")) {
      once(words_.cpus, count);
      if (word() == "=") words_.socket = bandwidth();
      while (cpuWord()) {
      }
    } else if (take("pci")) {
      once(words_.pcis, count);
      if (word() == "=") words_.pciUp = bandwidth();
    } else if (take("gpu")) {
      once(words_.gpus, count);
      while (gpuWord()) {
      }
    } else if (take("nic")) {
      once(words_.nics, count);
      if (word() == "=") words_.nic = bandwidth();
      if (take("pcie")) words_.nicPcie = bandwidth();
    } else {
      refuse("cpu, pci, gpu or nic");
    }
  }
  void once(int& place, int count) {
    if (place != 0) {
      --at_;
      refuse("each of cpu, pci, gpu and nic once");
    }
    place = count;
  }

  bool cpuWord() {
    if (take("cores")) return words_.cores = wholeAfterSign("cores of a CPU", 4096), true;
    if (take("memory")) return words_.memory = bandwidth(), true;
    return false;
  }

  bool gpuWord() {
    if (take("nvlink")) return words_.nvlink = bandwidth(), true;
    if (take("links")) return words_.nvlinks = wholeAfterSign("links", Graph::kMostCount), true;
    if (take("pcie")) return words_.gpuPcie = bandwidth(), true;
    if (take("c2c")) return words_.c2c = bandwidth(), true;
    if (take("mesh")) return words_.mesh = true;
    if (take("ring")) return words_.ring = true;
    if (take("nvswitch")) return words_.nvswitch = true;
    if (!take("model")) return false;
    if (!take("=") || word().empty() || isMark(word()[0])) refuse("\"=\" and a name");
    words_.model = word();
    return ++at_, true;
  }

  void fabric() {
    using F = MachineWords::Fabric;
    if (take("rail")) {
      words_.fabric = F::Rail;
    } else if (take("fattree")) {
      words_.fabric = F::FatTree;
      words_.ports = wholeAfterSign("ports of a leaf, two at least,", 4096);
      if (words_.ports < 2) {
        --at_;
        refuse("2 to 4096 ports of a leaf");
      }
    } else {
      take("switch");
    }
    for (;;) {
      if (take("spine")) {
        words_.spines = wholeAfterSign("spine switches", 4096);
      } else if (take("latency")) {
        if (!take("=")) refuse("\"=\"");
        if (!parseLatency(word(), &words_.latency)) refuse(kLatencyAllowed);
        ++at_;
      } else {
        return;
      }
    }
  }

  const std::string& text_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  MachineWords words_;
};

[[noreturn]] void refuse(const char* what) {
  throw Error(rondoInvalidArgument, format("synthetic machine: %s; %s", what, kForm));
}

void checkWhole(const MachineWords& m) {
  if (m.cpus == 0 && m.gpus == 0) refuse("it has neither CPUs nor GPUs");
  if (m.hosts > 1 && m.nics == 0) refuse("several hosts without NICs are not joined");
  if (m.mesh + m.ring + m.nvswitch > 1) refuse("nvswitch, mesh and ring exclude each other");
  if ((m.mesh || m.ring || m.nvswitch || m.nvlinks > 0) && m.nvlink == 0) {
    refuse("GPUs joined by NVLink need nvlink=GB/s, that of one GPU");
  }
  if (m.nvlink > 0 && m.gpus > 1 && !m.mesh && !m.ring && !m.nvswitch) {
    refuse("nvlink=GB/s needs one of nvswitch, mesh, ring");
  }
  if (m.fabric == MachineWords::Fabric::FatTree && m.nics == 0) refuse("a fat tree needs NICs");
}

}  // namespace

MachineWords parseMachine(const std::string& text) {
  const MachineWords words = Parser(text).parse();
  checkWhole(words);
  return words;
}

}  // namespace rondo::topo
