# Writes the page as a string of C++: cmake -DPAGE=page.html -DTO=page.cpp -P embed_page.cmake
file(READ ${PAGE} page)
file(WRITE ${TO} "namespace coracle::detail {
extern const char inspector_page[];
const char inspector_page[] = R\"page(${page})page\";
}  // namespace coracle::detail
")
