// What g++ 12 compiles wrong: only the parser, which knows the flags, can tell.
#include <coracle/core/task.hpp>
#include <string>

struct message {
  ELEMENT text;
};
coracle::task<> send(message);

coracle::task<> send_it(ELEMENT text) { co_await send(message{text}); }
