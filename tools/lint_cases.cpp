// What coracle_lint finds, on the line that says so; (parser), (text): only that form does. Elsewhere it
// finds nothing.
#include <coroutine>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

template <class T = void>
class task {
 public:
  struct promise_type;
  ~task();
  task(task&&) noexcept;
  bool await_ready();
  void await_suspend(std::coroutine_handle<>);
  T await_resume();
};
template <class T>
struct task<T>::promise_type {
  task get_return_object();
  std::suspend_always initial_suspend();
  std::suspend_always final_suspend() noexcept;
  void unhandled_exception();
  void return_value(T);
};
template <>
struct task<>::promise_type {
  task get_return_object();
  std::suspend_always initial_suspend();
  std::suspend_always final_suspend() noexcept;
  void unhandled_exception();
  void return_void();
};
template <class T>
class generator {
 public:
  struct promise_type {
    generator get_return_object();
    std::suspend_always initial_suspend();
    std::suspend_always final_suspend() noexcept;
    std::suspend_always yield_value(T);
    void unhandled_exception();
    void return_void();
  };
};
struct async_scope {
  void spawn(auto) {}
};
void sync_wait(auto&&) {}

struct message {
  std::string key, text;
};
using alias = message;
struct options {
  int attempts = 1;
  int seconds = 2;
};
class built {
 public:
  built(std::string, std::string);

 private:
  std::string key_, text_;
};
struct holds_shared {
  std::shared_ptr<int> number;
};
struct channel {
  task<> send(message);
  task<> refer(const message&);
  task<> build(const built&);
  task<> configure(options);
  task<> share(holds_shared);
  task<> has_default(message = {});
};
task<bool> ready();
task<int> read(const std::string&);
task<int> take(std::string);
task<int> both(const std::vector<int>&);
task<int> all(std::vector<std::string>);
task<int> number(int);
task<int> later(std::function<void()>);
message make();
task<message> fetch();
int count(const message&);
template <class F>
task<> call(F f) {
  co_await f();
}

// ---- temporaries that g++ 12 destroys twice -----------------------------------------------------------

task<> braces(channel& to, std::string key, std::string text, std::shared_ptr<int> shared) {
  int local = 0;
  co_await to.send({key, text});                     // finds: aggregate
  co_await to.send({std::move(key), text});          // finds: aggregate
  co_await to.refer({.key = key});                   // finds: aggregate
  co_await to.refer({});                             // finds: aggregate (parser)
  co_await to.send(message{key, text});              // finds: aggregate (parser)
  co_await to.send(alias{key, text});                // finds: aggregate (parser)
  co_await to.send(alias(key, text));                // finds: aggregate (parser)
  co_await to.share({shared});                       // finds: aggregate
  co_await to.has_default();                         // finds: aggregate (parser)
  local += count({key, text}) + co_await number(1);  // finds: aggregate
  co_await to.configure({.attempts = 3});
  co_await to.configure({1, 2});
  co_await to.build(built{key, text});
  co_await to.send(make());
  message named{key, text};
  co_await to.send(std::move(named));
  const message awaited{"", std::to_string(co_await take(key))};  // finds: aggregate (parser)
  const options trivial{co_await number(1), 2};
  local = count({key, text});
}
generator<message> yielded(std::string key, std::string text) {
  co_yield {key, text};         // finds: aggregate
  co_yield message{key, text};  // finds: aggregate (parser)
  message named{key, text};
  co_yield std::move(named);
}
generator<std::function<void()>> yielded_lambdas(std::string text) {
  co_yield [text] {};  // finds: lambda
  co_yield [] {};
}
generator<std::string> yielded_conditionals(bool ok, std::string text) {
  co_yield ok ? text : std::string();  // finds: conditional
  co_yield text;
}
template <class Channel>
task<> in_a_template(Channel& to, std::string key, std::string text) {
  int local = 0;
  co_await to.send({key, text});         // finds: aggregate
  co_await to.send(message{key, text});  // finds: aggregate (parser)
  co_await to.send(local, 1);
}
task<> lists(std::vector<int> numbers) {
  int local = 0;
  co_await both({1, 2});                          // finds: initializer_list (parser)
  co_await all({make().key});                     // finds: initializer_list (parser)
  co_await all(std::vector<std::string>{"key"});  // finds: initializer_list (parser)
  co_await both(numbers);
}
task<> lambdas(std::string text) {
  int local = 0;
  co_await later([text] {});          // finds: lambda
  co_await call([text]() -> task<> {  // finds: lambda
    co_return;
  });
  co_await later([] {});
  const auto named = [text] {};
  co_await later(named);
}
task<> conditionals(bool yes, std::string a, std::string b) {
  int local = 0;
  co_await take(yes ? a : "");             // finds: conditional
  co_await take(yes ? make().key : b);     // finds: conditional
  co_await (yes ? number(1) : number(2));  // finds: conditional
  co_await read(yes ? a : b);
  co_await number(yes ? 1 : 2);
  local = yes ? co_await take(a) : 0;
  const message fetched = yes ? co_await fetch() : make();  // finds: conditional (parser)
  const message either = yes ? co_await fetch() : fetched;  // finds: conditional (parser)
  const std::string key = co_await ready() ? a : "";        // finds: conditional
  local += yes ? co_await take((co_await fetch()).key) : 0;
}

// ---- what g++ 12 does not run, or compile ------------------------------------------------------------

task<> if_without_local() {
  if (co_await ready()) co_return;  // finds: condition
}
task<> while_without_local(bool both) {
  if (both) {
    while (both && co_await ready()) both = false;  // finds: condition
  }
}
template <class T>
task<> template_without_local(T other) {
  do {
    other();
  } while (co_await ready());  // finds: condition
}
task<> awaits_behind_a_condition(bool yes) {
  if (yes) co_await number(1);
  while (yes) co_await number(2);
  for (; yes;) co_await number(3);
}
task<> with_local() {
  int local = 0;
  while (co_await ready()) ++local;
}
task<> with_declaration_in_condition() {
  if (bool yes = co_await ready()) co_await number(yes);
}
template <class Generator>
task<> steps(Generator& g) {
  for (auto it = co_await g.begin(); it != g.end(); co_await ++it) continue;  // finds: step (parser)
}

// ---- what dangles -----------------------------------------------------------------------------------

template <class Key>
struct flights {
  template <class Make>
  task<int> run(const Key&, const Make& make) {
    return make();
  }
};

task<int> dangling(async_scope& scope, std::string s) {
  scope.spawn([s]() -> task<> { co_await read(s); }());  // finds: dangling_lambda
  scope.spawn([&]() -> task<> { co_await read(s); }());  // finds: dangling_lambda
  auto stored = [s]() -> task<int> { co_return 1; }();   // finds: dangling_lambda
  auto argument = read(std::string("x"));                // finds: dangling_argument (parser)
  auto converted = read("x");                            // finds: dangling_argument (parser)
  scope.spawn(read(s + "x"));                            // finds: dangling_argument (parser)
  scope.spawn([s]() -> task<> { co_await read(s); });
  scope.spawn([](std::string copy) -> task<> { co_await read(copy); }(s));
  sync_wait([s]() -> task<> { co_await read(s); }());
  sync_wait(read("x"));
  auto lives = read(s);
  const std::vector<std::string> texts{s};
  auto element = read(texts[0]);
  auto referred = read(*new std::string("x"));
  const auto body = [](std::string copy, const std::string& other) -> task<> { co_await read(copy + other); };
  scope.spawn(body("x", s));
  auto copied = take("x");
  flights<int> by_key;
  auto forwarded = by_key.run(1, [] { return take("x"); });
  co_return co_await read("x");
}
task<int> returned() { return read("x"); }  // finds: dangling_argument (parser)

#define CHECKED(...) static_cast<void>(__VA_ARGS__)
task<> in_a_macro(channel& to, std::string key) {
  CHECKED(co_await ready());
  CHECKED(co_await to.send(message{key, key}));  // finds: aggregate (parser)
}

task<> silenced() {
  if (co_await ready()) co_return;  // lint: intended
}

// Behind an await, in an operand that is evaluated later, or not at all.
std::string name_now();
int number_now();
void sized(std::size_t);
bool same(const int& a, int b);
struct session {
  std::string name() const;
  const std::string& stored_name() const;
  std::vector<int> ids;
  int id;
};
task<int> evaluated_early(session& s, const std::string& wanted) {
  int local = 0;
  if (co_await ready() && s.name() == wanted) ++local;                 // finds: early (parser)
  if (!co_await ready() || name_now().empty()) ++local;                // finds: early (parser)
  if (local == 0 && (co_await ready() && s.name() == "x")) ++local;    // finds: early (parser)
  while (co_await ready() && same(number_now(), 4)) ++local;           // finds: early (parser)
  const bool both = co_await ready() && s.ids.begin() != s.ids.end();  // finds: early (parser)
  sized(co_await ready() ? name_now().size() : 0);  // finds: early (parser), conditional (text)
  co_await ready(), sized(name_now().size());       // finds: early (parser)
  if (co_await ready() && name_now().empty() && co_await ready()) ++local;  // finds: early (parser)
  co_return co_await ready() && same(s.id + 1, 4) && both;                  // finds: early (parser)
}
task<int> evaluated_in_time(session& s, const std::string& wanted) {
  int local = 0;
  if (const bool is_ready = co_await ready(); is_ready && s.name() == wanted) ++local;
  if (co_await ready() && s.stored_name() == wanted) ++local;
  if (co_await ready() && s.stored_name() == std::string("x")) ++local;
  if (co_await ready() && number_now() == 4 && !s.ids.empty()) ++local;
  if (co_await ready() && same(local, 4) && same(4, local)) ++local;
  if (s.name() == wanted && co_await ready()) ++local;
  if (co_await ready() && co_await ready()) ++local;
  const auto size = co_await ready() ? name_now().size() : 0;  // finds: conditional (text)
  co_return static_cast<int>(size) + local;
}
