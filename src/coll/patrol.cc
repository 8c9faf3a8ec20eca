#include "coll/patrol.h"

#include <utility>

namespace rondo {

Patrol& Patrol::one() {
  static Patrol* const patrol = new Patrol;  // the progress thread may outlive every static
  return *patrol;
}

void Patrol::add(const void* owner, std::function<void()> look) {
  const std::lock_guard<std::mutex> lock(mutex_);
  posts_.push_back({owner, std::move(look)});
}

void Patrol::remove(const void* owner) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::erase_if(posts_, [owner](const Post& post) { return post.owner == owner; });
}

void Patrol::walk() {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto now = Clock::now();
  if (posts_.empty() || now - walked_ < kEvery) return;
  walked_ = now;
  for (const Post& post : posts_) post.look();
}

int Patrol::pauseMs() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return posts_.empty() ? -1 : static_cast<int>(kEvery.count());
}

}  // namespace rondo
