#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/model/model_check.hpp>
#include <cstdio>

coracle::task<int> answer(coracle::async_manual_reset_event& given) {
  co_await given;
  co_return 42;
}

int main() {
  int found = 0;
  const auto result = coracle::testing::model_check([&] {
    coracle::async_manual_reset_event given;
    coracle::testing::model_thread giver{[&] { given.set(); }};
    found = coracle::sync_wait(answer(given));
  });
  std::printf("%d\n", result.passed && result.complete ? found : 0);
}
