// SPDX-License-Identifier: MIT
#include "kinds.hpp"

kinds second_kinds() { return make_kinds(); }
int take_in_second(kinds all) { return take(std::move(all)); }
