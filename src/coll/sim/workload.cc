#include "coll/sim/workload.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "topo/quantities.h"

namespace rondo::sim {
namespace {

constexpr uint64_t kMostNanoseconds = 1'000'000'000'000'000;  // eleven days
constexpr uint64_t kMostBytes = uint64_t{1} << 44;
constexpr size_t kColumns = 12;

constexpr const char* kPolicies[] = {"DATA",
                                     "MODEL",
                                     "MICRO",
                                     "HYBRID_DATA_MODEL",
                                     "HYBRID_MODEL_DATA",
                                     "HYBRID_TRANSFORMER",
                                     "HYBRID_TRANSFORMER_FWD_IN_BCKWD"};

struct CommName {
  std::string_view name;
  Collective collective;
};
constexpr CommName kCommNames[] = {{"ALLREDUCE", Collective::AllReduce},
                                   {"ALLGATHER", Collective::AllGather},
                                   {"REDUCESCATTER", Collective::ReduceScatter},
                                   {"ALLTOALL", Collective::AllToAll}};

std::vector<std::string_view> wordsOf(std::string_view line) {
  std::vector<std::string_view> words;
  size_t at = 0;
  while (true) {
    at = line.find_first_not_of(" \t\r\v\f", at);
    if (at == std::string_view::npos) return words;
    const size_t end = std::min(line.find_first_of(" \t\r\v\f", at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
}

/// A word as it may stand in a sentence: short, and nothing that a terminal obeys.
std::string shown(std::string_view word) {
  std::string out;
  for (const char c : word.substr(0, 40)) out += c >= ' ' && c < 127 ? c : '?';
  return out;
}

class Parser {
 public:
  Parser(const std::string& text, const std::string& name) : text_(text), name_(name) {}

  Workload run() {
    readHeader(
        nextLine("the parallelism, as in \"HYBRID_TRANSFORMER model_parallel_NPU_group: 8\""));
    const std::vector<std::string_view> count = nextLine("the number of layers");
    if (count.size() != 1) refuse(count.empty() ? "" : count[1], "the number of layers alone");
    const uint64_t layers = number(count[0], "the number of layers", 1, kMostLayers);
    for (uint64_t i = 0; i < layers; ++i) {
      readLayer(nextLine(format("layer %llu of %llu", static_cast<unsigned long long>(i + 1),
                                static_cast<unsigned long long>(layers))));
    }
    checkEnd(layers);
    checkHead(layers);
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(std::string_view found, const std::string& expected) const {
    throw Error(rondoInvalidArgument, format("%s:%zu: found \"%s\"; expected: %s", name_.c_str(),
                                             line_, shown(found).c_str(), expected.c_str()));
  }

  /// The next line that has words; `expected` says what is missing where the file ends.
  std::vector<std::string_view> nextLine(const std::string& expected) {
    while (at_ < text_.size()) {
      std::vector<std::string_view> words = takeLine();
      if (!words.empty()) return words;
    }
    ++line_;
    throw Error(rondoInvalidArgument, format("%s:%zu: the file ends here; expected: %s",
                                             name_.c_str(), line_, expected.c_str()));
  }
  std::vector<std::string_view> takeLine() {
    const size_t end = std::min(text_.find('\n', at_), text_.size());
    const std::string_view line = std::string_view(text_).substr(at_, end - at_);
    at_ = end + 1;
    ++line_;
    return wordsOf(line);
  }

  uint64_t number(std::string_view word, const char* what, uint64_t least, uint64_t most) const {
    uint64_t value = 0;
    if (!topo::parseWhole(std::string(word), least, most, &value)) {
      refuse(word,
             format("%s, a whole number from %llu to %llu", what,
                    static_cast<unsigned long long>(least), static_cast<unsigned long long>(most)));
    }
    return value;
  }

  void readHeader(const std::vector<std::string_view>& words) {
    std::string known;
    for (const char* policy : kPolicies) {
      if (words[0] == policy) out_.policy = policy;
      known += (known.empty() ? "" : ", ") + std::string(policy);
    }
    if (out_.policy.empty()) refuse(words[0], known);
    size_t at = 1;
    while (at < words.size()) at = readParameter(words, at);
    const bool hybrid = out_.policy.rfind("HYBRID", 0) == 0;
    if (hybrid && !modelSaid_) refuse(words[0], "model_parallel_NPU_group: N after " + out_.policy);
  }

  /// One "key: value"; the colon may be missing. Returns the place behind it.
  size_t readParameter(const std::vector<std::string_view>& words, size_t at) {
    std::string_view key = words[at];
    if (!key.empty() && key.back() == ':') key.remove_suffix(1);
    const std::string name = shown(key);
    if (at + 1 >= words.size()) refuse(words[at], "a number after " + name);
    const std::string_view word = words[at + 1];
    const auto size = [&](int* into) {
      *into = static_cast<int>(number(word, name.c_str(), 1, 1 << 20));
      return at + 2;
    };
    if (key == "model_parallel_NPU_group") modelSaid_ = true;
    if (key == "model_parallel_NPU_group") return size(&out_.model);
    if (key == "ep") return size(&out_.expert);
    if (key == "pp") return size(&out_.pipeline);
    if (key == "vpp") return size(&out_.virtualStages);
    if (key == "ga") return size(&out_.accumulation);
    if (key == "all_gpus") return size(&out_.ranks);
    if (key == "pp_comm") return readPipelineBytes(word, at);
    if (key == "checkpoints") return readList(words, at, name, 0, &out_.checkpoints);
    if (key == "checkpoint_initiates") return readList(words, at, name, 0, &out_.initiates);
    if (key == "pp_layers") return readList(words, at, name, 1, &out_.layersOfStages);
    refuse(words[at],
           "model_parallel_NPU_group, ep, pp, vpp, ga, all_gpus, checkpoints, "
           "checkpoint_initiates, pp_comm or pp_layers");
  }

  /// Generators write it as "8388608.0".
  size_t readPipelineBytes(std::string_view word, size_t at) {
    std::string_view whole = word;
    const size_t dot = whole.find('.');
    if (dot != std::string_view::npos &&
        whole.find_first_not_of('0', dot + 1) == std::string_view::npos) {
      whole = whole.substr(0, dot);
    }
    out_.pipelineBytes = number(whole, "pp_comm", 0, kMostBytes);
    return at + 2;
  }

  /// "checkpoints: 2 7 14": how many, and these.
  size_t readList(const std::vector<std::string_view>& words, size_t at, const std::string& name,
                  uint64_t least, std::vector<int>* into) {
    const uint64_t count = number(words[at + 1], name.c_str(), 0, kMostLayers);
    if (count > words.size() - at - 2) {
      refuse(words.back(),
             format("%llu numbers after %s", static_cast<unsigned long long>(count), name.c_str()));
    }
    into->clear();
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t value =
          number(words[at + 2 + i], "a layer's number, or how many", least, kMostLayers);
      into->push_back(static_cast<int>(value));
    }
    headLine_ = line_;
    return at + 2 + static_cast<size_t>(count);
  }

  /// What the first line says of layers, when these are known.
  void checkHead(uint64_t layers) {
    line_ = headLine_;
    for (std::vector<int>* const list : {&out_.checkpoints, &out_.initiates}) {
      for (const int layer : *list) {
        if (static_cast<uint64_t>(layer) < layers) continue;
        refuse(std::to_string(layer), format("a layer's number, from 0 to %llu",
                                             static_cast<unsigned long long>(layers - 1)));
      }
      std::sort(list->begin(), list->end());
    }
    if (!out_.initiates.empty() &&
        (out_.checkpoints.empty() || out_.checkpoints.front() > out_.initiates.front())) {
      refuse(std::to_string(out_.initiates.front()),
             "in checkpoint_initiates layers at or behind a checkpoint");
    }
    uint64_t again = 0;
    for (const int layer : out_.initiates) {
      for (size_t i = out_.againFrom(static_cast<size_t>(layer)); i < static_cast<size_t>(layer);
           ++i) {
        nanoseconds_ += out_.layers[i].forward;
        if (++again <= kMostLayers && nanoseconds_ <= kMostNanoseconds) continue;
        refuse(std::to_string(layer),
               format("at most %zu layers computed again, of %llu ns with all others", kMostLayers,
                      static_cast<unsigned long long>(kMostNanoseconds)));
      }
    }
    if (out_.layersOfStages.empty()) return;
    uint64_t sum = 0;
    for (const int count : out_.layersOfStages) sum += static_cast<uint64_t>(count);
    if (out_.layersOfStages.size() != static_cast<size_t>(out_.pipeline) || sum != layers) {
      refuse(format("pp_layers of %zu stages with %llu layers", out_.layersOfStages.size(),
                    static_cast<unsigned long long>(sum)),
             format("pp %d and all %llu layers", out_.pipeline,
                    static_cast<unsigned long long>(layers)));
    }
  }

  void readLayer(const std::vector<std::string_view>& words) {
    if (words.size() != kColumns) {
      refuse(words.back(),
             format("%zu columns, not %zu: name, dependency, forward time, call and bytes, input "
                    "gradient's time, call and bytes, weight gradient's time, call and bytes, "
                    "update time",
                    kColumns, words.size()));
    }
    Layer layer;
    layer.name = shown(words[0]);
    if (words[1] != "-1") number(words[1], "the layer it depends on, or -1", 0, kMostLayers);
    layer.forward = number(words[2], "the forward time in ns", 0, kMostNanoseconds);
    layer.forwardComm = comm(words[3], words[4], CommGroup::Model);
    layer.inputGradient = number(words[5], "the input gradient's time in ns", 0, kMostNanoseconds);
    layer.inputComm = comm(words[6], words[7], CommGroup::Model);
    layer.weightGradient =
        number(words[8], "the weight gradient's time in ns", 0, kMostNanoseconds);
    layer.weightComm = comm(words[9], words[10], CommGroup::Data);
    layer.update = number(words[11], "the update time in ns", 0, kMostNanoseconds);
    nanoseconds_ += layer.forward + layer.inputGradient + layer.weightGradient + layer.update;
    if (nanoseconds_ > kMostNanoseconds) {
      refuse(words[2], format("times of all layers so far of at most %llu ns together",
                              static_cast<unsigned long long>(kMostNanoseconds)));
    }
    out_.layers.push_back(std::move(layer));
  }

  LayerComm comm(std::string_view type, std::string_view size, CommGroup usual) const {
    LayerComm out;
    const uint64_t bytes = number(size, "the call's bytes", 0, kMostBytes);
    if (type == "NONE") return out;
    std::string_view base = type;
    out.group = out_.policy.rfind("HYBRID", 0) == 0 ? usual : CommGroup::All;
    const auto suffix = [&](std::string_view text, CommGroup group) {
      if (!base.ends_with(text)) return;
      base.remove_suffix(text.size());
      out.group = group;
    };
    suffix("_DP_EP", CommGroup::DataExpert);
    suffix("_EP", CommGroup::Expert);
    for (const CommName& known : kCommNames) {
      if (base != known.name) continue;
      out.collective = known.collective;
      out.bytes = bytes;
      out.none = bytes == 0;
      return out;
    }
    refuse(type, "NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER or ALLTOALL, also with _EP or _DP_EP");
  }

  void checkEnd(uint64_t layers) {
    while (at_ < text_.size()) {
      const std::vector<std::string_view> words = takeLine();
      if (words.empty()) continue;
      refuse(words[0], format("nothing more, for line 2 says %llu layers",
                              static_cast<unsigned long long>(layers)));
    }
  }

  const std::string& text_;
  const std::string& name_;
  size_t at_ = 0, line_ = 0, headLine_ = 0;
  uint64_t nanoseconds_ = 0;
  bool modelSaid_ = false;
  Workload out_;
};

}  // namespace

const char* commGroupName(CommGroup group) {
  static constexpr const char* kNames[kCommGroups] = {"all", "model", "data", "expert",
                                                      "data-expert"};
  return kNames[static_cast<int>(group)];
}

size_t Workload::againFrom(size_t i) const {
  const int layer = static_cast<int>(i);
  if (!std::binary_search(initiates.begin(), initiates.end(), layer)) return i;
  const auto above = std::upper_bound(checkpoints.begin(), checkpoints.end(), layer);
  return static_cast<size_t>(*(above - 1));  // there is one: the reader saw to it
}

Workload parseWorkload(const std::string& text, const std::string& name) {
  if (text.size() > kMostWorkloadBytes) {
    throw Error(rondoInvalidArgument,
                format("%s: longer than %zu MiB", name.c_str(), kMostWorkloadBytes >> 20));
  }
  return Parser(text, name).run();
}

Parts partsOf(const Workload& w, CommGroup group, int ranks) {
  const int64_t stage = ranks / w.pipeline;
  const int64_t data = stage / w.model;
  if (ranks < 1 || stage * w.pipeline != ranks || data * w.model != stage || data == 0 ||
      data % w.expert != 0) {
    throw Error(rondoInvalidArgument,
                format("%d ranks are not cut evenly by model_parallel_NPU_group %d, pp %d and ep "
                       "%d; allowed: a multiple of %lld",
                       ranks, w.model, w.pipeline, w.expert,
                       static_cast<long long>(w.model) * w.pipeline * w.expert));
  }
  if (group == CommGroup::All) return {};
  // A rank is (stage, block of experts, expert, model); what varies inside a part has a stride.
  struct Shape {
    int64_t size, stride;
  };
  Shape shape{w.model, 1};
  if (group == CommGroup::Data) shape = {data, w.model};
  if (group == CommGroup::Expert) shape = {w.expert, w.model};
  if (group == CommGroup::DataExpert) {
    shape = {data / w.expert, static_cast<int64_t>(w.model) * w.expert};
  }
  std::vector<std::vector<int>> members;
  const int64_t block = shape.size * shape.stride;
  for (int64_t begin = 0; begin < ranks; begin += block) {
    for (int64_t first = begin; first < begin + shape.stride; ++first) {
      std::vector<int>& part = members.emplace_back();
      for (int64_t i = 0; i < shape.size; ++i) {
        part.push_back(static_cast<int>(first + i * shape.stride));
      }
    }
  }
  return Parts(std::move(members));
}

}  // namespace rondo::sim
